"""Programs that run beside the embedded server."""

import sys
from pathlib import Path

import pytest

from db.embedded.postmaster import State, observe
from db.embedded.with_server import main

_DUMP = 'psql -qXc "CREATE TABLE kept AS SELECT 42 AS value" "$DATABASE_URL" && pg_dump -f {} '
_RESTORE = 'psql -qXf {} "$DATABASE_URL" >&2 && test "$(psql -Atqc "{}" "$DATABASE_URL")" = 42'


def test_a_dump_of_one_server_goes_into_another(server_folder: Path) -> None:
    dump = server_folder / "dump.sql"
    dumping = _DUMP.format(dump) + '"$DATABASE_URL"'
    assert main([str(server_folder / "old"), "sh", "-c", dumping]) == 0
    restoring = _RESTORE.format(dump, "SELECT value FROM kept")
    assert main([str(server_folder / "new"), "sh", "-c", restoring]) == 0
    assert observe(server_folder / "new" / "postgres")[0] is State.ABSENT


def test_the_exit_code_is_the_program_s(server_folder: Path) -> None:
    assert main([str(server_folder), sys.executable, "-c", "raise SystemExit(5)"]) == 5


def test_what_cannot_be_done_is_one_line(
    server_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (server_folder / "file").touch()
    assert main([str(server_folder / "file" / "data"), "true"]) == 1
    assert main([str(server_folder)]) == 2
    assert main([str(server_folder), "no-such-program"]) == 127
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[2] == "There is no program no-such-program."
