"""Locks between processes."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from db.embedded.server import FileLock
from engine.errors import StorageError

_TRY = """
import sys; from pathlib import Path; from db.embedded.server import FileLock
lock = FileLock(Path(sys.argv[1]))
for shared in (True, False):
    taken = lock.acquire(shared=shared)
    print(taken)
    if taken: lock.release()
"""


def another_process_gets(path: Path) -> list[str]:
    """Return whether another process may take the lock shared, and alone."""
    command = [sys.executable, "-c", _TRY, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_a_shared_lock_admits_others_who_share_and_an_exclusive_one_nobody(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire(shared=True)
    assert another_process_gets(lock.path) == ["True", "False"]
    lock.release()
    assert another_process_gets(lock.path) == ["True", "True"]
    assert lock.acquire()
    assert another_process_gets(lock.path) == ["False", "False"]
    lock.release()
    assert another_process_gets(lock.path) == ["True", "True"]


def test_a_file_that_cannot_be_locked_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*arguments: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.lockf", no_locks)
    with pytest.raises(StorageError, match="No locks available"):
        FileLock(tmp_path / "lock").acquire()


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_a_lock_file_is_accessible_only_to_its_owner(tmp_path: Path, before: int | None) -> None:
    lock = FileLock(tmp_path / "lock")
    if before is not None:  # an earlier version made it
        lock.path.touch()
        lock.path.chmod(before)
    umask = os.umask(0)
    try:
        assert lock.acquire()
    finally:
        os.umask(umask)
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
    assert another_process_gets(lock.path) == ["False", "False"]
    lock.release()


@pytest.mark.needs("cat")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")
def test_another_account_can_hold_no_lock(server_folder: Path) -> None:
    lock = FileLock(server_folder / "lock")
    assert lock.acquire()
    lock.release()
    # Who can open it could hold it.
    tried = subprocess.run(
        ["cat", lock.path],
        capture_output=True,
        check=False,
        text=True,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    assert "Permission denied" in tried.stderr
