"""Backups of one database go into another, whole or not at all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from db.backup import restore as module
from db.backup.dump import dump
from db.backup.programs import _failure
from db.backup.restore import check_backup, holds_something, is_set_up, others_work, restore
from db.pool import Database, PoolSettings
from engine.errors import InputError, StorageError, StorageOutdated, StorageUnreachable
from engine.types import Kind
from tests.database import Clones, execute
from tests.db.loading import assert_exact, document, load

CORPUS = "INSERT INTO corpus (name, kind, language) VALUES ('kept', 'tweets', 'english')"
# What is in the schema and belongs to no extension.
REMAINING = """
SELECT class.name || ' ' || pg_catalog.pg_describe_object(class.oid, thing.oid, 0)
  FROM (SELECT 'pg_class'::regclass, 'relation', c.oid, relnamespace FROM pg_class c
         WHERE relkind <> 'i' AND relkind <> 't' AND relkind <> 'I'
        UNION ALL SELECT 'pg_proc'::regclass, 'function', oid, pronamespace FROM pg_proc
        UNION ALL SELECT 'pg_ts_config'::regclass, 'configuration', oid, cfgnamespace
          FROM pg_ts_config
        UNION ALL SELECT 'pg_ts_dict'::regclass, 'dictionary', oid, dictnamespace FROM pg_ts_dict
        UNION ALL SELECT 'pg_type'::regclass, 'type', oid, typnamespace FROM pg_type
         WHERE typtype IN ('e', 'd')
       ) AS thing (class, name, oid, namespace),
       LATERAL (SELECT thing.class AS oid, thing.name) AS class
 WHERE namespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = thing.class AND d.objid = thing.oid
                      AND d.deptype = 'e')
"""


@pytest.fixture
def other_url(_clones: Clones) -> Iterator[str]:
    """Another fresh database with all tables."""
    with _clones.clone() as url:
        yield url


def ignore(_: int) -> None:
    """Take the progress."""


async def value(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def backed_up(url: str, folder: Path) -> Path:
    file = folder / "presagio.dump"
    assert await dump(url, file, progress=ignore) == file.stat().st_size
    return file


async def test_a_backup_replaces_what_is_there(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    await execute(database_url, CORPUS)
    file = await backed_up(database_url, tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    await execute(other_url, CORPUS.replace("kept", "lost"), "CREATE TABLE document_7 ()")
    await check_backup(file, other_url)
    sent: list[int] = []
    await restore(other_url, file, progress=sent.append)
    assert await value(other_url, "SELECT array_agg(name) FROM corpus") == ["kept"]
    assert await value(other_url, "SELECT to_regclass('document_7')") is None
    assert await value(other_url, "SELECT count(*) FROM pg_stats WHERE tablename = 'migration'")
    assert sent == sorted(sent)
    assert sent[-1] > 10_000


async def test_a_library_keeps_its_postings(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    before = await Database.open(database_url)
    await load(before, "lib", [document("1", "a ship and a canal")], kind=Kind.LIBRARY)
    await before.close()
    await execute(other_url, "CREATE TABLE postings_7 ()")
    await restore(other_url, await backed_up(database_url, tmp_path), progress=ignore)
    assert await value(other_url, "SELECT to_regclass('postings_7')") is None
    after = await Database.open(other_url)
    corpus = await load(after, "lib", [document("2", "another ship")], kind=Kind.LIBRARY)
    await assert_exact(after, corpus)
    await after.close()
    assert await value(other_url, f"SELECT count(*) FROM postings_{corpus.id}") == 4 + 2


async def test_nothing_of_presagio_s_remains_when_it_is_cleared(database_url: str) -> None:
    await execute(
        database_url,
        CORPUS,
        "CREATE TABLE embedding_1 ()",
        "CREATE TABLE postings_1 ()",
        module._clearing(),
    )
    connection = await asyncpg.connect(database_url)
    assert [row[0] for row in await connection.fetch(REMAINING)] == []
    await connection.close()


async def test_what_is_cut_off_changes_nothing(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    await execute(other_url, CORPUS)
    file = await backed_up(database_url, tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(StorageError, match="pg_restore failed"):
        await restore(other_url, file, progress=ignore)
    assert await value(other_url, "SELECT name FROM corpus") == "kept"


async def test_what_hangs_on_the_tables_is_not_dropped(database_url: str, tmp_path: Path) -> None:
    file = await backed_up(database_url, tmp_path)
    await execute(database_url, "CREATE VIEW theirs AS SELECT name FROM corpus", CORPUS)
    with pytest.raises(
        StorageError, match=r"psql failed: view theirs depends on .* not presagio's"
    ):
        await restore(database_url, file, progress=ignore)
    assert await value(database_url, "SELECT name FROM theirs") == "kept"


async def test_tables_of_others_stay(database_url: str, tmp_path: Path) -> None:
    file = await backed_up(database_url, tmp_path)
    await execute(database_url, "CREATE TABLE theirs AS SELECT 42 AS number")
    await restore(database_url, file, progress=ignore)
    assert await value(database_url, "SELECT number FROM theirs") == 42


async def test_only_backups_of_presagio_are_taken(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    text = tmp_path / "text.dump"
    text.write_text("PGDM")
    with pytest.raises(InputError, match="is no backup that can be read: pg_restore failed"):
        await check_backup(text, database_url)
    await execute(other_url, module._clearing())
    with pytest.raises(InputError, match="something else"):
        await check_backup(await backed_up(other_url, tmp_path), database_url)
    await execute(database_url, "INSERT INTO migration VALUES (9999, 'x', repeat('a', 64))")
    with pytest.raises(StorageOutdated, match="newer version"):
        await check_backup(await backed_up(database_url, tmp_path), database_url)


async def test_a_database_tells_what_it_holds_and_who_works_in_it(database_url: str) -> None:
    alone = PoolSettings(size=1)
    database = await Database.open(database_url, alone)
    assert await is_set_up(database)
    assert not await holds_something(database)
    await execute(database_url, CORPUS)
    assert await holds_something(database)
    assert not await others_work(database)
    other = await Database.open(database_url, alone)
    assert await others_work(database)
    await other.close()
    await execute(database_url, module._clearing())
    assert not await holds_something(database)
    assert not await is_set_up(database)
    await database.close()


async def test_a_backup_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "presagio.dump"
    file.write_text("the one before")
    with pytest.raises(StorageError, match="pg_dump failed"):
        await dump("postgresql://127.0.0.1:1/x", file, progress=ignore)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_text() == "the one before"


async def test_programs_come_from_path_where_there_is_no_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.embedded.binaries.importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "file"
    with pytest.raises(StorageUnreachable, match="pg_dump is not installed"):
        await dump("postgresql:///x", file, progress=ignore)
    program = tmp_path / "pg_dump"
    program.write_text(
        "#!/bin/sh\necho 'pg_dump: error: aborting: server version mismatch' >&2\nexit 1"
    )
    program.chmod(0o755)
    with pytest.raises(StorageUnreachable, match="client programs of the server's version"):
        await dump("postgresql:///x", file, progress=ignore)
    assert list(tmp_path.iterdir()) == [program]


async def test_languages_that_an_older_server_lacks_are_left_out(
    database_url: str, other_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await Database.open(database_url)
    await load(before, "kept", [document("1", "a ship and a canal")])
    await before.close()
    file = await backed_up(database_url, tmp_path)
    known = await module._languages(other_url)

    async def older(_: str) -> frozenset[str]:
        return known - {"swedish"}

    assert await restore(other_url, file, progress=ignore) == frozenset()
    monkeypatch.setattr(module, "_languages", older)
    assert await restore(other_url, file, progress=ignore) == {"swedish"}
    left = "SELECT count(*) FROM pg_ts_config WHERE cfgname = $$presagio_{}$$"
    assert await value(other_url, left.format("swedish")) == 0
    assert await value(other_url, left.format("spanish")) == 1
    assert await value(other_url, "SELECT count(*) FROM document") == 1


def test_vectors_need_their_extension() -> None:
    said = 'psql:<stdin>:20: ERROR:  extension "vector" is not available\nDETAIL:  Could not open'
    assert "install pgvector" in str(_failure("psql", said))
