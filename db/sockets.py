"""The folder of the server's Unix socket.

Whoever reaches the socket is let in, so the folder is private: the data folder itself or, where
its path is too long for a socket, one in the folder for temporary files.
"""

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from db.account import Account
from engine.errors import StorageRights

PORT = 5432
# A socket's whole path fits 104 bytes on macOS and 108 on Linux, with the closing zero.
_LONGEST = 103 - len(f"/.s.PGSQL.{PORT}")


def prepare(folder: Path, account: Account | None) -> Path:
    """Return the folder for the socket of the data folder `folder`, whose server does not run.

    Raises StorageRights when somebody else's folder is in its place, OSError.
    """
    if sys.platform == "win32" or _fits(folder):
        sockets = folder
    else:
        sockets = _private_folder(folder, account)
    for stale in sockets.glob(".s.PGSQL.*"):  # a killed server's; its pid may be in use again
        stale.unlink()
    return sockets


def forget(folder: Path, sockets: str) -> None:
    """Remove what `prepare` made for the server of `folder`, which has stopped."""
    if sockets and Path(sockets) != folder:
        with contextlib.suppress(OSError):  # an empty folder that stays does no harm
            Path(sockets).rmdir()


def _fits(folder: Path) -> bool:
    """Tell whether a socket in `folder` has a path that servers and clients can use."""
    name = os.fsencode(folder)
    legible = name.decode("utf-8", "ignore").encode() == name and not set(name) & set(b'",\n')
    return legible and len(name) <= _LONGEST


def _private_folder(folder: Path, account: Account | None) -> Path:
    name = f"presagio-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    place = Path(tempfile.gettempdir()).resolve() / name
    if not _fits(place):
        place = Path("/tmp").resolve() / name  # noqa: S108 - its owner is checked below
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
    status = place.lstat()
    owners = {os.geteuid()} | ({account.uid} if account else set())
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or status.st_mode & 0o077:
        raise StorageRights(
            f"The folder {place} for the database's socket is not private to this account.",
            fix="Remove it, or choose a data folder with a shorter path.",
        )
    if account:
        account.require_way(place)
        account.own(place)
    return place
