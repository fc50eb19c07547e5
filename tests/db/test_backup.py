"""Backups of one database go into another, whole or not at all."""

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from db.backup import back_up_database, build_environment, dump_tables, restore_database, run_client
from db.corpus.corpora import Corpora
from db.migrate import Migration, list_migrations
from db.search.embeddings import Embeddings
from engine.errors import InputError, StorageError, UsageError
from engine.values import Kind
from tests.database import execute, fetch, pool_on
from tests.db.loading import assert_exact, document, load
from tests.db.vectors import can_keep_vectors

# What is in the database and belongs to no extension.
HOLDS = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
 WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
   AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype = 'e')
"""
# Those of other databases are restoring there.
ROLES = """
SELECT count(*) FROM pg_database
 WHERE datname = current_database() AND datacl::text LIKE '%presagio_restore%'
"""


async def back_up(url: str, folder: Path) -> Path:
    file = folder / "presagio.dump"
    async with pool_on(url) as database:
        await back_up_database(database, file, progress=lambda _: None)
    return file


async def restore(url: str, file: Path) -> dict[str, int]:
    async with pool_on(url) as database:
        return await restore_database(database, file, progress=lambda _: None)


async def fetch_value(url: str, query: str) -> Any:
    return (await fetch(url, query))[0][0]


async def dump_script(url: str) -> list[str]:
    """Return what pg_dump writes of a database, but for the times of its migrations.

    Conditions of triggers get other parentheses when they are read again.
    """
    options = ("--restrict-key=same", "--exclude-table-data=migration", "--no-comments")
    within = build_environment(url)
    script = await run_client("pg_dump", *options, within=within)
    return re.sub(r"[()]", "", script).splitlines()


async def fill(url: str) -> None:
    async with pool_on(url) as database:
        await load(database, "lib", [document("1", "a ship and a canal")], kind=Kind.LIBRARY)
        await load(database, "kept", [document("1", "a ship\n\\.\nand a canal")])
        await execute(url, "SELECT setval('document_id_seq', 77)")
        if await can_keep_vectors(database):
            await Embeddings(database).prepare("words", 16)


async def damage(url: str) -> None:
    """Lose a document as damage of a file does, which no trigger notices."""
    lose = "SET session_replication_role = replica; DELETE FROM document WHERE text LIKE '%\\.%'"
    await execute(url, lose)


async def test_a_restored_database_is_the_one_that_was_backed_up(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    await fill(database_url)
    file = await back_up(database_url, tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert await restore(empty_url, file) == {"kept": 1, "lib": 1}
    assert await dump_script(empty_url) == await dump_script(database_url)
    assert await fetch_value(empty_url, ROLES) == 0
    async with pool_on(empty_url) as database:
        corpus = await load(database, "lib", [document("2", "another ship")], kind=Kind.LIBRARY)
        await assert_exact(database, corpus)


async def test_a_backup_of_an_older_version_is_brought_up_to_date(
    database_url: str, empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(database_url)
    file = await back_up(database_url, tmp_path)
    since = "ALTER TABLE corpus ADD shown text; UPDATE corpus SET shown = upper(name)"
    newer = [*list_migrations(), Migration(9000, "since", since)]
    monkeypatch.setattr("db.migrate.list_migrations", lambda: newer)
    await restore(empty_url, file)
    assert await fetch_value(empty_url, "SELECT max(shown) FROM corpus") == "LIB"


@pytest.mark.parametrize("there", ["CREATE TABLE theirs ()", "CREATE SEQUENCE theirs"])
async def test_a_database_that_is_not_empty_is_left_as_it_is(
    database_url: str, empty_url: str, tmp_path: Path, there: str
) -> None:
    file = await back_up(database_url, tmp_path)
    await execute(empty_url, there)
    for url in (empty_url, database_url):
        before = await fetch_value(url, HOLDS)
        with pytest.raises(UsageError, match="not empty"):
            await restore(url, file)
        assert await fetch_value(url, HOLDS) == before


async def test_a_file_that_cannot_be_restored_changes_nothing(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    await fill(database_url)
    file = await back_up(database_url, tmp_path)
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(StorageError, match="pg_restore failed: could not read from input file"):
        await restore(empty_url, file)
    file.write_text("no archive, whatever it is called")
    with pytest.raises(StorageError, match=r"pg_restore failed: input file .* valid archive"):
        await restore(empty_url, file)
    async with pool_on(empty_url) as database:
        await dump_tables(database, file, lambda _: None)
    with pytest.raises(InputError, match="holds no tables of presagio"):
        await restore(empty_url, file)
    assert await fetch_value(empty_url, HOLDS) == 0
    assert await fetch_value(empty_url, ROLES) == 0


async def test_a_backup_that_fails_leaves_the_one_before(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "presagio.dump"
    file.write_text("the one before")
    async with pool_on(database_url) as database:
        with pytest.raises(StorageError, match="pg_dump failed"):
            database.url = "postgresql://127.0.0.1:1/x"
            await back_up_database(database, file, progress=lambda _: None)
        database.url = database_url
        gone = tmp_path / "gone" / "file"
        with pytest.raises(InputError, match="cannot be written: No such file or directory"):
            await back_up_database(database, gone, progress=lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_text() == "the one before"


async def test_a_backup_that_is_cancelled_leaves_no_file(database_url: str, tmp_path: Path) -> None:
    """As by Ctrl-C."""
    async with pool_on(database_url) as database, database.transaction() as connection:
        await connection.execute("LOCK TABLE chat")  # which pg_dump waits for
        said = asyncio.Event()
        backup = asyncio.create_task(
            back_up_database(database, tmp_path / "file", progress=lambda _: said.set())
        )
        await said.wait()
        assert len([*tmp_path.iterdir()]) == 1
        backup.cancel()
        with pytest.raises(asyncio.CancelledError):
            await backup
    assert [*tmp_path.iterdir()] == []


async def test_a_damaged_table_is_not_backed_up(database_url: str, tmp_path: Path) -> None:
    await fill(database_url)
    await damage(database_url)
    with pytest.raises(StorageError, match=r"kept has 0 documents in place of 1\..* damaged"):
        await back_up(database_url, tmp_path)
    assert [*tmp_path.iterdir()] == []


async def test_a_restore_counts_the_documents_of_a_damaged_table(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    """Of a backup that pg_dump or an older version has made."""
    await fill(database_url)
    await damage(database_url)
    file = tmp_path / "file"
    async with pool_on(database_url) as database:
        await dump_tables(database, file, lambda _: None)
    with pytest.raises(StorageError, match="kept has 0 documents in place of 1"):
        await restore(empty_url, file)


async def test_statements_of_a_backup_run_as_a_role_that_is_no_superuser(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    body = "BEGIN COPY (SELECT 1) TO PROGRAM 'cat'; RETURN true; END"
    evil = f"CREATE FUNCTION evil() RETURNS boolean LANGUAGE plpgsql AS $$ {body} $$"
    await fill(database_url)
    await execute(database_url, evil, "ALTER TABLE corpus ADD CONSTRAINT evil CHECK (evil())")
    file = await back_up(database_url, tmp_path)
    with pytest.raises(StorageError, match="to COPY to or from an external program"):
        await restore(empty_url, file)
    assert await fetch_value(empty_url, HOLDS) == 0
    assert await fetch_value(empty_url, ROLES) == 0


async def test_a_role_without_rights_of_a_superuser_backs_up_and_restores(
    empty_url: str, tmp_path: Path
) -> None:
    name = urlsplit(empty_url).path[1:]
    role = f"{name}_owner"
    await execute(
        empty_url,
        f'CREATE ROLE "{role}" LOGIN',
        f'ALTER DATABASE "{name}" OWNER TO "{role}"',
        f'ALTER SCHEMA public OWNER TO "{role}"',
    )
    try:
        parts = urlsplit(empty_url)
        url = urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}"))
        async with pool_on(url) as database:
            await database.migrate()
            await load(database, "kept", [document("1", "a ship")])
        file = await back_up(url, tmp_path)
        await execute(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        assert await restore(url, file) == {"kept": 1}
        owner = "SELECT relowner::regrole::text FROM pg_class WHERE relname = 'corpus'"
        assert await fetch_value(url, owner) in {role, f'"{role}"'}
    finally:
        await execute(
            empty_url,
            f'ALTER DATABASE "{name}" OWNER TO CURRENT_USER',
            f'REASSIGN OWNED BY "{role}" TO CURRENT_USER',
            f'DROP OWNED BY "{role}"',
            f'DROP ROLE "{role}"',
        )


async def test_corpora_on_workers_are_restored_into_the_database(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    """On a coordinator of Citus their tables stand by themselves, beside an empty partition."""
    await fill(database_url)
    async with pool_on(database_url) as database:
        number = (await Corpora(database).get("lib")).id
    await execute(
        database_url,
        f"ALTER TABLE document DETACH PARTITION document_{number}",
        f"CREATE TABLE staged_{number} PARTITION OF document FOR VALUES IN ({number})",
        f"UPDATE corpus SET placed_postings = true, postings_to = NULL WHERE id = {number}",
    )
    assert await restore(empty_url, await back_up(database_url, tmp_path)) == {"kept": 1, "lib": 1}
    async with pool_on(empty_url) as database:
        corpus = await load(database, "lib", [document("2", "another ship")], kind=Kind.LIBRARY)
        assert (corpus.documents, corpus.postings, corpus.placed) == (2, True, False)
        await assert_exact(database, corpus)
    assert await fetch_value(empty_url, f"SELECT to_regclass('staged_{number}')") is None
