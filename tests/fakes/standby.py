"""A primary and a streaming standby of it, on loopback, made with PostgreSQL's own programs."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from db.embedded.os_user import Binaries, OsUser, find_binaries, server_account, within_reach
from tests.network import find_free_port
from tests.patience import PATIENCE

# Read before the environment is emptied for the tests.
_FOLDER = os.environ.get("PRESAGIO_TEST_BINDIR")
_SETTINGS = (
    *("fsync=off", "listen_addresses=127.0.0.1", "max_connections=80", "autovacuum=off"),
    *("max_standby_streaming_delay=200ms", "wal_retrieve_retry_interval=200ms"),
)


@dataclass
class LoopbackServer:
    """One server, which can be killed, frozen and started again."""

    folder: Path
    binaries: Binaries
    account: OsUser | None
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)  # of the server, beside ours
    _running: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """URL of its database."""
        return f"postgresql://presagio@127.0.0.1:{self.port}/presagio"

    @property
    def local(self) -> Sequence[str]:
        """What programs of PostgreSQL are given to connect to it."""
        return ("-h", "127.0.0.1", "-p", str(self.port), "-U", "presagio")

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL to its end."""
        done = self._start(program, arguments).wait(PATIENCE)
        assert done == 0, f"{program} failed: {self._said()}"

    def start(self) -> None:
        """Start it if it does not run, and return when it takes connections."""
        if self._running and self._running.poll() is None:
            return
        settings = [*_SETTINGS, f"port={self.port}", f"unix_socket_directories={self.folder}"]
        named = [word for setting in settings for word in ("-c", setting)]
        arguments = ["-D", str(self.folder / "data"), *named]
        self._running = self._start("postgres", arguments, self.environment)
        end = time.monotonic() + PATIENCE
        ask = ("-q", "-h", "127.0.0.1", "-p", str(self.port), "-d", "postgres")
        while self._start("pg_isready", ask).wait(PATIENCE):
            assert time.monotonic() < end, f"the server does not start: {self._said()}"
            time.sleep(0.05)

    def promote(self) -> None:
        """Let a standby take writes, without what it has not received."""
        self.run("pg_ctl", "-D", "data", "-w", "promote")

    def kill(self) -> None:
        """End it as a crash would."""
        if self._running:
            self.go_on()
            self._running.send_signal(signal.SIGQUIT)
            self._running.wait(PATIENCE)

    def copy_from(self, primary: "LoopbackServer") -> None:
        """Become a standby of another server, without what was here before."""
        self.kill()
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        self.run("pg_basebackup", *primary.local, "-D", "data", "-R", "-c", "fast", "--no-sync")
        self.start()

    def freeze(self) -> None:
        """Stop it and its children where they are."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue after a freeze."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._running and self._running.poll() is None:
            pid = self._running.pid
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
            for each in (pid, *map(int, children.split())):
                with suppress(ProcessLookupError):  # a session may end meanwhile
                    os.kill(each, number)

    def _start(
        self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        account = self.account
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                self.binaries.command(program, *arguments),
                cwd=self.folder,
                env={**os.environ, **(environment or {})},
                stdout=said,
                stderr=said,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )

    def _said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")[-2000:]


@dataclass
class Pair:
    """A primary and its standby."""

    primary: LoopbackServer
    standby: LoopbackServer

    @property
    def url(self) -> str:
        """URL of whichever takes writes."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.primary, self.standby))
        return f"postgresql://presagio@{hosts}/presagio?target_session_attrs=read-write"


@contextmanager
def loopback(parent: Path) -> Iterator[LoopbackServer]:
    """Run a server with an empty database in a new folder below `parent`."""
    folder = Path(tempfile.mkdtemp(prefix="pair-", dir=parent))
    folder.chmod(0o711)  # the server's account passes through
    account = server_account([folder])
    binaries = Binaries(Path(_FOLDER)) if _FOLDER else find_binaries()
    if account and not _FOLDER:
        binaries = within_reach(binaries, account, folder / "programs")
    server = _server(folder / "one", binaries, account)
    server.run(
        *("initdb", "-D", "data", "-U", "presagio", "--auth=trust", "--encoding=UTF8"),
        *("--locale=C.UTF-8", "--no-sync", "--no-instructions"),
    )
    try:
        server.start()
        server.run("psql", *server.local, "-d", "postgres", "-c", "CREATE DATABASE presagio")
        yield server
    finally:
        server.kill()


@contextmanager
def pair(parent: Path) -> Iterator[Pair]:
    """Run a primary with an empty database, and a standby, in a new folder below `parent`."""
    with loopback(parent) as primary:
        if not shutil.which("pg_basebackup", path=primary.binaries.folder):
            pytest.skip("pg_basebackup is not installed")
        standby = _server(primary.folder.parent / "two", primary.binaries, primary.account)
        try:
            standby.copy_from(primary)
            yield Pair(primary, standby)
        finally:
            standby.kill()


def _server(folder: Path, binaries: Binaries, account: OsUser | None) -> LoopbackServer:
    folder.mkdir(mode=0o700)
    if account:
        account.give_to_account(folder)
    return LoopbackServer(folder, binaries, account, find_free_port())
