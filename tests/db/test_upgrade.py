"""An upgrade keeps what was there before it, as a file that the older version restores."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from db import backup as module
from db.backup import upgrade_database
from db.migrate import Migration, list_migrations
from db.pool import Database
from engine.errors import InputError
from tests.database import execute, fetch_value

SINCE = Migration(9000, "since", "CREATE TABLE since ()")


@pytest.fixture
async def older(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """A database that an older version has set up than the one that runs."""
    newer = [*list_migrations(), SINCE]
    monkeypatch.setattr("db.migrate.list_migrations", lambda: newer)
    yield database


def kept(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def file_of(version: int) -> str:
    return f"before-upgrade-{version:04}.dump"


NEWEST = file_of(list_migrations()[-1].version)


async def test_upgrade_writes_a_backup_before_it_changes_the_database(
    older: Database, tmp_path: Path
) -> None:
    said: list[str] = []
    assert await upgrade_database(older, tmp_path, progress=said.append) == ["9000 since"]
    assert kept(tmp_path) == [NEWEST]
    assert (tmp_path / NEWEST).stat().st_mode & 0o077 == 0
    assert said == [
        "The tables are those of an older version: bringing them up to date (1 change).",
        f"What was there is kept in {tmp_path / NEWEST}; docs/database.md tells how to return to"
        " it.",
    ]
    assert await upgrade_database(older, tmp_path, progress=said.append) == []
    assert len(said) == 2


async def test_only_one_of_many_processes_upgrades(older: Database, tmp_path: Path) -> None:
    said: list[str] = []
    ran = await asyncio.gather(
        *(upgrade_database(older, tmp_path, progress=said.append) for _ in range(3))
    )
    assert sorted(ran) == [[], [], ["9000 since"]]
    assert len(said) == 2


async def test_upgrade_keeps_only_the_newest_backups(older: Database, tmp_path: Path) -> None:
    """The newest: who has returned to an older version upgrades from a lower number again."""
    for version in range(95, 99):
        (tmp_path / file_of(version)).touch()
        os.utime(tmp_path / file_of(version), (version, version))
    (tmp_path / "presagio.dump").touch()
    await upgrade_database(older, tmp_path, progress=lambda _: None)
    assert kept(tmp_path) == [NEWEST, file_of(97), file_of(98), "presagio.dump"]


async def test_a_large_database_is_upgraded_without_a_backup(
    older: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LARGEST", 1_000_000)
    said: list[str] = []
    assert await upgrade_database(older, tmp_path, progress=said.append) == ["9000 since"]
    assert "no way back to the older version" in said[1]
    assert kept(tmp_path) == []


async def test_upgrade_changes_nothing_if_the_backup_cannot_be_written(
    older: Database, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        await upgrade_database(older, tmp_path / "gone", progress=lambda _: None)
    assert await fetch_value(older, "SELECT to_regclass('since')") is None


async def test_a_new_database_is_not_backed_up(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    await execute(database_url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    said: list[str] = []
    assert await upgrade_database(database, tmp_path, progress=said.append)
    assert (said, kept(tmp_path)) == ([], [])
