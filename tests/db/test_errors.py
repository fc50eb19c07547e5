"""Errors of the driver become one line of the project's own."""

import asyncio
import re
import socket
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

import db
from db.connection import load_statements, mapped_storage_errors, storage_error
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database, PoolSettings
from engine.errors import (
    StorageError,
    StorageFull,
    StorageInterrupted,
    StorageOutdated,
    StorageRights,
    StorageUnreachable,
)
from tests.database import pool_on, run_sql
from tests.db.loading import document, new_corpus
from tests.patience import PATIENCE, movable_time

NO_EXTENSION = 'extension "unaccent" is not available\nDETAIL:  Could not open a file.'


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (asyncpg.InsufficientPrivilegeError("permission denied for schema public"), StorageRights),
        (asyncpg.FeatureNotSupportedError(NO_EXTENSION), StorageRights),
        (asyncpg.DiskFullError("could not extend file"), StorageFull),
        (asyncpg.OutOfMemoryError("out of memory"), StorageFull),
        (asyncpg.UndefinedTableError('relation "corpus" does not exist'), StorageOutdated),
        (asyncpg.UndefinedTableError('relation "document_7" does not exist'), StorageInterrupted),
        (asyncpg.InvalidPasswordError("password authentication failed"), StorageUnreachable),
        (asyncpg.InvalidCatalogNameError('database "x" does not exist'), StorageUnreachable),
        (
            asyncpg.UndefinedObjectError('unrecognized configuration parameter "connect_timeout"'),
            StorageUnreachable,
        ),
        (asyncpg.TooManyConnectionsError("too many clients already"), StorageUnreachable),
        (asyncpg.CannotConnectNowError("the system is starting up"), StorageUnreachable),
        (ConnectionRefusedError(111, "Connection refused"), StorageUnreachable),
        (FileNotFoundError(2, "No such file or directory"), StorageUnreachable),
        (socket.gaierror(-2, "Name or service not known"), StorageUnreachable),
        (asyncpg.AdminShutdownError("terminating connection"), StorageInterrupted),
        (asyncpg.ConnectionDoesNotExistError("closed in the middle"), StorageInterrupted),
        (asyncpg.InterfaceError("connection is closed"), StorageInterrupted),
        (asyncpg.DeadlockDetectedError("deadlock detected"), StorageInterrupted),
        (asyncpg.SerializationError("could not serialize access"), StorageInterrupted),
        (asyncpg.QueryCanceledError("statement timeout"), StorageInterrupted),
        (TimeoutError(), StorageInterrupted),
        (ConnectionResetError(104, "Connection reset by peer"), StorageInterrupted),
        (asyncpg.CharacterNotInRepertoireError("invalid byte sequence"), StorageError),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), StorageError),
        (OverflowError("value out of int32 range"), StorageError),
        (asyncpg.FeatureNotSupportedError("cannot do that"), StorageError),
        (asyncpg.UniqueViolationError("duplicate key"), StorageError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_each_driver_error_maps_to_its_storage_error(
    error: Exception, kind: type[StorageError]
) -> None:
    with pytest.raises(StorageError) as caught, mapped_storage_errors():
        raise error
    assert type(caught.value) is kind
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)
    said = str(error).partition("] ")[2] or str(error).strip().partition("\n")[0]
    assert said in str(caught.value) or kind is StorageInterrupted
    assert "Errno" not in str(caught.value)


def test_a_refused_connection_is_said_in_words() -> None:
    said = "connection refused at ::1:5432"
    with pytest.raises(StorageUnreachable, match=said), mapped_storage_errors():
        raise OSError(111, "Connect call failed ('::1', 5432, 0, 0)")


def test_files_that_the_server_may_not_read_are_no_matter_of_the_role() -> None:
    said = 'could not access directory "base/5": Permission denied'
    with pytest.raises(StorageRights) as caught, mapped_storage_errors():
        raise asyncpg.InsufficientPrivilegeError(said)
    assert "chown -R" in str(caught.value.fix)


def test_an_extension_that_the_role_may_not_create_is_for_an_administrator() -> None:
    with pytest.raises(StorageRights) as caught, mapped_storage_errors():
        raise asyncpg.InsufficientPrivilegeError('permission denied to create extension "vector"')
    assert caught.value.fix == "Have an administrator run in this database: CREATE EXTENSION vector"


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InternalClientError('cannot switch to state 15; protocol is in the "failed" state'),
        asyncpg.InterfaceError("cannot perform operation: another operation is in progress"),
        ConnectionResetError(104, "unexpected connection_lost() call"),
        EOFError("incomplete"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_internal_messages_of_the_driver_are_not_shown(error: Exception) -> None:
    with pytest.raises(StorageError) as caught, mapped_storage_errors():
        raise error
    assert str(error) not in str(caught.value)
    assert "lost" in str(caught.value)


def test_an_error_is_named_where_it_has_no_words_and_cut_where_it_has_many() -> None:
    assert "AdminShutdownError" in str(storage_error(asyncpg.AdminShutdownError("")))
    assert len(str(storage_error(asyncpg.ProgramLimitExceededError("x" * 5_000_000)))) < 300


def test_errors_of_other_kinds_are_not_mapped() -> None:
    with pytest.raises(KeyError), mapped_storage_errors():
        raise KeyError


@pytest.mark.parametrize(
    ("text", "said"), [("x\0y", "invalid byte sequence"), ("x\ud800y", "surrogates not allowed")]
)
async def test_a_character_that_cannot_be_stored_is_named(
    database: Database, text: str, said: str
) -> None:
    corpus = await new_corpus(database)
    batch = [document("1", "fine"), document("2", text)]
    with pytest.raises(StorageError, match=said):
        await Documents(database).upsert(corpus, batch)
    assert (await Corpora(database).get("c")).documents == 0


async def test_a_number_that_cannot_be_stored_is_named(database: Database) -> None:
    corpus = await new_corpus(database)
    with pytest.raises(StorageError, match="int32"):
        await Documents(database).upsert(corpus, [replace(document("1", "x"), engagement=2**40)])


async def test_a_missing_extension_says_what_to_install(database: Database) -> None:
    with pytest.raises(StorageRights, match="contrib"):
        await run_sql(database, "CREATE EXTENSION presagio_has_no_such_extension")


async def test_a_statement_that_takes_too_long_is_cancelled_by_the_client(
    database_url: str,
) -> None:
    async with pool_on(database_url, PoolSettings(command_timeout=PATIENCE)) as database:
        with pytest.raises(StorageInterrupted, match="in time"), movable_time() as move:
            async with database.connection() as connection:
                sleeping = asyncio.create_task(connection.execute("SELECT pg_sleep(600)"))
                await asyncio.sleep(0)  # it has been sent
                move(PATIENCE)
                await sleeping


async def test_a_statement_that_takes_too_long_is_cancelled_by_the_server(
    database_url: str,
) -> None:
    async with pool_on(database_url, PoolSettings(statement_timeout=0.5)) as database:
        with pytest.raises(StorageInterrupted, match="in time"):
            await run_sql(database, "SELECT pg_sleep(600)")


async def test_a_broken_connection_says_what_to_do(database: Database) -> None:
    with pytest.raises(StorageInterrupted, match=r"was lost.* Run the command again\."):
        async with database.transaction() as connection:
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.mark.parametrize(
    "said",
    [
        "connection to the remote node ana@10.0.0.7:5432 failed with the following error: refused",
        "could not establish any connections to the node 10.0.0.7:5432 after 4000 ms",
    ],
)
def test_a_worker_that_does_not_answer_is_named(said: str) -> None:
    found = storage_error(asyncpg.ConnectionFailureError(said))
    assert isinstance(found, StorageInterrupted)
    assert "worker 10.0.0.7:5432 of" in str(found)


SQL = sorted((Path(db.__file__).parent / "sql").glob("*.sql"))
SIGNATURE = re.compile(r"^-- name: (\w+)\(([^)]*)\)", re.MULTILINE)
# The numbers of these are given by the expressions that are put into their braces.
COMPOSED = {"described"}
# Parts of statements, which give their parameters their numbers.
READ = load_statements("search")["read"]


def test_statements_contain_no_header_comment() -> None:
    held = "\n".join(text for path in SQL for text in load_statements(path.stem).values())

    assert "-- name:" not in held
    assert load_statements("conversation")["chat"].startswith("SELECT id, platform")
    assert load_statements("news")["settle_feed"].startswith("UPDATE feed")


@pytest.mark.parametrize("path", SQL, ids=lambda path: path.stem)
def test_a_statement_names_each_of_its_parameters_once(path: Path) -> None:
    signatures = {
        name: re.findall(r"\w+", named) for name, named in SIGNATURE.findall(path.read_text())
    }
    for name, template in load_statements(path.stem).items():
        if name in COMPOSED:
            continue
        text = template.replace("{read}", READ)
        numbers = {int(number) for number in re.findall(r"\$(\d+)", re.sub(r"--.*", "", text))}
        named = signatures.get(name, [])
        assert len(set(named)) == len(named), name
        assert numbers == set(range(1, len(named) + 1)), name
