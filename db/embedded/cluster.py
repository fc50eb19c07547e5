"""The data folder of the embedded server: creates it, and decides whether it may be served."""

import contextlib
import hashlib
import os
import secrets
import shlex
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from db.embedded.os_user import (
    Binaries,
    OsUser,
    build_chown_command,
    build_failure,
    owner_name,
    run_as,
)
from db.embedded.postmaster import LOG_FILE, PID_FILE, read_postmaster
from engine.errors import StorageError, StorageRights
from engine.messages import Message

PORT = 5432
# A socket's whole path must fit 104 bytes on macOS and 108 on Linux, with the closing zero.
_LONGEST = 103 - len(f"/.s.PGSQL.{PORT}")
SETTINGS_FILE = "presagio.conf"
_MEGABYTE = 1024 * 1024
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
DATABASE = "presagio"
SUPERUSER = "postgres"
_UNFINISHED = "postgres.new-"
_CREATION_SECONDS = 300.0
# The text-search parser asks the C library which characters are letters: under plain "C" it takes
# typographic quotes and emoji for letters. The first name that this machine supports is used.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "UTF-8", "C")
# Restoring a folder with the wrong owner affects all its files, so a few are enough to check. The
# server's settings may belong to root.
_TELLING = ("", "PG_VERSION", "base", "global", "global/pg_control", "pg_wal", LOG_FILE)
_OTHERS = stat.S_IWGRP | stat.S_IRWXO  # PostgreSQL allows the group to read
GATE_LOCK = "postgres.gate.lock"  # its presence marks a data folder
_SETTINGS = {
    "max_connections": "100",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "1GB",
    "jit": "off",
    # Handing pages to another process costs more than reading what the system has cached.
    "io_method": "sync",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # The log contains only starts, stops and crashes, so that it stays short: a failed statement is
    # reported by the program that sent it.
    "logging_collector": "off",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}


def prepare_folder(folder: Path, account: OsUser | None) -> Path:
    """Return the socket folder for the data folder `folder`, whose server is not running.

    Raises StorageRights if somebody else's folder is in its place, OSError.
    """
    if sys.platform == "win32" or _may_hold_socket(folder):
        sockets = folder
    else:
        sockets = _private_folder(folder, account)
    for stale in sockets.glob(".s.PGSQL.*"):  # left by a killed server; its pid may be in use again
        stale.unlink()
    return sockets


def forget_sockets(folder: Path, sockets: str) -> None:
    """Remove what `prepare` made for the server of `folder`, which has stopped."""
    if sockets and Path(sockets) != folder:
        with contextlib.suppress(OSError):  # a leftover empty folder does no harm
            Path(sockets).rmdir()


def _may_hold_socket(folder: Path) -> bool:
    """Return whether a socket in `folder` has a path that servers and clients can use."""
    name = os.fsencode(folder)
    legible = name.decode("utf-8", "ignore").encode() == name and not set(name) & set(b'",\n')
    return legible and len(name) <= _LONGEST


def _private_folder(folder: Path, account: OsUser | None) -> Path:
    name = f"presagio-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    place = Path(tempfile.gettempdir()).resolve() / name
    if not _may_hold_socket(place):
        place = Path("/tmp").resolve() / name  # noqa: S108 - its owner is checked below
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
    status = place.lstat()
    owners = {os.geteuid()} | ({account.uid} if account else set())
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o077:
        raise StorageRights(
            Message(
                "The folder {place} for the database's socket is not private to this account.",
                place=place,
            ),
            fix=Message("Remove it, or choose a data folder with a shorter path."),
        )
    if account:
        account.require_way(place)
        account.give_to_account(place)
    return place


def write_settings(folder: Path, sockets: Path, extra: Mapping[str, str]) -> None:
    """Write the settings for the next start of `folder`; `extra` adds to them or replaces them.

    Settings made with ALTER SYSTEM take precedence. Raises OSError.
    """
    settings = {
        **_SETTINGS,
        "shared_buffers": shared_buffers(_total_memory()),
        **_choose_address(sockets),
        **extra,
    }
    escaped = {
        name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings.items()
    }
    lines = [f"{name} = '{value}'\n" for name, value in escaped.items()]
    header = "# Written anew at every start: change settings with ALTER SYSTEM.\n"
    (folder / SETTINGS_FILE).write_text(header + "".join(lines), encoding="utf-8")


def shared_buffers(total_memory: int) -> str:
    """Return a quarter of the memory (given in bytes) within 64 to 512 MB."""
    return f"{min(max(total_memory // 4 // _MEGABYTE, 64), 512)}MB"


def _total_memory() -> int:
    """Return the bytes of memory this machine or container may use; 1 GiB if unknown."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        total = 1024 * _MEGABYTE
    try:
        return min(total, int(_CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no cgroup, or no limit ("max")
        return total


def _choose_address(sockets: Path) -> dict[str, str]:
    if sys.platform == "win32":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        return {"listen_addresses": "127.0.0.1", "port": str(port)}
    return {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{sockets}"',
        "unix_socket_permissions": "0700",
    }


def check_version(folder: Path, major: str) -> None:
    """Raise StorageError unless `folder` belongs to PostgreSQL `major`."""
    try:
        version = (folder / "PG_VERSION").read_text(errors="replace").strip()
    except FileNotFoundError:
        version = ""
    if version == major:
        return
    if version.isdigit():
        raise StorageError(
            Message(
                "The data in {folder} was written by PostgreSQL {found}, this"
                " program brings {major}.",
                folder=folder,
                found=version,
                major=major,
            ),
            fix=Message(
                "Dump it with the program version that wrote it and restore it"
                " into a new data folder, or serve it with PostgreSQL {found} and"
                " set DATABASE_URL.",
                found=version,
            ),
        )
    raise StorageError(
        Message(
            "The folder {folder} holds no intact PostgreSQL data (PG_VERSION"
            " is missing or damaged).",
            folder=folder,
        ),
        fix=Message("Restore it from a backup, or move it away to start with an empty database."),
    )


def remove_unfinished(folder: Path) -> None:
    """Remove what killed creations of `folder` left behind; the caller holds the start lock."""
    for leftover in folder.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def create_cluster(
    folder: Path,
    binaries: Binaries,
    account: OsUser | None,
    *,
    durable: bool,
    progress: Callable[[str], None],
) -> None:
    """Create the data folder with the database in it, completely or not at all.

    It is built under another name beside `folder` and renamed at the end; the caller holds the
    start lock. Raises StorageError, StorageFull, StorageRights, OSError.
    """
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))
    try:
        if account:
            account.give_to_account(unfinished)
        if not _run_initdb(unfinished, binaries, account, durable=durable):
            progress("No UTF-8 locale here: typographic quotes will stick to words.")
        with (unfinished / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write(f"\ninclude_if_exists '{SETTINGS_FILE}'\n")
        _create_database(unfinished, binaries, account, durable=durable)
        if folder.exists():
            folder.rmdir()
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def password_file(folder: Path) -> Path:
    """Return the file with the superuser's password, on systems without Unix sockets."""
    return folder.parent / "postgres.password"


def _run_initdb(folder: Path, binaries: Binaries, account: OsUser | None, *, durable: bool) -> bool:
    """Make the files of a server, and return whether it knows which characters are letters."""
    fixed = [
        *("--pgdata", ".", "--username", SUPERUSER, "--no-instructions", "--encoding", "UTF8"),
        *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
        *_prepare_authentication(folder),
        *(() if durable else ("--no-sync",)),
    ]
    for ctype in _CTYPES:
        command = binaries.command("initdb", *fixed, "--lc-ctype", ctype)
        code, output = run_as(command, account, folder=folder, timeout=_CREATION_SECONDS)
        if code == 0:
            return ctype != "C"
        if "invalid locale name" not in output:
            break
    raise build_failure(Message("The embedded database could not be created"), output)


def _prepare_authentication(folder: Path) -> tuple[str, ...]:
    if sys.platform == "win32":
        password_file(folder).write_text(secrets.token_urlsafe(24))
        return ("--auth", "scram-sha-256", "--pwfile", str(password_file(folder)))
    return ("--auth-local", "trust", "--auth-host", "reject")


def _create_database(
    folder: Path, binaries: Binaries, account: OsUser | None, *, durable: bool
) -> None:
    options = ("-D", ".", "-c", "exit_on_error=on", "-c", f"fsync={durable}")
    command = binaries.command("postgres", "--single", *options, "postgres")
    statement = f"CREATE DATABASE {DATABASE};\n"
    code, output = run_as(
        command, account, folder=folder, text=statement, timeout=_CREATION_SECONDS
    )
    if code != 0:
        raise build_failure(Message("The embedded database could not be created"), output)


def refuse_copy(folder: Path) -> None:
    """Raise StorageError if `folder` was copied while its server ran, or after a crash.

    The two look alike: postmaster.pid names another folder, which has the same database in it. If
    that folder no longer exists, `folder` was moved and may be served. Raises OSError.
    """
    postmaster = read_postmaster(folder)
    if postmaster is None or not postmaster.folder or postmaster.is_of(folder):
        return
    original = Path(postmaster.folder)
    here, there = _read_identifier(folder), _read_identifier(original)
    if here and here == there:
        raise StorageError(
            Message(
                "The data folder {folder} is a copy of {original}, made while that"
                " was in use: such a copy may be damaged.",
                folder=folder,
                original=original,
            ),
            fix=Message(
                "End the presagio processes and copy again, or use pg_dump or"
                " pg_basebackup (docs/database.md). If the server had crashed"
                " before you copied, run: rm {folder}",
                folder=shlex.quote(str(folder / PID_FILE)),
            ),
        )


def _read_identifier(folder: Path) -> bytes:
    """Return the id that initdb gave the database of `folder`; empty if there is none."""
    try:
        with (folder / "global" / "pg_control").open("rb") as control:
            return control.read(8)
    except OSError:
        return b""


def check_rights(folder: Path, account: OsUser | None) -> None:
    """Raise StorageRights unless `folder` and its content have the rights that PostgreSQL requires.

    `account` runs the server; None means the account of this process. Raises OSError.
    """
    if sys.platform == "win32":
        return
    uid = account.uid if account else os.geteuid()
    for each in map(folder.joinpath, _TELLING):
        if each.exists() and (owner := each.stat().st_uid) != uid:
            raise StorageRights(
                Message(
                    "{path} belongs to {owner}, but its server runs as {account}.",
                    path=each,
                    owner=owner_name(owner),
                    account=owner_name(uid),
                ),
                fix=Message("Run: {owning}", owning=build_chown_command(folder, uid)),
            )
    if folder.stat().st_mode & _OTHERS:
        raise StorageRights(
            Message(
                "The data folder {folder} is open to others, which PostgreSQL refuses.",
                folder=folder,
            ),
            fix=Message("Run: chmod 700 {folder}", folder=shlex.quote(str(folder))),
        )
