"""This process's share in one embedded server; two locks coordinate it with other processes.

A process holds the gate while it decides to start or to stop the server. All users of the server
share the users lock; a leaving process that can take it exclusively was the last. The kernel
releases the locks of a killed process, so nothing needs to be recorded about it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from db.embedded.errors import GATE_LOCK
from db.embedded.filelock import FileLock
from engine.errors import StorageUnreachable
from engine.messages import Message

LOCK_SECONDS = 90.0
_NOTICE_SECONDS = 1.0


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
            raise self.locked()
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

    def locked(self) -> StorageUnreachable:
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
_one_thread = threading.Lock()


@contextmanager
def open_gate(data_dir: Path, progress: Callable[[str], None]) -> Iterator[Share]:
    """Hold the gate, also against other threads of this process. Raises StorageUnreachable."""
    with _one_thread:
        share = _shares.setdefault(data_dir, Share(data_dir))
        if not share.gate.acquire(timeout=_NOTICE_SECONDS):
            progress("Waiting for another process that starts or stops the database.")
            if not share.gate.acquire(timeout=LOCK_SECONDS):
                raise share.locked()
        try:
            yield share
        finally:
            share.gate.release()
            if share.count == 0:
                del _shares[data_dir]
