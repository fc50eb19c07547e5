"""Creates the data folder of the embedded server, and checks which version wrote it."""

import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from db.embedded.binaries import Binaries, failure
from db.embedded.os_user import OsUser, run_as
from db.embedded.settings import SETTINGS_FILE
from engine.errors import StorageError
from engine.messages import Message

DATABASE = "presagio"
SUPERUSER = "postgres"
_UNFINISHED = "postgres.new-"
_CREATION_SECONDS = 300.0
# The text-search parser asks the C library which characters are letters: under plain "C" it takes
# typographic quotes and emoji for letters. The first name that this machine supports is used.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "UTF-8", "C")


def check_version(folder: Path, major: str) -> None:
    """Raise StorageError unless `folder` belongs to PostgreSQL `major`."""
    try:
        found = (folder / "PG_VERSION").read_text(errors="replace").strip()
    except FileNotFoundError:
        found = ""
    if found == major:
        return
    if found.isdigit():
        raise StorageError(
            Message(
                "The data in {folder} was written by PostgreSQL {found}, this"
                " program brings {major}.",
                folder=folder,
                found=found,
                major=major,
            ),
            fix=Message(
                "Dump it with the program version that wrote it and restore it"
                " into a new data folder, or serve it with PostgreSQL {found} and"
                " set DATABASE_URL.",
                found=found,
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


def create(
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
            account.own(unfinished)
        if not _initdb(unfinished, binaries, account, durable=durable):
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


def _initdb(folder: Path, binaries: Binaries, account: OsUser | None, *, durable: bool) -> bool:
    """Make the files of a server, and return whether it knows which characters are letters."""
    fixed = [
        *("--pgdata", ".", "--username", SUPERUSER, "--no-instructions", "--encoding", "UTF8"),
        *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
        *_authentication(folder),
        *(() if durable else ("--no-sync",)),
    ]
    for ctype in _CTYPES:
        command = binaries.command("initdb", *fixed, "--lc-ctype", ctype)
        code, output = run_as(command, account, folder=folder, timeout=_CREATION_SECONDS)
        if code == 0:
            return ctype != "C"
        if "invalid locale name" not in output:
            break
    raise failure(Message("The embedded database could not be created"), output)


def _authentication(folder: Path) -> tuple[str, ...]:
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
        raise failure(Message("The embedded database could not be created"), output)
