"""Decides whether a data folder may be served: who owns it, and whether it is a copy."""

import errno
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from db.embedded.os_user import OsUser
from db.embedded.postmaster import LOG_FILE, PID_FILE, read_postmaster
from engine.errors import StorageError, StorageFull, StorageRights
from engine.messages import Message


def refuse_copy(folder: Path) -> None:
    """Raise StorageError if `folder` was copied while its server ran, or after a crash.

    The two look alike: postmaster.pid names another folder, which has the same database in it. If
    that folder no longer exists, `folder` was moved and may be served. Raises OSError.
    """
    original = _original_of(folder)
    if original:
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


def _original_of(folder: Path) -> Path | None:
    postmaster = read_postmaster(folder)
    if postmaster is None or not postmaster.folder or postmaster.is_of(folder):
        return None
    original = Path(postmaster.folder)
    here, there = _identifier(folder), _identifier(original)
    return original if here and here == there else None


def _identifier(folder: Path) -> bytes:
    """Return the id that initdb gave the database of `folder`; empty if there is none."""
    try:
        with (folder / "global" / "pg_control").open("rb") as control:
            return control.read(8)
    except OSError:
        return b""


# Restoring a folder with the wrong owner affects all its files, so a few are enough to check. The
# server's settings may belong to root.
_TELLING = ("", "PG_VERSION", "base", "global", "global/pg_control", "pg_wal", LOG_FILE)
_OTHERS = stat.S_IWGRP | stat.S_IRWXO  # PostgreSQL allows the group to read


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


def build_chown_command(folder: Path, uid: int) -> str:
    """Return the command that gives `folder` and all its content to an account."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    # The colon selects the account's own group; an account without a name has none.
    whom = f"{owner_name(uid)}:" if _name_of_account(uid) else str(uid)
    return f"{sudo}chown -R {whom} {shlex.quote(str(folder))}"


def owner_name(uid: int) -> str:
    """Return an account's name, or its number."""
    return _name_of_account(uid) or str(uid)


def _name_of_account(uid: int) -> str:
    import pwd  # noqa: PLC0415 - absent on Windows

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


GATE_LOCK = "postgres.gate.lock"  # its presence marks a data folder


@contextmanager
def foreign_errors(data_dir: Path) -> Iterator[None]:
    """Map OSError to StorageFull, StorageRights or StorageError."""
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename) if error.filename else str(data_dir)
        message = Message(
            "The database cannot use {where}: {reason}.",
            where=where,
            reason=error.strerror or error,
        )
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(
                message, fix=Message("Free some disk space and try again.")
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StorageRights(message, fix=_describe_mending(data_dir, Path(where))) from error
        raise StorageError(
            message, fix=Message("Set PRESAGIO_DATA_DIR to a usable folder.")
        ) from error


def _describe_mending(data_dir: Path, refused: Path) -> Message:
    """Return what to do about a place that may not be used; name no owner of foreign files."""
    if sys.platform != "win32":
        for each in (refused, *refused.parents):
            with suppress(OSError):
                owner = each.lstat().st_uid
                if (data_dir / GATE_LOCK).exists() and owner != os.geteuid():
                    command = build_chown_command(data_dir, os.geteuid())
                    return Message(
                        "{path} belongs to {owner}. Run: {command}",
                        path=each,
                        owner=owner_name(owner),
                        command=command,
                    )
                break
    return Message("Give this account the right to write there, or set PRESAGIO_DATA_DIR.")
