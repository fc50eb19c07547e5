"""Migrations: numbered, forward-only, run once however many processes start."""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import asyncpg
import pytest

from db import migrate as module
from db.chat.answers import Answers, prophecy_to_json
from db.chat.chats import Chats
from db.connection import Connection
from db.corpus.corpora import Corpora, create_partition
from db.migrate import Migration, check_migrations, list_migrations, migrate, select_pending
from db.pool import Database, PoolSettings
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.chat import Tally
from engine.errors import StorageError, StorageOutdated, StorageRights
from engine.search import HitKind
from tests.bot.prophecies import make_hit, make_prophecy
from tests.database import execute, fetch_rows, pool_on, run_sql, until_blocked, with_database
from tests.db.loading import assert_exact, load_texts
from tests.db.news import NOW
from tests.patience import PATIENCE, movable_time

ALL = [f"{migration.version:04} {migration.name}" for migration in list_migrations()]
_ROOT = Path(__file__).parents[2]


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[Database]:
    async with pool_on(empty_url) as database:
        yield database


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.version for migration in list_migrations()] == list(range(1, len(ALL) + 1))


async def test_an_empty_database_needs_every_migration(empty: Database) -> None:
    async with empty.connection() as connection:
        assert await check_migrations(connection) == list_migrations()
        # Looking changes nothing.
        assert await connection.fetchval("SELECT to_regclass('migration')") is None
    with pytest.raises(StorageOutdated, match="presagio init"):
        await empty.require_current()


async def test_migrate_returns_what_ran_and_a_second_run_does_nothing(empty: Database) -> None:
    assert await empty.migrate() == ALL
    assert await empty.migrate() == []
    await empty.require_current()


async def test_data_survives_a_second_migrate(database: Database) -> None:
    await load_texts(database, "c", ["storm"])
    await database.migrate()
    assert (await Corpora(database).get("c")).documents == 1


_STARTER = """
import asyncio, sys
from db.pool import Database

async def main(url):
    database = await Database.open(url)
    print("ready", flush=True)
    sys.stdin.readline()
    print(len(await database.migrate()), flush=True)
    await database.require_current()
    await database.close()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
async def test_concurrent_processes_run_each_migration_once(empty_url: str) -> None:
    starters = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _STARTER, empty_url,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=_ROOT,
        )
        for _ in range(4)
    ]  # fmt: skip
    async with asyncio.timeout(PATIENCE):
        for starter in starters:
            assert starter.stdout
            assert await starter.stdout.readline() == b"ready\n"
        said = await asyncio.gather(*(starter.communicate(b"go\n") for starter in starters))
    assert [starter.returncode for starter in starters] == [0] * 4
    assert sum(int(out) for out, _ in said) == len(ALL)


async def test_waiting_for_another_migration_may_exceed_the_statement_timeout(
    empty_url: str,
) -> None:
    holder = await asyncpg.connect(empty_url)
    await holder.execute("SELECT pg_advisory_lock($1)", module.LOCK)
    database = await Database.open(
        empty_url, PoolSettings(command_timeout=PATIENCE, statement_timeout=0.5)
    )
    waiting = asyncio.create_task(database.migrate())
    await until_blocked(empty_url)
    with movable_time() as move:
        move(PATIENCE)
        await asyncio.sleep(0.6)
        assert not waiting.done()
    await holder.close()
    assert await waiting == ALL
    await database.close()


async def test_a_failing_migration_leaves_nothing_and_frees_the_lock(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Migration(len(ALL) + 1, "broken", "CREATE TABLE half (x int); SELECT 1 / 0;")
    monkeypatch.setattr(module, "list_migrations", lambda: [*list_migrations(), broken])
    with pytest.raises(StorageError, match="division by zero"):
        await empty.migrate()
    monkeypatch.undo()
    async with empty.connection() as connection:
        assert await connection.fetchval("SELECT to_regclass('half')") is None
        assert await connection.fetchval("SELECT count(*) FROM migration") == len(ALL)
    assert await asyncio.wait_for(empty.migrate(), PATIENCE) == []


async def test_an_edited_migration_is_noticed(database: Database) -> None:
    await run_sql(database, "UPDATE migration SET checksum = 'other' WHERE version = 1")
    with pytest.raises(StorageOutdated, match="Migration 1 differs"):
        await database.migrate()
    with pytest.raises(StorageOutdated, match="Migration 1 differs"):
        await database.require_current()


async def test_a_database_of_a_newer_version_is_left_alone(database: Database) -> None:
    await run_sql(
        database, "INSERT INTO migration (version, name, checksum) VALUES (9999, 'future', 'x')"
    )
    with pytest.raises(StorageOutdated, match="newer version"):
        await database.migrate()
    with pytest.raises(StorageOutdated, match="newer version"):
        await database.require_current()


async def test_a_database_that_lacks_the_last_migration_is_brought_up_to_date(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await empty.migrate() == ALL
    newer = [*list_migrations(), Migration(len(ALL) + 1, "since", "CREATE TABLE since ()")]
    monkeypatch.setattr(module, "list_migrations", lambda: newer)
    with pytest.raises(StorageOutdated, match=r"older version of presagio.*presagio init"):
        await empty.require_current()
    assert await empty.migrate() == [f"{len(ALL) + 1:04} since"]
    await empty.require_current()


async def test_a_database_with_an_unsuitable_encoding_is_refused(
    empty_url: str, server_url: str
) -> None:
    name = empty_url.partition("?")[0].rpartition("/")[2] + "_latin"
    create = f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'"
    await execute(server_url, create)
    try:
        async with pool_on(with_database(empty_url, name)) as database:
            with pytest.raises(StorageError, match="in LATIN1") as refused:
                await database.migrate()
    finally:
        await execute(server_url, f'DROP DATABASE "{name}"')
    assert "--encoding=UTF8" in str(refused.value.fix)


async def test_a_role_without_create_permission_gets_a_clear_error(
    empty: Database, empty_url: str, server_url: str
) -> None:
    name = empty_url.partition("?")[0].rpartition("/")[2]
    await execute(server_url, f'CREATE ROLE "{name}" LOGIN')
    try:
        async with empty.connection() as connection:
            await connection.execute(f'SET ROLE "{name}"')
            with pytest.raises(StorageRights, match="refused"):
                await migrate(connection)
            await connection.execute("RESET ROLE")
            assert await connection.fetchval("SELECT to_regclass('corpus')") is None
    finally:
        await execute(server_url, f'DROP ROLE "{name}"')


def test_pending_migrations_are_those_not_applied_yet_also_in_the_middle() -> None:
    known = [Migration(1, "a", "x"), Migration(2, "b", "y")]
    assert select_pending(known, {}) == known
    assert select_pending(known, {1: known[0].checksum}) == known[1:]
    assert select_pending(known, {m.version: m.checksum for m in known}) == []
    assert select_pending([], {}) == []
    assert select_pending(known, {2: known[1].checksum}) == known[:1]


async def insert(connection: Connection, table: str, **row: object) -> Any:
    """Add a row to a table as it was then; return its number, if it has one."""
    places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    number = " RETURNING id" if table in {"answer", "chat", "corpus", "item"} else ""
    statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places}){number}"
    return await connection.fetchval(statement, *row.values())


async def migrate_before(name: str, database: Database) -> None:
    """Bring a database to the tables that came before one migration."""
    older = list(takewhile(lambda each: each.name != name, list_migrations()))
    with patch.object(module, "list_migrations", lambda: older):
        async with database.connection() as connection:
            await migrate(connection)


async def test_migration_drops_file_dates_and_labels_document_dates(empty: Database) -> None:
    await migrate_before("undated", empty)
    rows = {
        "a": ("epub", '{"dated_by": "file"}'),
        "b": ("pdf", "{}"),
        "c": ("docx", "{}"),
        "d": ("html", "{}"),
    }
    texts = {"language": "simple", "text": "storm", "search_text": "storm"}
    async with empty.connection() as connection:
        number = await insert(connection, "corpus", name="lib", kind="library", language="simple")
        await create_partition(connection, number)
        for name, (platform, meta) in rows.items():
            known = {"corpus_id": number, "created_at": NOW, "digest": 1}
            item = await insert(connection, "item", external_id=name, parts=1, **known)
            part = {"external_id": f"{name}~part1", "item_id": item, "part": 1}
            given = {"platform": platform, "meta": meta}
            await insert(connection, "document", **known, **texts, **part, **given)
    await empty.migrate()
    found = await fetch_rows(
        empty,
        "SELECT i.external_id, d.created_at IS NULL, i.created_at IS NULL, d.dated_by,"
        " d.meta::text FROM document d JOIN item i ON i.id = d.item_id ORDER BY 1",
    )
    assert [tuple(row) for row in found] == [
        ("a", True, True, None, "{}"),
        ("b", False, False, "created", "{}"),
        ("c", False, False, "modified", "{}"),
        ("d", False, False, None, "{}"),
    ]
    await assert_exact(empty, await Corpora(empty).get("lib"))


async def test_migration_counts_the_texts_without_words(empty: Database) -> None:
    await migrate_before("searchable", empty)
    async with empty.connection() as connection:
        number = await insert(connection, "corpus", name="c", kind="tweets", language="simple")
        await create_partition(connection, number)
        known = {"corpus_id": number, "created_at": NOW, "digest": 1, "language": "simple"}
        for said in ("storm", "rain", ""):
            texts = {"external_id": said, "text": said, "search_text": said}
            await insert(connection, "document", **known, **texts)
    await empty.migrate()
    corpus = await Corpora(empty).get("c")
    assert (corpus.documents, corpus.searchable_documents, corpus.average_length) == (3, 2, 1.0)
    await assert_exact(empty, corpus)


async def test_migration_drops_the_votes_of_the_page_and_keeps_those_of_chats(
    empty: Database,
) -> None:
    await migrate_before("retired", empty)
    now = datetime.now(UTC)
    page, person = {"first": 0, "last": 3}, {"person": "somebody", "value": 1}
    done = {"event_id": "asked", "process": 1, "state": "done", "answered_by": "m1"}
    async with empty.connection() as connection:
        for platform in ("web", "telegram"):
            name = {"platform": platform, "external_id": "page", "private": False}
            given = {"asked_at": now, "prophecy": prophecy_to_json(make_prophecy(make_hit()))}
            chat = await insert(connection, "chat", **name)
            answer = await insert(connection, "answer", chat_id=chat, **page, **given)
            await insert(connection, "vote", answer_id=answer, rank=1, voted_at=now, **person)
            await connection.execute(
                "INSERT INTO wall_decision VALUES ($1, 1, true, now())", answer
            )
            turn = {"platform": platform, "taken_at": now, "language": "es"}
            await insert(connection, "turn", answer_id=answer, **turn, **done, **page)
        await connection.execute("INSERT INTO voting_key VALUES (current_date, 'key')")
    await empty.migrate()
    await empty.require_current()
    async with empty.connection() as connection:
        for table in ("wall_decision", "voting_key"):
            assert await connection.fetchval("SELECT to_regclass($1)", table) is None
        assert await connection.fetchval("SELECT count(*) FROM answer") == 1
    chat = await Chats(empty).find_chat("telegram", "page")
    assert chat
    (favourite,) = await Answers(empty).favourites(chat, 9)
    assert favourite.tally == Tally(up=1)
    assert await Answers(empty).about(chat, "m1", "", now=now)
    assert await Chats(empty).find_chat("web", "page") is None


async def test_migration_removes_webhooks_with_what_they_were_owed_and_templates(
    empty: Database,
) -> None:
    await migrate_before("retired", empty)
    wanted = {"mode": "instant", "since": NOW, "template": "{{ tweet }}"}
    owed = {"content": "{}", "next_attempt_at": NOW, "created_at": NOW}
    async with empty.connection() as connection:
        for platform in ("webhook", "telegram"):
            name = {"platform": platform, "external_id": "news", "private": True}
            chat = await insert(connection, "chat", **name)
            await insert(connection, "subscription", chat_id=chat, **wanted)
            await insert(connection, "delivery", key=f"story:{chat}", chat_id=chat, **owed)
    await empty.migrate()
    subscribed = await Subscriptions(empty).active()
    assert [subscription.chat.platform for subscription in subscribed] == ["telegram"]
    assert (await Outbox(empty).health(NOW)).owed == 1


async def test_migration_turns_thresholds_of_points_into_kinds(empty: Database) -> None:
    await migrate_before("threshold_kinds", empty)
    points = {"low": 3, "usual": 5, "high": 6}
    async with empty.connection() as connection:
        for name, least in points.items():
            known = {"platform": "test", "external_id": name, "private": True}
            chat = await insert(connection, "chat", threshold=least, **known)
            wanted = {"mode": "daily", "since": NOW}
            await insert(connection, "subscription", chat_id=chat, threshold=least, **wanted)
    await empty.migrate()
    subscribed = {
        each.chat.external_id: (each.chat.threshold, each.threshold)
        for each in await Subscriptions(empty).active()
    }
    kinds = {"low": HitKind.EARLIER_CASE, "usual": HitKind.MIRROR, "high": HitKind.PREDICTION}
    assert subscribed == {name: (kind, kind) for name, kind in kinds.items()}
