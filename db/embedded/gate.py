"""The locks by which the processes of one data folder share its server."""

import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import fasteners

from db.embedded.cluster import (
    GATE_LOCK,
)
from engine.errors import StorageError, StorageUnreachable
from engine.messages import Message

LOCK_SECONDS = 90.0
_NOTICE_SECONDS = 1.0
_one_thread = threading.Lock()


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


class Share:
    """The locks of one data folder: they belong to a process, which may have several users."""

    def __init__(self, data_dir: Path) -> None:
        self.gate = FileLock(data_dir / GATE_LOCK)
        self.users = FileLock(data_dir / "postgres.users.lock")
        self.count = 0
        self._data_dir = data_dir

    def join(self) -> None:
        """Add a user. The caller holds the gate. Raises StorageUnreachable."""
        if self.count == 0 and not self.users.acquire(shared=True, timeout=LOCK_SECONDS):
            raise self.build_lock_error()
        self.count += 1

    @contextmanager
    def left(self) -> Iterator[bool]:
        """Remove a user; yield whether no process has one left. The caller holds the gate."""
        self.count -= 1
        if self.count > 0:
            yield False
            return
        self.users.release()
        last = self.users.acquire()
        try:
            yield last
        finally:
            if last:
                self.users.release()

    def build_lock_error(self) -> StorageUnreachable:
        """Return the error for a lock that another process does not release."""
        return StorageUnreachable(
            Message(
                "Another process has kept the database in {folder} locked for"
                " {seconds:.0f} seconds.",
                folder=self._data_dir,
                seconds=LOCK_SECONDS,
            ),
            fix=Message("End the presagio process that hangs, then try again."),
        )


_shares: dict[Path, Share] = {}


@contextmanager
def open_gate(data_dir: Path, progress: Callable[[str], None]) -> Iterator[Share]:
    """Hold the gate, also against other threads of this process. Raises StorageUnreachable."""
    with _one_thread:
        share = _shares.setdefault(data_dir, Share(data_dir))
        if not share.gate.acquire(timeout=_NOTICE_SECONDS):
            progress("Waiting for another process that starts or stops the database.")
            if not share.gate.acquire(timeout=LOCK_SECONDS):
                raise share.build_lock_error()
        try:
            yield share
        finally:
            share.gate.release()
            if share.count == 0:
                del _shares[data_dir]
