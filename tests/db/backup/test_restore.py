"""Backups of one database go into another, whole or not at all."""

import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from db import migrate
from db.backup import restore as module
from db.backup.backup import (
    dump_tables,
    holds_something,
    is_set_up,
    others_work,
    require_known_tables,
)
from db.backup.programs import build_environment, start_program
from db.backup.restore import check_backup, restore_into, unknown_languages
from db.migrate import Migration, list_migrations
from db.pool import Database, PoolSettings
from db.search.embeddings import Embeddings
from engine.errors import InputError, StorageError, StorageOutdated, StorageUnreachable
from engine.values import Kind
from tests.database import Clones, execute
from tests.db.loading import assert_exact, document, load
from tests.db.vectors import can_keep_vectors

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


async def bring_back(url: str, file: Path, *, known_only: bool = False) -> None:
    await restore_into(url, await check_backup(file), progress=ignore, known_only=known_only)


async def backed_up(url: str, folder: Path) -> Path:
    file = folder / "presagio.dump"
    assert await dump_tables(url, file, progress=ignore) == file.stat().st_size
    return file


async def test_restoring_a_backup_replaces_the_existing_data(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    await execute(database_url, CORPUS)
    file = await backed_up(database_url, tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    await execute(other_url, CORPUS.replace("kept", "lost"), "CREATE TABLE document_7 ()")
    sent: list[int] = []
    await restore_into(other_url, await check_backup(file), progress=sent.append)
    assert await value(other_url, "SELECT array_agg(name) FROM corpus") == ["kept"]
    assert await value(other_url, "SELECT to_regclass('document_7')") is None
    assert await value(other_url, "SELECT count(*) FROM pg_stats WHERE tablename = 'migration'")
    assert sent == sorted(sent)
    assert sent[-1] > 80


async def test_a_restored_library_keeps_its_postings(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    before = await Database.open(database_url)
    await load(before, "lib", [document("1", "a ship and a canal")], kind=Kind.LIBRARY)
    await before.close()
    await execute(other_url, "CREATE TABLE postings_7 ()")
    await bring_back(other_url, await backed_up(database_url, tmp_path))
    assert await value(other_url, "SELECT to_regclass('postings_7')") is None
    after = await Database.open(other_url)
    corpus = await load(after, "lib", [document("2", "another ship")], kind=Kind.LIBRARY)
    await assert_exact(after, corpus)
    await after.close()
    assert await value(other_url, f"SELECT count(*) FROM postings_{corpus.id}") == 4 + 2


async def test_clearing_the_database_removes_every_presagio_object(database_url: str) -> None:
    await execute(
        database_url,
        CORPUS,
        "CREATE TABLE embedding_1 ()",
        "CREATE TABLE postings_1 ()",
        module._clear_statements(),
    )
    connection = await asyncpg.connect(database_url)
    assert [row[0] for row in await connection.fetch(REMAINING)] == []
    await connection.close()


async def test_restoring_a_truncated_backup_changes_nothing(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    await execute(other_url, CORPUS)
    file = await backed_up(database_url, tmp_path)
    backup, whole = await check_backup(file), file.read_bytes()
    file.write_bytes(whole[:-1000])
    with pytest.raises(StorageError, match=r"pg_restore failed.* damaged or was cut off"):
        await restore_into(other_url, backup, progress=ignore)
    assert await value(other_url, "SELECT name FROM corpus") == "kept"


async def test_bytes_that_have_changed_are_named_as_what_they_are(
    database_url: str, other_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await execute(database_url, CORPUS)
    await execute(other_url, CORPUS)
    file = await backed_up(database_url, tmp_path)
    stream = module._Counted.count

    def change(counted: Any, rows: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        return (part.replace(b"tweets", b"\t\n") async for part in stream(counted, rows))

    monkeypatch.setattr(module._Counted, "count", change)
    with pytest.raises(InputError, match=r"presagio\.dump is damaged: .* Restore another backup"):
        await restore_into(other_url, await check_backup(file), progress=ignore)
    assert await value(other_url, "SELECT name FROM corpus") == "kept"


async def test_restore_refuses_to_drop_views_that_depend_on_its_tables(
    database_url: str, tmp_path: Path
) -> None:
    file = await backed_up(database_url, tmp_path)
    await execute(database_url, "CREATE VIEW theirs AS SELECT name FROM corpus", CORPUS)
    with pytest.raises(StorageError, match=r"view theirs depends on .* not presagio's"):
        await bring_back(database_url, file)
    assert await value(database_url, "SELECT name FROM theirs") == "kept"


async def test_restore_keeps_foreign_tables(database_url: str, tmp_path: Path) -> None:
    file = await backed_up(database_url, tmp_path)
    await execute(database_url, "CREATE TABLE theirs AS SELECT 42 AS number")
    await bring_back(database_url, file)
    assert await value(database_url, "SELECT number FROM theirs") == 42


async def test_files_that_are_no_presagio_backup_are_rejected(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    text = tmp_path / "text.dump"
    text.write_text("PGDM")
    with pytest.raises(InputError, match="is no backup that can be read: pg_restore failed"):
        await check_backup(text)
    await execute(other_url, module._clear_statements())
    with pytest.raises(InputError, match="something else"):
        await check_backup(await backed_up(other_url, tmp_path))
    await execute(database_url, "INSERT INTO migration VALUES (9999, 'x', repeat('a', 64))")
    with pytest.raises(StorageOutdated, match="newer version"):
        await check_backup(await backed_up(database_url, tmp_path))


async def test_database_summary_lists_contents_and_active_sessions(database_url: str) -> None:
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
    await execute(database_url, module._clear_statements())
    assert not await holds_something(database)
    assert not await is_set_up(database)
    await database.close()


async def test_a_backup_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "presagio.dump"
    file.write_text("the one before")
    with pytest.raises(StorageError, match="pg_dump failed"):
        await dump_tables("postgresql://127.0.0.1:1/x", file, progress=ignore)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_text() == "the one before"


async def test_programs_come_from_path_where_there_is_no_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.embedded.os_user.importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "file"
    with pytest.raises(StorageUnreachable, match="pg_dump is not installed"):
        await dump_tables("postgresql:///x", file, progress=ignore)
    program = tmp_path / "pg_dump"
    program.write_text(
        "#!/bin/sh\necho 'pg_dump: error: aborting: server version mismatch' >&2\nexit 1"
    )
    program.chmod(0o755)
    with pytest.raises(StorageUnreachable, match="client programs of the server's version"):
        await dump_tables("postgresql:///x", file, progress=ignore)
    assert list(tmp_path.iterdir()) == [program]


async def test_restore_names_languages_that_the_server_lacks(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    before = await Database.open(database_url)
    await load(before, "kept", [document("1", "a ship and a canal")])
    await before.close()
    learned = "INSERT INTO corpus_language VALUES (1, 'klingon', 1)"
    await execute(database_url, learned, "UPDATE document SET language = 'simple'")
    await bring_back(other_url, await backed_up(database_url, tmp_path))
    after = await Database.open(other_url)
    assert await unknown_languages(after) == ["klingon"]
    await after.close()


@pytest.fixture
def deeds() -> Iterator[Path]:
    """A folder in which the account of the server may leave something."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def program(deeds: Path) -> str:
    """Return a statement by which the server's account runs a command."""
    return f"COPY (SELECT 1) TO PROGRAM 'read row; : >{deeds}/ran'"


def evil_function(deeds: Path, name: str) -> str:
    body = f"BEGIN {program(deeds)}; RETURN true; END"
    return f"CREATE FUNCTION {name} RETURNS boolean LANGUAGE plpgsql AS $$ {body} $$"


def is_clean(deeds: Path) -> bool:
    """Tell whether nothing ran; forget what did."""
    ran = list(deeds.iterdir())
    for file in ran:
        file.unlink()
    return not ran


async def test_check_constraints_in_a_backup_are_not_executed(
    database_url: str, other_url: str, tmp_path: Path, deeds: Path
) -> None:
    check = "ALTER TABLE corpus ADD CONSTRAINT evil CHECK (evil())"
    await execute(database_url, CORPUS, evil_function(deeds, "evil()"), check)
    assert not is_clean(deeds), "it does run where it is not stopped"
    file = await backed_up(database_url, tmp_path)
    with pytest.raises(InputError, match=r"does not know: function evil\(\)\. Nothing was changed"):
        await bring_back(other_url, file)
    assert await value(other_url, "SELECT count(*) FROM corpus") == 0
    await bring_back(other_url, file, known_only=True)
    assert await value(other_url, "SELECT name FROM corpus") == "kept"
    assert await value(other_url, "SELECT to_regproc('evil')") is None
    assert is_clean(deeds)


async def test_functions_in_a_backup_are_never_restored(
    database_url: str, other_url: str, tmp_path: Path, deeds: Path
) -> None:
    """Neither while rows are stored, nor later: those of the same names are the program's."""
    name = "lease_holds(expires_at timestamptz, seconds float8)"
    evil = evil_function(deeds, name).replace("CREATE", "CREATE OR REPLACE")
    check = "ALTER TABLE lease ADD CHECK (lease_holds(expires_at, seconds))"
    row = "INSERT INTO lease VALUES ('leader', 'dead', 7, 3, 15, now())"
    await execute(database_url, evil, check, row)
    assert not is_clean(deeds), "it does run where it is not stopped"
    await bring_back(other_url, await backed_up(database_url, tmp_path))
    assert await value(other_url, "SELECT lease_holds('infinity', 15)") is False
    assert await value(other_url, "SELECT fence FROM lease") == 7
    assert is_clean(deeds)


@pytest.mark.parametrize("by", ["the server", "psql"])
async def test_statements_injected_into_a_backup_are_not_executed(
    database_url: str, other_url: str, tmp_path: Path, deeds: Path, by: str
) -> None:
    """An archive keeps the command that precedes the rows of each table as it was written."""
    file = await backed_up(database_url, tmp_path)
    whole = file.read_bytes()
    begin = whole.index(b"COPY public.corpus (")
    length = whole.index(b";", begin) + 1 - begin
    evil = {"the server": f"{program(deeds)};", "psql": f"\\! : >{deeds}/ran"}[by].encode()
    file.write_bytes(whole[:begin] + evil.ljust(length) + whole[begin + length :])
    with pytest.raises(InputError, match="holds a statement that is not read: "):
        await bring_back(other_url, file, known_only=True)
    assert is_clean(deeds)


async def test_unknown_objects_in_a_backup_are_rejected_by_name(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    await execute(
        database_url,
        CORPUS,
        "CREATE TABLE theirs AS SELECT 42 AS number",
        "CREATE SCHEMA elsewhere",
        "CREATE TABLE elsewhere.corpus ()",
        "CREATE PROCEDURE of_theirs() LANGUAGE sql AS ''",
        "CREATE VIEW seen AS SELECT 1 AS number",
        "CREATE SEQUENCE counted",
    )
    file = await backed_up(database_url, tmp_path)
    with pytest.raises(
        InputError, match=r"procedure of_theirs\(\), table corpus, sequence counted and 2 more"
    ):
        await bring_back(other_url, file)
    await bring_back(other_url, file, known_only=True)
    assert await value(other_url, "SELECT array_agg(name) FROM corpus") == ["kept"]
    assert await value(other_url, "SELECT to_regclass('theirs')") is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("ALTER TABLE corpus ADD COLUMN evil text", "corpus.evil"),
        ("CREATE TABLE document_7 (id bigint)", "document_7"),
        ("CREATE TABLE embedding_7 (id bigint)", "embedding_7"),
    ],
)
async def test_rows_that_no_table_takes_are_refused(
    database_url: str, other_url: str, tmp_path: Path, change: str, said: str
) -> None:
    await execute(database_url, change)
    file = await backed_up(database_url, tmp_path)
    await execute(other_url, CORPUS)
    with pytest.raises(InputError, match=f"does not know: {said}\\."):
        await bring_back(other_url, file, known_only=True)
    assert await value(other_url, "SELECT name FROM corpus") == "kept"


async def test_restore_stores_rows_with_a_role_that_has_no_other_rights(
    database_url: str, deeds: Path
) -> None:
    database = await Database.open(database_url)
    async with database.transaction() as connection:
        async with module._without_rights(connection):
            await connection.execute(CORPUS)
            for statement in (program(deeds), "CREATE TABLE more ()", "TABLE owner"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    async with connection.transaction():
                        await connection.execute(statement)
        await connection.execute("TABLE owner")
    await database.close()
    assert is_clean(deeds)


async def test_restored_tables_match_the_schema_of_the_program(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    """With all indexes, keys and triggers, whatever was taken off while rows were stored."""
    before = await Database.open(database_url)
    await load(before, "lib", [document("1", "a ship and a canal")], kind=Kind.LIBRARY)
    await load(before, "kept", [document("1", "a ship\n\\.\nand a canal")])
    await execute(database_url, "SELECT setval('document_id_seq', 77)")
    if await can_keep_vectors(before):
        await Embeddings(before).prepare("words", 16)
    await before.close()
    await bring_back(other_url, await backed_up(database_url, tmp_path))
    for what in ("--schema-only", "--data-only"):
        assert await dumped(other_url, what) == await dumped(database_url, what)


async def dumped(url: str, what: str) -> list[str]:
    """Return what pg_dump writes of a database, but for the times of its migrations."""
    arguments = (what, "--restrict-key=same", "--exclude-table-data=migration")
    async with start_program(
        "pg_dump", *arguments, within=build_environment(url), stdout=PIPE
    ) as program:
        written = (await program.output.read()).decode()
        await program.end()
    return written.splitlines()


async def test_a_backup_of_an_older_version_is_brought_up_to_date(
    database_url: str, other_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are stored in its own tables, and changed by the migrations since."""
    await execute(database_url, CORPUS)
    file = await backed_up(database_url, tmp_path)
    since = "ALTER TABLE corpus ADD shown text; UPDATE corpus SET shown = upper(name)"
    newer = [*list_migrations(), Migration(9000, "since", since)]
    monkeypatch.setattr("db.migrate.list_migrations", lambda: newer)
    monkeypatch.setattr(module, "list_migrations", lambda: newer)
    await bring_back(other_url, file)
    assert await value(other_url, "SELECT shown FROM corpus") == "KEPT"
    assert await value(other_url, "SELECT max(version) FROM migration") == 9000


UNRELEASED = (
    "ALTER TABLE subscription DROP COLUMN timed_from CASCADE",  # this and the next came later
    "ALTER TABLE corpus DROP COLUMN placed_postings",
    "ALTER TABLE item DROP COLUMN page_labels",
    "ALTER TABLE turn DROP answer_id, DROP first, DROP last",
    "DELETE FROM migration",
    f"INSERT INTO migration VALUES (1, 'core', '{migrate._UNRELEASED}')",
)


async def test_a_backup_from_before_the_first_release_is_restored(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    """Its tables are the same; only the migrations that made them had other names."""
    number, checksum = migrate._LAST_UNRELEASED
    last = f"INSERT INTO migration VALUES ({number}, 'last', '{checksum}')"
    await execute(database_url, CORPUS, *UNRELEASED, last)
    file = await backed_up(database_url, tmp_path)
    for url in (other_url, database_url):  # also in the place of the tables that it is from
        database = await Database.open(url)
        await require_known_tables(database)
        await bring_back(url, file)
        assert await value(url, "SELECT name FROM corpus") == "kept"
        await database.require_current()
        await database.close()


async def test_a_backup_with_a_schema_older_than_supported_is_rejected(
    database_url: str, tmp_path: Path
) -> None:
    older = "INSERT INTO migration VALUES (36, 'replies', repeat('a', 64))"
    await execute(database_url, *UNRELEASED, older)
    with pytest.raises(StorageOutdated, match=r"older than the last ones before 0\.1\.0"):
        await check_backup(await backed_up(database_url, tmp_path))
