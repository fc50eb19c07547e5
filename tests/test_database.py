"""The databases that tests are given."""

import os
import re
import time
from pathlib import Path

import asyncpg
import pytest

from tests.behind_pooler import NOT_BEHIND
from tests.database import KEEPER, Clones, drop_stale, execute, fetch
from tests.scenarios.stage import load_tweets

ROOT = Path(__file__).resolve().parents[1]


async def names(url: str) -> set[str]:
    return {row["datname"] for row in await fetch(url, "SELECT datname FROM pg_database")}


async def test_a_database_is_handed_on_as_good_as_new(server_url: str, _clones: Clones) -> None:
    async def seen(url: str) -> list[list[tuple[object, ...]]]:
        queries = (
            "SELECT * FROM migration ORDER BY version",
            "SELECT * FROM glossary_version",
            "SELECT * FROM search_log_key",
            "SELECT external_id FROM document UNION SELECT name FROM corpus ORDER BY 1",
            "SELECT relname::text FROM pg_class WHERE relname LIKE 'document%' ORDER BY 1",
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            f" AND application_name <> '{KEEPER}'",
            "SELECT sequencename::text FROM pg_sequences WHERE last_value IS NOT NULL ORDER BY 1",
            "SELECT relname, reltuples FROM pg_class"
            " WHERE relname IN ('migration', 'migration_pkey', 'document') ORDER BY 1",
            "SELECT attname FROM pg_stats WHERE schemaname = 'public' ORDER BY 1",
        )
        return [[tuple(row) for row in await fetch(url, query)] for query in queries]

    with _clones.clone() as new:
        fresh = await seen(new)
    with _clones.lend() as first:
        await load_tweets(first, ("Rain tomorrow.",))
        await execute(
            first,
            "UPDATE glossary_version SET version = 7",
            "DELETE FROM search_log_key",
            "CREATE TABLE extra AS SELECT 1 AS one",
            "ANALYZE migration",
        )
        stays = await asyncpg.connect(first)
    with _clones.lend() as second:
        assert second == first
        assert await seen(second) == fresh
    stays.terminate()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE chat ADD COLUMN mine int",
        "ALTER TABLE chat DISABLE TRIGGER ALL",
        "DROP TABLE vote",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION document_index() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN END'",
        'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false',
        "GRANT SELECT ON chat TO PUBLIC",
    ],
)
async def test_a_database_that_is_not_as_good_as_new_is_not_handed_on(
    change: str, server_url: str, _clones: Clones
) -> None:
    with _clones.lend() as changed:
        name = changed.partition("?")[0].rpartition("/")[2]
        url = server_url if change.startswith("ALTER DATABASE") else changed
        await execute(url, change.format(name=name))
    assert name not in await names(server_url)


async def test_databases_of_dead_runs_go_after_a_day(server_url: str) -> None:
    now = int(time.time())
    stale = f"presagio_test_{now - 90_000}_x_{os.getpid()}"
    young = f"presagio_test_{now - 60}_x_{os.getpid()}"
    await execute(server_url, f'CREATE DATABASE "{stale}"', f'CREATE DATABASE "{young}"')
    try:
        await drop_stale(server_url)
        left = await names(server_url)
        assert young in left
        assert stale not in left
    finally:
        await execute(server_url, f'DROP DATABASE "{young}"')


def test_tests_see_no_setting_of_whoever_runs_them(run_folder: Path) -> None:
    assert Path.home().parent == run_folder
    ours = {name for name in os.environ if name.startswith("PRESAGIO_")}
    assert ours == {"PRESAGIO_DATA_DIR", "PRESAGIO_EMBEDDINGS__BACKEND"}
    assert Path(os.environ["PRESAGIO_DATA_DIR"]).is_relative_to(run_folder)


@pytest.mark.parametrize("named", NOT_BEHIND)
def test_what_does_not_run_behind_a_pooler_exists(named: str) -> None:
    module, _, name = named.partition("::")
    source = (ROOT / module).read_text(encoding="utf-8")
    assert not name or re.search(rf"^(async def|def|class) {name}\b", source, re.MULTILINE)
