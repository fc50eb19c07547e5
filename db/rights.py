"""Whether a data folder may be served: PostgreSQL asks that it and all in it belong to the account
that runs the server, and that nobody else may enter.

A folder that was restored from a backup often does not: the message holds the command that mends
it.
"""

import os
import shlex
import stat
import sys
from pathlib import Path

from db.account import Account
from db.postmaster import LOG_FILE
from engine.errors import StorageRights

# Who restores a folder with the wrong owner does so with all of it. The server's settings may be
# root's.
_TELLING = ("", "PG_VERSION", "base", "global", "global/pg_control", "pg_wal", LOG_FILE)
_OTHERS = stat.S_IWGRP | stat.S_IRWXO  # PostgreSQL allows the group to read


def check_rights(folder: Path, account: Account | None) -> None:
    """Raise StorageRights unless `folder` and what lies in it are as PostgreSQL asks.

    `account` runs the server; None is this process itself. Raises OSError.
    """
    if sys.platform == "win32":
        return
    uid = account.uid if account else os.geteuid()
    for each in map(folder.joinpath, _TELLING):
        if each.exists() and (owner := each.stat().st_uid) != uid:
            raise StorageRights(
                f"{each} belongs to {name_of(owner)}, but its server runs as {name_of(uid)}.",
                fix=f"Run: {owning(folder, uid)}",
            )
    if folder.stat().st_mode & _OTHERS:
        raise StorageRights(
            f"The data folder {folder} is open to others, which PostgreSQL refuses.",
            fix=f"Run: chmod 700 {shlex.quote(str(folder))}",
        )


def owning(folder: Path, uid: int) -> str:
    """Return the command that gives `folder` to an account with all that lies in it."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    # The colon gives it to the account's own group; who has no name has none.
    whom = f"{name_of(uid)}:" if _known(uid) else str(uid)
    return f"{sudo}chown -R {whom} {shlex.quote(str(folder))}"


def name_of(uid: int) -> str:
    """Return an account's name, else its number."""
    return _known(uid) or str(uid)


def _known(uid: int) -> str:
    import pwd  # noqa: PLC0415 - absent on Windows

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
