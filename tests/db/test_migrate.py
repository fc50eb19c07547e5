"""Migrations: numbered, forward-only, run once however many processes start."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from db import migrate as module
from db.corpus.corpora import Corpora
from db.migrate import Migration, available, check, migrate, pending
from db.pool import Database, PoolSettings
from engine.errors import StorageError, StorageOutdated, StorageRights
from engine.values import Kind
from tests.database import execute, until_blocked, wait_for, with_database
from tests.db.loading import assert_exact, load_texts
from tests.patience import PATIENCE, movable_time

ALL = [f"{migration.version:04} {migration.name}" for migration in available()]
_ROOT = Path(__file__).parents[2]


@pytest.fixture
def empty_url(server_url: str, database_url: str) -> Iterator[str]:
    """A database without tables."""
    name = f"{database_url.partition('?')[0].rpartition('/')[2]}_empty"
    wait_for(execute(server_url, f'CREATE DATABASE "{name}" TEMPLATE template0'))
    yield with_database(server_url, name)
    wait_for(execute(server_url, f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[Database]:
    database = await Database.open(empty_url)
    yield database
    await database.close()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.version for migration in available()] == list(range(1, len(ALL) + 1))


async def test_an_empty_database_lacks_everything(empty: Database) -> None:
    async with empty.connection() as connection:
        assert await check(connection) == available()
        # Looking changes nothing.
        assert await connection.fetchval("SELECT to_regclass('migration')") is None
    with pytest.raises(StorageOutdated, match="presagio init"):
        await empty.require_current()


async def test_it_says_what_ran_and_a_second_run_does_nothing(empty: Database) -> None:
    assert await empty.migrate() == ALL
    assert await empty.migrate() == []
    await empty.require_current()


async def test_what_is_stored_survives_a_second_run(database: Database) -> None:
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


async def test_four_processes_run_each_migration_once_and_all_find_the_tables(
    empty_url: str,
) -> None:
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


async def test_it_waits_for_another_longer_than_a_query_may_take(empty_url: str) -> None:
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
    monkeypatch.setattr(module, "available", lambda: [*available(), broken])
    with pytest.raises(StorageError, match="division by zero"):
        await empty.migrate()
    monkeypatch.undo()
    async with empty.connection() as connection:
        assert await connection.fetchval("SELECT to_regclass('half')") is None
        assert await connection.fetchval("SELECT count(*) FROM migration") == len(ALL)
    assert await asyncio.wait_for(empty.migrate(), PATIENCE) == []


async def test_an_edited_migration_is_noticed(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("UPDATE migration SET checksum = 'other' WHERE version = 1")
    with pytest.raises(StorageOutdated, match="Migration 1 differs"):
        await database.migrate()
    with pytest.raises(StorageOutdated, match="Migration 1 differs"):
        await database.require_current()


async def test_a_database_of_a_newer_version_is_left_alone(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO migration (version, name, checksum) VALUES (9999, 'future', 'x')"
        )
    with pytest.raises(StorageOutdated, match="newer version"):
        await database.migrate()
    with pytest.raises(StorageOutdated, match="newer version"):
        await database.require_current()


async def test_a_database_that_lacks_the_last_migration_is_brought_up_to_date(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available", lambda: available()[:1])
    assert await empty.migrate() == ALL[:1]
    monkeypatch.undo()
    with pytest.raises(StorageOutdated):
        await empty.require_current()
    assert await empty.migrate() == ALL[1:]


async def test_a_database_that_cannot_hold_all_texts_is_refused(
    empty_url: str, server_url: str
) -> None:
    name = empty_url.partition("?")[0].rpartition("/")[2] + "_latin"
    create = f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'"
    await execute(server_url, create)
    try:
        database = await Database.open(with_database(empty_url, name))
        with pytest.raises(StorageError, match="in LATIN1") as refused:
            await database.migrate()
        await database.close()
    finally:
        await execute(server_url, f'DROP DATABASE "{name}"')
    assert "--encoding=UTF8" in str(refused.value.fix)


async def test_a_role_that_may_not_create_is_told_so(
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


def test_pending_of_nothing_applied_is_everything() -> None:
    known = [Migration(1, "a", "x"), Migration(2, "b", "y")]
    assert pending(known, {}) == known
    assert pending(known, {1: known[0].checksum}) == known[1:]
    assert pending(known, {m.version: m.checksum for m in known}) == []
    assert pending([], {}) == []


def test_a_migration_left_out_in_the_middle_still_runs() -> None:
    known = [Migration(1, "a", "x"), Migration(2, "b", "y")]
    assert pending(known, {2: known[1].checksum}) == known[:1]


async def test_scales_of_few_documents_are_forgotten(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available", lambda: available()[:11])
    await empty.migrate()
    monkeypatch.undo()
    async with empty.connection() as connection:
        for name, documents in (("essay", 1), ("tweets", 50)):
            await connection.execute(
                "WITH c AS (INSERT INTO corpus (name, kind, language)"
                " VALUES ($1, 'tweets', 'simple') RETURNING id),"
                " m AS (INSERT INTO embedding_model (name, dimensions) VALUES ($1, 2) RETURNING id)"
                " INSERT INTO embedding_scale SELECT m.id, c.id, $2, 0, 0, 1 FROM c, m",
                name,
                documents,
            )
    await empty.migrate()
    async with empty.connection() as connection:
        kept = await connection.fetch("SELECT documents FROM embedding_scale")
    assert [row["documents"] for row in kept] == [50]


async def test_of_what_was_stored_before_there_were_platforms_x_has_what_it_can_have_numbered(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available", lambda: available()[:5])
    await empty.migrate()
    monkeypatch.undo()
    numbered = {  # id and moment of each text -> whether X can have given it that id
        ("1698308935", "2009-05-04 18:54:25Z"): True,
        ("1698308936", "2003-05-04 18:54:25Z"): False,  # there was no X
        ("12", "2014-05-04 18:54:25Z"): False,
        ("664093435333636096", "2015-11-10 14:59:27Z"): True,
        ("664093435333636097", "2015-11-10 02:59:27Z"): True,  # an archive without AM and PM
        ("664093435333636098", "2015-11-12 14:59:27Z"): False,
        ("diary-3", "2009-05-04 18:54:25Z"): False,
    }
    ids = {}
    async with empty.connection() as connection:
        for kind in (Kind.TWEETS, Kind.SOCIAL):
            corpus = await connection.fetchval(
                "INSERT INTO corpus (name, kind, language, url_template)"
                " VALUES ($1, $1, 'simple', $2) RETURNING id",
                kind.value,
                "https://x.com/{author}/status/{id}" if kind is Kind.TWEETS else "https://a.test/",
            )
            await connection.execute(
                f"CREATE TABLE document_{corpus} PARTITION OF document FOR VALUES IN ({corpus})"
            )
            ids[corpus] = kind
            for number, (external_id, moment) in enumerate(numbered):
                await connection.execute(
                    "INSERT INTO document (corpus_id, created_at, digest, external_id, language,"
                    " text, search_text)"
                    f" VALUES ($1, '{moment}', $2, $3, 'simple', 'storm', 'storm')",
                    corpus,
                    number,
                    external_id,
                )
    await empty.migrate()
    async with empty.connection() as connection:
        rows = await connection.fetch(
            "SELECT corpus_id, platform, tsv::text AS t FROM document ORDER BY corpus_id, digest"
        )
    of_x = [row["platform"] == "x" for row in rows if ids[row["corpus_id"]] is Kind.TWEETS]
    assert of_x == list(numbered.values())
    assert {row["platform"] for row in rows if ids[row["corpus_id"]] is Kind.SOCIAL} == {None}
    assert {row["t"] for row in rows} == {"'storm':1"}
    await assert_exact(empty, await Corpora(empty).get("social"))
    await assert_exact(empty, tweets := await Corpora(empty).get("tweets"))
    assert tweets.url_template is None
    assert (await Corpora(empty).get("social")).url_template == "https://a.test/"


_PRIVATE_AND_SHARED = """
INSERT INTO chat (platform, external_id, private) VALUES ('test', '1', true);
INSERT INTO feed (url, configured_url, etag, next_poll_at, created_at) VALUES
    ('https://a.test/', 'https://a.test/', '1', now(), now()),
    ('https://b.test/?token=b', NULL, '1', now(), now());
INSERT INTO chat_feed (chat_id, feed_id, added_at) SELECT chat.id, 2, now() FROM chat;
INSERT INTO story (title, text, link, words, published, first_seen_at) VALUES
    ('Both', 'Both', 'https://b.test/1?token=b', '{both}', now(), now()),
    ('Shared', 'Shared', NULL, '{shared}', now(), now());
INSERT INTO headline (feed_id, story_id, title, link, identity_hash, words_hash, published,
                      seen_at, last_seen_at)
SELECT feed, story, title, link, sha256(identity::bytea), sha256(identity::bytea), now(), now(),
       now()
  FROM (VALUES (2, 1, 'Both', 'https://b.test/1?token=b', '1'),
               (1, 1, 'Both!', 'https://a.test/1', '2'),
               (1, 2, 'Shared', NULL, 'urn:3'),
               (2, NULL, 'Private', NULL, 'urn:4')) said (feed, story, title, link, identity);
"""


async def test_what_chats_added_for_themselves_leaves_the_news_of_everybody(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = [migration for migration in available() if migration.version < 13]
    monkeypatch.setattr(module, "available", lambda: until)
    await empty.migrate()
    monkeypatch.undo()
    shown = ("https://b.test/1?token=b", "https://a.test/1", "urn:3", "urn:4", "urn:of-no-feed")
    async with empty.connection() as connection:
        news = await connection.fetchval(
            "INSERT INTO corpus (name, kind, language) VALUES ('news', 'published', 'simple')"
            " RETURNING id"
        )
        await connection.execute(
            f"CREATE TABLE document_{news} PARTITION OF document FOR VALUES IN ({news})"
        )
        await connection.execute(_PRIVATE_AND_SHARED)
        await connection.executemany(
            "INSERT INTO document (corpus_id, created_at, digest, external_id, language, text,"
            " search_text) VALUES ($1, now(), 1, $2, 'simple', 'storm', 'storm')",
            [(news, name) for name in shown],
        )
    await empty.migrate()
    async with empty.connection() as connection:
        kept = await connection.fetch("SELECT external_id FROM document ORDER BY 1")
        stories = await connection.fetch("SELECT title, feed_id FROM story ORDER BY id")
        told = await connection.fetch("SELECT feed_id, story_id FROM headline ORDER BY id")
        tags = await connection.fetch("SELECT etag FROM feed ORDER BY id")
    assert [row["external_id"] for row in kept] == ["https://a.test/1", "urn:3"]
    assert [tuple(row) for row in stories] == [("Both", 2), ("Shared", 1)]
    assert [tuple(row) for row in told] == [(2, 1), (1, None), (1, 2), (2, None)]
    assert [row["etag"] for row in tags] == [None, "1"]
    await assert_exact(empty, await Corpora(empty).get("news"))


async def test_corpora_that_the_program_made_get_their_roles(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = [migration for migration in available() if migration.version < 15]
    monkeypatch.setattr(module, "available", lambda: until)
    await empty.migrate()
    monkeypatch.undo()
    async with empty.connection() as connection:
        await connection.executemany(
            "INSERT INTO corpus (name, kind, language) VALUES ($1, $2, 'simple')",
            [("demo", "tweets"), ("mine", "tweets"), ("news", "published")],
        )
    await empty.migrate()
    roles = {one.name: one.role.value for one in await Corpora(empty).list()}
    assert roles == {"demo": "demonstration", "mine": "archive", "news": "news"}


async def test_few_texts_without_spaces_are_read_again_at_once(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = [one for one in available() if one.name != "original_designs"]
    monkeypatch.setattr(module, "available", lambda: older)
    await empty.migrate()
    monkeypatch.undo()
    async with empty.connection() as connection:
        for name, texts in {"few": 1, "many": 1001, "none": 0}.items():
            corpus = await connection.fetchval(
                "INSERT INTO corpus (name, kind, language) VALUES ($1, 'tweets', 'simple')"
                " RETURNING id",
                name,
            )
            await connection.execute(
                f"CREATE TABLE document_{corpus} PARTITION OF document FOR VALUES IN ({corpus})"
            )
            await connection.execute(
                "INSERT INTO document"
                " (corpus_id, created_at, digest, external_id, language, text, search_text)"
                " SELECT $1, now(), 1, n, 'simple', t, t FROM (SELECT n::text,"
                "   CASE WHEN n <= $2 THEN '여자는' ELSE 'storm' END AS t"
                "   FROM generate_series(1, $2::integer + 1) AS n) AS texts",
                corpus,
                texts,
            )
    await empty.migrate()
    corpora = {one.name: one for one in await Corpora(empty).list()}
    assert {name: one.is_outdated for name, one in corpora.items()} == {
        "few": False, "many": True, "none": False
    }  # fmt: skip
    async with empty.connection() as connection:
        read = await connection.fetchval(
            "SELECT tsv::text FROM document WHERE corpus_id = $1 AND external_id = '1'",
            corpora["few"].id,
        )
    assert read == "'는':5 '여':1 '여자':2 '자':3 '자는':4"
    await assert_exact(empty, corpora["few"])
