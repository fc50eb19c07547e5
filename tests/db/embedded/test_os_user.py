"""The account that runs the server for root."""

import os
import pwd
import shlex
import stat
import sys
from pathlib import Path

import pytest

from db.embedded import os_user as account_module
from db.embedded.os_user import OsUser, run_as, server_account
from engine.errors import StorageRights, StorageUnreachable

_NOBODY = 65534


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


NOBODY = OsUser(_NOBODY, _NOBODY, frozenset({_NOBODY}))


@pytest.mark.parametrize(
    ("before", "after"), [(0o700, "0o701"), (0o740, "0o741"), (0o755, "0o755"), (0o711, "0o711")]
)
def test_admitting_a_user_grants_only_the_missing_search_permission(
    server_folder: Path, before: int, after: str
) -> None:
    own = server_folder / "own"
    own.mkdir()
    own.chmod(before)
    NOBODY.admit(own)
    assert mode(own) == after


def test_a_group_member_is_admitted_by_group_permission(server_folder: Path) -> None:
    server_folder.chmod(0o700)
    member = OsUser(_NOBODY, _NOBODY, frozenset({server_folder.stat().st_gid}))
    assert member.barrier(server_folder / "x") == server_folder
    member.admit(server_folder)
    assert mode(server_folder) == "0o710"
    assert member.barrier(server_folder / "x") is None


def test_parent_folders_are_reported_and_not_changed(server_folder: Path) -> None:
    closed = server_folder / "it's closed"
    (closed / "data").mkdir(parents=True)
    closed.chmod(0o700)
    with pytest.raises(StorageRights) as caught:
        NOBODY.require_way(closed / "data")
    assert f"may not pass through {closed}." in str(caught.value)
    assert str(caught.value).endswith(f"chmod o+x {shlex.quote(str(closed))}")
    assert mode(closed) == "0o700"
    closed.chmod(0o711)
    NOBODY.require_way(closed / "data")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may not run the server")
def test_no_account_is_chosen_unless_root_runs_the_server(tmp_path: Path) -> None:
    assert server_account([tmp_path]) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_first_owner_who_is_not_root_is_taken(tmp_path: Path) -> None:
    for name, owner in (("roots", 0), ("theirs", 4321), ("others", 4322)):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, owner, owner)
    folders = [tmp_path / name for name in ("absent", "roots", "theirs", "others")]
    assert server_account(folders) == OsUser(4321, 4321, frozenset({4321}))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_machine_without_a_usable_account_gets_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_module, "_NAMES", ("no-such-account",))
    with pytest.raises(StorageRights, match="Run as an ordinary user"):
        server_account([tmp_path])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_an_existing_system_account_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_module, "_NAMES", ("no-such-account", "nobody"))
    found = server_account([tmp_path])
    assert found
    assert found.uid == pwd.getpwnam("nobody").pw_uid


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    endless = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(StorageUnreachable, match=r"python\S* did not end within 0 seconds"):
        run_as(endless, None, folder=tmp_path, timeout=0.05)


def test_a_program_gets_input_and_gives_output_and_code(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "os.write(1, sys.stdin.buffer.read() + os.getcwd().encode() + b'\\n')\n"
        "os.write(2, b'wrong\\n')\n"
        "sys.exit(3)"
    )
    command = [sys.executable, "-c", script]
    code, output = run_as(command, None, folder=tmp_path, text="in ñ\n")
    assert code == 3
    assert output.splitlines() == ["in ñ", str(tmp_path), "wrong"]
