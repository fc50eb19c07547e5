"""The embedded PostgreSQL server: its first user starts it, its last user stops it.

Two locks coordinate the processes. docs/decisions/0002-embedded-server.md gives the reasons.
"""

import asyncio
import errno
import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Never, Self
from urllib.parse import quote, urlencode

import fasteners

from db.embedded import cluster as sockets
from db.embedded.cluster import (
    DATABASE,
    GATE_LOCK,
    SETTINGS_FILE,
    SUPERUSER,
    check_rights,
    check_version,
    create_cluster,
    password_file,
    refuse_copy,
    remove_unfinished,
    write_settings,
)
from db.embedded.os_user import (
    Binaries,
    OsUser,
    build_chown_command,
    build_failure,
    find_binaries,
    owner_name,
    server_account,
    within_reach,
)
from db.embedded.postmaster import (
    LOG_FILE,
    Postmaster,
    State,
    observe_server,
    start_postmaster,
    stop_postmaster,
    trim_log,
)
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
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


_log = logging.getLogger(__name__)
START_SECONDS = 60.0
STOP_SECONDS = 20.0
_POLL_SECONDS = 0.02
_LOOK_SECONDS = 2.0
_STEADY_SECONDS = 60.0  # after this, earlier deaths no longer count
_ATTEMPTS = 5
_PAUSE_SECONDS = 1.0  # after the first failure; doubles each time


class EmbeddedServer:
    """The server with its data in `data_dir`/postgres, as a context manager.

    `extra` are server settings for tests; they apply if this object starts the server. `progress`
    receives a sentence about each slow step. The methods block: call them through
    `asyncio.to_thread` from a coroutine. Any number of processes, and of objects in a process, may
    use one data folder; an object may be acquired only once at a time.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        extra: Mapping[str, str] | None = None,
        progress: Callable[[str], None] = _log.info,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._extra = dict(extra or {})
        self._progress = progress
        self._postmaster: Postmaster | None = None
        self._log_seen: int | None = None  # bytes of the server's log when it was acquired

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def folder(self) -> Path:
        """The PostgreSQL data folder."""
        return self._data_dir / "postgres"

    def acquire(self) -> None:
        """Ensure that the server runs, creating and starting it if necessary.

        Raises StorageUnreachable, StorageRights, StorageFull, StorageError; nothing is held then
        and no half-made data folder is left.
        """
        with mapped_os_errors(self._data_dir):
            missing = [folder for folder in self._data_dir.parents if not folder.exists()]
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Others than these, which a strict umask closes, belong to others and stay as they are.
            if missing and (account := self._find_account()):
                for folder in missing:
                    account.admit(folder)
            self._data_dir = self._data_dir.resolve()
            with open_gate(self._data_dir, self._progress) as share:
                self._postmaster = self._ensure_running(share)
                share.join()
            with suppress(OSError):
                self._log_seen = (self.folder / LOG_FILE).stat().st_size

    def diagnose_full_disk(self) -> StorageError | None:
        """Return the error of a disk that filled since the server was acquired, if that ended it.

        Clients learn no more than that their connection was lost.
        """
        if self._log_seen is None:
            return None
        try:
            with (self.folder / LOG_FILE).open("rb") as log:
                log.seek(self._log_seen)
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return None
        full = [line for line in lines if "PANIC:" in line and "No space left on device" in line]
        return build_failure(Message("The embedded database ended"), full[0]) if full else None

    def release(self) -> None:
        """Release the server; the last user stops it. Does nothing if it is not acquired.

        Raises StorageUnreachable if the server does not stop in time.
        """
        if self._postmaster is None:
            return
        self._postmaster = None
        with (
            mapped_os_errors(self._data_dir),
            open_gate(self._data_dir, self._progress) as share,
            share.left() as last,
        ):
            if last:
                self._stop()

    def revive(self) -> bool:
        """Restart the server if it has died; return whether it had.

        Raises what `acquire` does, and StorageUnreachable if its data or its address is gone.
        """
        state, postmaster = observe_server(self.folder)
        died = state is State.ABSENT or (postmaster is not None and postmaster.status == "stopping")
        if died:
            postmaster = self._restart()
        if (
            postmaster
            and (died or state is State.READY)
            and postmaster.address != self._require_postmaster().address
        ):
            raise StorageUnreachable(
                Message("The database has another address."), fix=Message("Start again.")
            )
        return died

    def url(self, database: str = DATABASE) -> str:
        """Return the connection URL of one of the server's databases.

        Raises StorageUnreachable if the server is not acquired.
        """
        postmaster = self._require_postmaster()
        if sys.platform == "win32":
            secret = quote(password_file(self.folder).read_text(), safe="")
            host = f"{postmaster.host}:{postmaster.port}"
            return f"postgresql://{SUPERUSER}:{secret}@{host}/{quote(database, safe='')}"
        place = urlencode({"host": postmaster.socket_folder, "port": postmaster.port})
        return f"postgresql://{SUPERUSER}@/{quote(database, safe='')}?{place}"

    def _require_postmaster(self) -> Postmaster:
        if self._postmaster is None:
            raise StorageUnreachable(Message("The embedded database is not running."))
        return self._postmaster

    def _ensure_running(self, share: Share) -> Postmaster:
        """Return the running server, starting it if necessary."""
        deadline = time.monotonic() + START_SECONDS
        started = False
        while True:
            state, postmaster = observe_server(self.folder)
            if state is State.READY and postmaster:
                trim_log(self.folder)
                return postmaster
            if state is State.ABSENT and not started:
                self._start_server(share)
                started = True
            elif state is State.BUSY and postmaster and postmaster.status == "stopping":
                # The process that was stopping it held the gate and was killed: the server may hang
                # forever.
                self._stop()
            elif time.monotonic() > deadline:
                raise StorageUnreachable(
                    Message(
                        "The database in {folder} has been starting or stopping for"
                        " {seconds:.0f} seconds.",
                        folder=self.folder,
                        seconds=START_SECONDS,
                    ),
                    fix=Message(
                        "Try again in a minute; {file} tells what it does.",
                        file=self.folder / LOG_FILE,
                    ),
                )
            else:
                time.sleep(_POLL_SECONDS)

    def _restart(self) -> Postmaster:
        _log.warning("The database server has died; starting it again")
        with mapped_os_errors(self._data_dir):
            if not (self.folder / "PG_VERSION").exists():
                gone = Message("The data folder {folder} has gone.", folder=self.folder)
                raise StorageUnreachable(gone, fix=Message("Mount it, or restore a backup."))
            with open_gate(self._data_dir, self._progress) as share:
                return self._ensure_running(share)

    def _start_server(self, share: Share) -> None:
        refuse_copy(self.folder)
        account = self._find_account()
        if account:
            account.require_way(self._data_dir)
            account.admit(self._data_dir)
        binaries = self._choose_binaries(account)
        if account:
            for lock in (share.gate, share.users):
                close_to_others(lock.path)
                account.give_to_account(lock.path)
        major = binaries.major(account)
        remove_unfinished(self.folder)
        if not self.folder.exists() or not any(self.folder.iterdir()):
            self._progress("Creating the database (only the first time).")
            durable = self._extra.get("fsync") != "off"
            create_cluster(self.folder, binaries, account, durable=durable, progress=self._progress)
        check_version(self.folder, major)
        check_rights(self.folder, account)
        trim_log(self.folder)
        write_settings(self.folder, sockets.prepare_folder(self.folder, account), self._extra)
        if account:  # the server silently ignores settings that it may not read
            account.give_to_account(self.folder / SETTINGS_FILE)
        start_postmaster(
            self.folder, binaries, account, progress=self._progress, seconds=START_SECONDS
        )

    def _stop(self) -> None:
        state, postmaster = observe_server(self.folder)
        if state is State.ABSENT or postmaster is None:
            return
        account = self._find_account()
        stop_postmaster(self.folder, self._choose_binaries(account), account, seconds=STOP_SECONDS)
        sockets.forget_sockets(self.folder, postmaster.socket_folder)

    def _choose_binaries(self, account: OsUser | None) -> Binaries:
        binaries = find_binaries()
        return within_reach(binaries, account, self._data_dir / "programs") if account else binaries

    def _find_account(self) -> OsUser | None:
        return server_account((self.folder, self._data_dir))


async def keep_running(server: EmbeddedServer) -> Never:
    """Restart the server whenever it has died, until cancelled.

    Raises StorageUnreachable if it cannot be started, or dies again and again.
    """
    clock = asyncio.get_running_loop().time
    troubles, last = 0, clock()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        begun = clock()
        if begun - last > _STEADY_SECONDS:
            troubles = 0
        error = None
        try:
            if not await asyncio.to_thread(server.revive):
                continue
            _log.warning("The database is back after %.1f s", clock() - begun)
        except StorageError as problem:
            error = problem
            _log.error("The database did not come back: %s", error)
        troubles, last = troubles + 1, clock()
        if troubles >= _ATTEMPTS:
            raise _given_up(error) from error
        if error:
            await asyncio.sleep(_PAUSE_SECONDS * 2 ** (troubles - 1))


def _given_up(error: StorageError | None) -> StorageUnreachable:
    """Return the error that ends the process, so that its supervisor learns of it."""
    gone = Message(
        "The embedded database has ended {number} times, or could not be started again",
        number=_ATTEMPTS,
    )
    return StorageUnreachable(
        Message("{gone}: {message}", gone=gone, message=error.message)
        if error
        else Message("{gone}.", gone=gone),
        fix=(error and error.fix) or Message("postgres/server.log in the data folder tells why."),
    )


@contextmanager
def mapped_os_errors(data_dir: Path) -> Iterator[None]:
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
        if error.errno in (errno.EACCES, errno.EPERM):
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
