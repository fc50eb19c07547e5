"""The server process of a data folder: its state, its start and its stop."""

import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from db.embedded.os_user import Binaries, OsUser, build_failure, run_as, spawn_as
from engine.messages import Message

_log = logging.getLogger(__name__)
PID_FILE = "postmaster.pid"
LOG_FILE = "server.log"
_LOG_BYTES = 4 * 1024 * 1024
_NOTICE_SECONDS = 3.0
_ORPHANS_SECONDS = 2.0


def end_orphans(folder: Path) -> None:
    """Kill the processes of the dead server of `folder`; their uncommitted work is lost.

    The caller has checked that no server of `folder` is alive, and prevents others from starting
    one.
    """
    # Imported here because it is slow to import and rarely needed.
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - no type information; see above

    for process in psutil.process_iter():
        try:
            if _is_orphan(process) and Path(process.cwd()).samefile(folder):
                _log.warning("Ending process %d, left by a killed database server", process.pid)
                process.kill()
        except (psutil.Error, OSError):  # it has ended, or may not be inspected
            continue


def _is_orphan(process: "psutil.Process") -> bool:  # type: ignore[name-defined]  # noqa: F821 - as above
    """Return whether it is a backend or auxiliary process whose server is gone."""
    title, parent = " ".join(process.cmdline()), process.parent()
    return title.startswith("postgres: ") and not (parent and parent.name().startswith("postgres"))


class State(Enum):
    """The state of a data folder's server."""

    ABSENT = "absent"
    BUSY = "busy"  # starting, replaying its log, or stopping
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Postmaster:
    """The process that wrote postmaster.pid; fields that it has not written yet are 0 or empty."""

    pid: int
    folder: str  # the data folder as named when the server started
    port: int
    socket_folder: str
    host: str
    status: str

    @property
    def address(self) -> tuple[str, str, int]:
        """The address it listens on."""
        return self.socket_folder, self.host, self.port

    def is_of(self, folder: Path) -> bool:
        """Return whether `folder` is the data folder it was started in."""
        return _is_same_file(self.folder, folder)

    def accepts(self) -> bool:
        """Return whether something listens at the address of this server."""
        try:
            self._connect().close()
        except OSError:
            return False
        return True

    def _connect(self) -> socket.socket:
        if sys.platform == "win32":
            return socket.create_connection((self.host, self.port), timeout=1)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(1)
        try:
            connection.connect(f"{self.socket_folder}/.s.PGSQL.{self.port}")
        except OSError:
            connection.close()
            raise
        return connection


def read_postmaster(folder: Path) -> Postmaster | None:
    """Return the content of postmaster.pid, which outlives the server. Raises OSError."""
    try:
        text = os.fsdecode((folder / PID_FILE).read_bytes())
    except FileNotFoundError:
        return None
    # pid, data folder, start time, port, socket folder, address, shared memory, status
    lines = [line.strip() for line in text.splitlines()]
    pid, data, _, port, socket_folder, host, _, status = [*lines, *[""] * 8][:8]
    return Postmaster(_read_number(pid), data, _read_number(port), socket_folder, host, status)


def observe_server(folder: Path) -> tuple[State, Postmaster | None]:
    """Return the state of the server of `folder`, and its process.

    A listener at the recorded address proves that the process is alive; without one, the process
    table is checked. A copy of a data folder names the server of its original and counts as having
    none. Raises OSError.
    """
    postmaster = read_postmaster(folder)
    if postmaster is None:
        return State.ABSENT, None
    ours = postmaster.is_of(folder)
    listening = postmaster.status == "ready" and postmaster.accepts()
    if (ours and listening) or _is_serving(postmaster, folder, ours=ours):
        return State.READY if listening else State.BUSY, postmaster
    return State.ABSENT, postmaster


def start_postmaster(
    folder: Path,
    binaries: Binaries,
    account: OsUser | None,
    *,
    progress: Callable[[str], None],
    seconds: float,
) -> None:
    """Start the server of `folder`, which is in state ABSENT, and wait until it is READY.

    After `seconds` it is left BUSY to continue on its own: an interrupted recovery would start
    again from its beginning. Raises StorageUnreachable, StorageFull, StorageRights, OSError.
    """
    begun = time.monotonic()
    deadline = begun + seconds
    _forget_misleading_pid(folder)
    log = folder / LOG_FILE
    while True:
        seen = log.stat().st_size if log.exists() else 0
        code, reason = _pg_ctl_start(
            folder, binaries, account, progress=progress, deadline=deadline
        )
        if code == 0:
            return
        if observe_server(folder)[0] is not State.ABSENT:
            return
        output = log.read_bytes()[seen:].decode(errors="replace") if log.exists() else ""
        # The orphans of a killed server need a moment to notice and exit; not all of them notice.
        orphans = "shared memory block" in output and "still in use" in output
        if not orphans or time.monotonic() > deadline:
            what = Message("The embedded database did not start")
            # If the log cannot be written, only pg_ctl's output tells why.
            raise build_failure(
                what, output.strip() or reason, fix=Message("{file} tells more.", file=log)
            )
        if time.monotonic() > begun + _ORPHANS_SECONDS:
            end_orphans(folder)
        time.sleep(0.2)


def stop_postmaster(
    folder: Path, binaries: Binaries, account: OsUser | None, *, seconds: float
) -> None:
    """Stop the server of `folder`; open transactions are rolled back.

    A server that is recovering, or does not end within `seconds`, is stopped immediately and
    recovers at its next start: PostgreSQL 18 never reacts to a request to stop while it recovers
    from the crash of one of its processes. Raises StorageUnreachable if even that fails, OSError.
    """
    postmaster, ready, output = read_postmaster(folder), False, ""
    if postmaster:
        place = ("-h", postmaster.socket_folder or postmaster.host, "-p", str(postmaster.port))
        command = binaries.command("pg_isready", "--quiet", *place)
        ready = run_as(command, account, folder=folder)[0] == 0
    for mode in ("fast", "immediate") if ready else ("immediate",):
        wait = str(int(seconds))
        command = binaries.command("pg_ctl", "-D", ".", "-m", mode, "-t", wait, "-w", "stop")
        code, output = run_as(command, account, folder=folder)
        if code == 0 or observe_server(folder)[0] is State.ABSENT:
            return
    raise build_failure(Message("The embedded database did not stop"), output)


def trim_log(folder: Path) -> None:
    """Keep the server's log small: beyond the limit its text moves to one older file.

    The server opens its log for appending, so the file may be truncated while it runs. Windows
    forbids that until the server has stopped, so the log is truncated then.
    """
    log = folder / LOG_FILE
    try:
        if log.stat().st_size > _LOG_BYTES:
            old = log.with_suffix(".old.log")
            old.unlink(missing_ok=True)  # may belong to root
            shutil.copy2(log, old)
            os.truncate(log, 0)
    except (FileNotFoundError, PermissionError):
        return


def _pg_ctl_start(
    folder: Path,
    binaries: Binaries,
    account: OsUser | None,
    *,
    progress: Callable[[str], None],
    deadline: float,
) -> tuple[int, str]:
    """Return the exit code of pg_ctl and the first line of its output."""
    wait = str(max(1, int(deadline - time.monotonic())))
    # Relative paths: pg_ctl passes them to a shell inside double quotes.
    command = binaries.command("pg_ctl", "-D", ".", "-l", LOG_FILE, "-t", wait, "-w", "start")
    with spawn_as(command, account, folder=folder) as process:
        try:
            output, _ = process.communicate(timeout=_NOTICE_SECONDS)
        except subprocess.TimeoutExpired:
            progress("The database is still starting: it may be recovering from a crash.")
            output, _ = process.communicate()
    first, *_ = [*output.splitlines(), ""]  # the rest only says that there is a log
    return process.returncode, first.removeprefix("waiting for server to start").lstrip(".")


def _is_same_file(text: str, other: Path) -> bool:
    try:
        return bool(text) and other.samefile(text)
    except OSError:
        return False


def _read_number(text: str) -> int:
    """Return the number without its sign (a single-user server writes its pid as a negative)."""
    digits = text.removeprefix("-")
    return int(digits) if digits.isdecimal() else 0


def _forget_misleading_pid(folder: Path) -> None:
    """Remove a postmaster.pid that is damaged, or stale with a pid that is now another process.

    PostgreSQL itself discards a stale file if its pid is free, but stops at a damaged one and takes
    any process of the same account for a running server.
    """
    # Imported here because it is slow to import and not needed while the server runs.
    import psutil  # noqa: PLC0415 - no type information; see above

    postmaster = read_postmaster(folder)
    if postmaster and (postmaster.pid == 0 or psutil.pid_exists(postmaster.pid)):
        (folder / PID_FILE).unlink(missing_ok=True)


def _is_serving(postmaster: Postmaster, folder: Path, *, ours: bool) -> bool:
    """Return whether this is a live server of `folder`: a server works inside its data folder.

    `ours` tells whether the file names this folder, which is trusted if the process may not be
    inspected.
    """
    import psutil  # noqa: PLC0415 - as above

    try:
        process = psutil.Process(postmaster.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        try:
            return _is_same_file(process.cwd(), folder)
        except psutil.AccessDenied:  # root in a container may not be allowed to look
            return ours and str(process.name()).startswith("postgres")
    except (psutil.NoSuchProcess, OSError):
        return False
