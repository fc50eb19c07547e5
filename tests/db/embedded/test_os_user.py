"""The account that runs the server for root."""

import os
import stat
from pathlib import Path

import pytest

from db.embedded import os_user as account_module
from db.embedded.os_user import OsUser, run_as, server_account
from engine.errors import StorageRights, StorageUnreachable

_NOBODY = 65534


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize(
    ("before", "after"), [(0o700, "0o701"), (0o740, "0o741"), (0o755, "0o755"), (0o711, "0o711")]
)
def test_only_the_missing_right_to_pass_is_given(
    server_folder: Path, before: int, after: str
) -> None:
    server_folder.chmod(before)
    (server_folder / "inner").mkdir()
    OsUser(_NOBODY, _NOBODY, frozenset({_NOBODY})).admit(server_folder / "inner")
    assert mode(server_folder) == after


def test_a_member_of_the_group_passes_as_such(server_folder: Path) -> None:
    server_folder.chmod(0o700)
    OsUser(_NOBODY, _NOBODY, frozenset({server_folder.stat().st_gid})).admit(server_folder)
    assert mode(server_folder) == "0o710"


def test_programs_installed_under_a_strict_umask_become_readable(server_folder: Path) -> None:
    tree = server_folder / "programs"
    (tree / "bin").mkdir(parents=True)
    for path, bits in ((tree / "bin" / "postgres", 0o700), (tree / "share", 0o600)):
        path.touch()
        path.chmod(bits)
    for folder in (tree / "bin", tree):
        folder.chmod(0o700)
    OsUser(_NOBODY, _NOBODY, frozenset()).admit_tree(tree)
    assert [mode(each) for each in (tree, tree / "bin", tree / "bin" / "postgres")] == ["0o705"] * 3
    assert mode(tree / "share") == "0o604"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may not run the server")
def test_everybody_but_root_runs_the_server_alone(tmp_path: Path) -> None:
    assert server_account([tmp_path]) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_first_owner_who_is_not_root_is_taken(tmp_path: Path) -> None:
    for name, owner in (("roots", 0), ("theirs", 4321), ("others", 4322)):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, owner, owner)
    folders = [tmp_path / name for name in ("absent", "roots", "theirs", "others")]
    assert server_account(folders) == OsUser(4321, 4321, frozenset({4321}))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_machine_without_any_account_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_module, "_NAMES", ("no-such-account",))
    monkeypatch.setattr(account_module, "_CREATE", (("false",), ("no-such-program",)))
    with pytest.raises(StorageRights, match="Run as an ordinary user"):
        server_account([tmp_path])


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(StorageUnreachable, match="sleep did not end within 0 seconds"):
        run_as(["sleep", "60"], None, folder=tmp_path, timeout=0.05)


def test_a_program_gets_input_and_gives_output_and_code(tmp_path: Path) -> None:
    command = ["sh", "-c", "cat; pwd; echo wrong >&2; exit 3"]
    code, output = run_as(command, None, folder=tmp_path, text="in ñ\n")
    assert code == 3
    assert output.splitlines() == ["in ñ", str(tmp_path), "wrong"]
