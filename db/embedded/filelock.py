"""A lock between processes that the kernel releases when its holder dies.

Whoever can open the file can hold the lock and stop everybody else, if only by reading: so it is
its owner's alone, whatever the umask and the rights of the folder are.

The locks are POSIX record locks (LockFileEx on Windows): they belong to a process, not to a thread,
and closing any handle of the file releases them. One process must therefore never hold two
`FileLock` objects of the same path; `db.embedded.server` sees to that.
"""

import stat
import threading
from pathlib import Path

import fasteners

from engine.errors import StorageError
from engine.messages import Message


class FileLock:
    """A lock on one file, shared or exclusive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = fasteners.InterProcessReaderWriterLock(path)

    def acquire(self, *, shared: bool = False, timeout: float = 0.0) -> bool:
        """Take the lock, waiting at most `timeout` seconds; return whether it was taken.

        Raises OSError if the file cannot be opened, StorageError if it cannot be locked.
        """
        take = self._lock.acquire_read_lock if shared else self._lock.acquire_write_lock
        taken: bool = False
        close_to_others(self.path)
        try:
            taken = take(blocking=timeout > 0, timeout=timeout)
        except threading.ThreadError as error:
            raise StorageError(
                Message("The file {path} cannot be locked ({error}).", path=self.path, error=error),
                fix=Message("Choose a data folder on a local disk, or set DATABASE_URL."),
            ) from error
        finally:
            if not taken and self._lock.lockfile:
                self._lock.lockfile.close()
                self._lock.lockfile = None
        return taken

    def release(self) -> None:
        """Release the lock, whether shared or exclusive."""
        self._lock.release_read_lock()


def close_to_others(path: Path) -> None:
    """Create the file if it is missing, and let nobody but its owner open it. Raises OSError.

    Earlier versions left it readable to all.
    """
    path.touch(mode=0o600)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)
