"""Where the account of the server finds PostgreSQL's programs, and what their failures say."""

import os
import stat
from pathlib import Path

import pytest

from db.embedded.os_user import Binaries, OsUser, build_failure, run_as, telling_line, within_reach
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import as_message

_AT = "2026-11-21 23:00:00.000 UTC [7] "
NOBODY = OsUser(65534, 65534, frozenset({65534}))


@pytest.fixture
def closed(server_folder: Path) -> Binaries:
    """Programs in a folder that is its owner's alone, installed under a strict umask."""
    place = server_folder / "home" / "package" / "pginstall" / "bin"
    place.mkdir(parents=True)
    program = place / "postgres"
    program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 18.6'\n")
    for each in (program, place, place.parent, place.parent.parent):
        each.chmod(0o700)
    (server_folder / "home").chmod(0o700)
    return Binaries(place)


def test_programs_that_can_be_read_stay_where_they_are(server_folder: Path) -> None:
    place = server_folder / "package" / "pginstall" / "bin"
    place.mkdir(parents=True)
    assert within_reach(Binaries(place), NOBODY, server_folder / "programs").folder == place
    assert not (server_folder / "programs").exists()


def test_unreadable_programs_are_copied_once(closed: Binaries, server_folder: Path) -> None:
    programs = server_folder / "programs"
    (programs / "postgres-1.0").mkdir(parents=True)
    found = within_reach(closed, NOBODY, programs)
    assert found.folder.is_relative_to(programs)
    assert [path.name for path in programs.iterdir()] == [found.folder.parents[2].name]
    assert stat.S_IMODE((server_folder / "home").stat().st_mode) == 0o700
    (found.folder / "mark").touch()
    assert within_reach(closed, NOBODY, programs) == found
    assert (found.folder / "mark").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_account_runs_the_copy(closed: Binaries, server_folder: Path) -> None:
    found = within_reach(closed, NOBODY, server_folder / "programs")
    assert found.major(NOBODY) == "18"
    with pytest.raises(PermissionError):
        run_as(closed.command("postgres"), NOBODY, folder=Path("/"))


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            f"{_AT}FATAL:  bogus data in lock file\n{_AT}LOG:  database system is shut down\n",
            "bogus",
        ),
        (
            f"{_AT}PANIC:  could not locate a valid checkpoint record\n{_AT}LOG:  aborting\n",
            "could",
        ),
        ("fixing permissions ...\ninitdb: error: invalid locale name\n", "invalid locale name"),
        ("loader: libicu.so: cannot open shared object file\n\n", "loader: libicu.so"),
        (f"{_AT}FATAL:  first\n{_AT}FATAL:  second\n", "second"),
        ("", "no message"),
        (" \n\n", "no message"),
    ],
)
def test_the_line_that_explains_a_failure_is_found(output: str, line: str) -> None:
    assert telling_line(output).startswith(line)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (f'{_AT}FATAL:  could not write "x": No space left on device\n', StorageFull),
        ('initdb: error: could not create "x": Permission denied\n', StorageRights),
        (f"{_AT}FATAL:  database files are incompatible with server\n", StorageUnreachable),
    ],
)
def test_a_failure_maps_to_its_error_class(output: str, kind: type[StorageError]) -> None:
    error = build_failure(as_message("It failed"), output)
    assert type(error) is kind
    assert str(error).startswith("It failed: ")
    assert "\n" not in str(error)
