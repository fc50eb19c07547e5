"""Copies of data folders: one that was made while the server ran may be torn, and nothing tells."""

import shlex
from pathlib import Path

from db.postmaster import PID_FILE, recorded
from engine.errors import StorageError


def refuse_copy(folder: Path) -> None:
    """Raise StorageError where `folder` was copied while its server ran, or had crashed.

    The two look alike: postmaster.pid names another folder, with the same database in it. Where
    that has gone `folder` was moved, and may be served. Raises OSError.
    """
    original = _original_of(folder)
    if original:
        raise StorageError(
            f"The data folder {folder} is a copy of {original}, made while that was in use: such a "
            "copy may be damaged.",
            fix="End the presagio processes and copy again, or use pg_dump or pg_basebackup "
            "(docs/database.md). If the server had crashed before you copied, run: "
            f"rm {shlex.quote(str(folder / PID_FILE))}",
        )


def _original_of(folder: Path) -> Path | None:
    postmaster = recorded(folder)
    if postmaster is None or not postmaster.folder or postmaster.is_of(folder):
        return None
    original = Path(postmaster.folder)
    here, there = _identifier(folder), _identifier(original)
    return original if here and here == there else None


def _identifier(folder: Path) -> bytes:
    """Return the number that initdb gave the database of `folder`; empty where there is none."""
    try:
        with (folder / "global" / "pg_control").open("rb") as control:
            return control.read(8)
    except OSError:
        return b""
