"""Maps the operating system's errors about the embedded server to errors of the project."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from db.embedded.data_folder import owner_name, owning
from engine.errors import StorageError, StorageFull, StorageRights
from engine.messages import Message

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
            raise StorageRights(message, fix=_mending(data_dir, Path(where))) from error
        raise StorageError(
            message, fix=Message("Set PRESAGIO_DATA_DIR to a usable folder.")
        ) from error


def _mending(data_dir: Path, refused: Path) -> Message:
    """Return what to do about a place that may not be used; name no owner of foreign files."""
    if sys.platform != "win32":
        for each in (refused, *refused.parents):
            with suppress(OSError):
                owner = each.lstat().st_uid
                if (data_dir / GATE_LOCK).exists() and owner != os.geteuid():
                    command = owning(data_dir, os.geteuid())
                    return Message(
                        "{path} belongs to {owner}. Run: {command}",
                        path=each,
                        owner=owner_name(owner),
                        command=command,
                    )
                break
    return Message("Give this account the right to write there, or set PRESAGIO_DATA_DIR.")
