"""Connections: their types, the statements they run, and the driver's errors as the project's."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import asyncpg

from engine.errors import (
    StorageError,
    StorageFull,
    StorageInterrupted,
    StorageOutdated,
    StorageRights,
    StorageUnreachable,
)
from engine.messages import Message

INTERRUPTED = (
    asyncpg.OperatorInterventionError,
    asyncpg.TransactionRollbackError,
    asyncpg.ProtocolViolationError,  # whatever PgBouncer has to say
    asyncpg.ConnectionFailureError,  # whatever Odyssey has to say
)
# The driver's own messages about a connection describe its states, not what to do.
LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
    EOFError,
)
DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    EOFError,
    # Raised for values that cannot be encoded on their way to the server.
    UnicodeError,
    OverflowError,
)
_LONGEST = 200  # characters
_EXTENSION = re.compile(r'create extension "(\w+)"')
# The table of one corpus, as db.corpus.corpora names it.
_PARTITION = re.compile(r"\bdocument_\d+\b")
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_CONNECT_FAILED = re.compile(r"^\[Errno \d+\] Connect call failed \('([^']+)', (\d+)")
# What a pooler says to whoever asks for settings.
REFUSED_SETTING = "startup parameter"
# As Citus names a worker, in the error itself and where one of a worker is passed on.
_WORKER = re.compile(r"(?:remote node (?:\S+@)?|to the node |executing command on )([^\s@]+:\d+)")
_HEADER = re.compile(r"^-- name: (\w+)(?:\([^)]*\))?\n", re.MULTILINE)
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
# One of a pool, to be given back.
Lent: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"


def storage_error(error: BaseException) -> StorageError:  # noqa: PLR0911, PLR0912 - a line a cause
    """Translate an error of asyncpg or of the socket below it."""
    reason = _first_line(error)
    match error:
        case _ if isinstance(error, INTERRUPTED) and (worker := find_worker(error)):
            return StorageInterrupted(
                Message("The worker {worker} of the database does not answer.", worker=worker),
                fix=Message("Corpora that are placed there can be used again as soon as it does."),
            )
        case asyncpg.InsufficientPrivilegeError() if "Permission denied" in reason:  # of the system
            return StorageRights(
                Message("The database server may not read its own files: {reason}.", reason=reason),
                fix=Message(
                    "Give all of its data folder back to its account: chown -R, chmod 700."
                ),
            )
        case asyncpg.InsufficientPrivilegeError() if match := _EXTENSION.search(reason):
            return StorageRights(
                Message("The database refused: {reason}.", reason=reason),
                fix=Message(
                    "Have an administrator run in this database: CREATE EXTENSION {name}",
                    name=match[1],
                ),
            )
        case asyncpg.InsufficientPrivilegeError():
            return StorageRights(
                Message("The database refused: {reason}.", reason=reason),
                fix=Message(
                    "Give the role that right, or ask its administrator to run the command once."
                ),
            )
        case asyncpg.DiskFullError() | asyncpg.OutOfMemoryError():
            return StorageFull(
                Message("The database server ran out of room: {reason}.", reason=reason),
                fix=Message("Free some space and run the command again."),
            )
        case asyncpg.FeatureNotSupportedError() if 'extension "vector"' in reason:
            return StorageRights(
                Message("The database server lacks an extension: {reason}.", reason=reason),
                fix=Message("Install pgvector on the server, or use another one."),
            )
        case asyncpg.DependentObjectsStillExistError(detail=str(detail)):
            return StorageError(
                Message(
                    "Something else in the database depends on its tables: {detail}.",
                    detail=detail.splitlines()[0].rstrip("."),
                ),
                fix=Message("It is not presagio's: drop it first, or use another database."),
            )
        case asyncpg.LockNotAvailableError():
            return StorageInterrupted(
                Message("Others work in the database: {reason}.", reason=reason),
                fix=Message("End the presagio processes that use the database."),
            )
        case asyncpg.FeatureNotSupportedError() if "extension" in reason:
            return StorageRights(
                Message("The database server lacks an extension: {reason}.", reason=reason),
                fix=Message(
                    "Install PostgreSQL's contrib package on the server (unaccent, pg_trgm)."
                ),
            )
        case asyncpg.UndefinedTableError() if _PARTITION.search(reason):
            return StorageInterrupted(
                Message("The corpus was dropped meanwhile."),
                fix=Message("See: presagio corpora list"),
            )
        case asyncpg.UndefinedTableError() | asyncpg.UndefinedColumnError():
            return StorageOutdated(
                Message("The database has no such table: {reason}.", reason=reason),
                fix=Message("Run: presagio init"),
            )
        case asyncpg.QueryCanceledError() | TimeoutError():
            return StorageInterrupted(
                Message("The database did not answer in time."),
                fix=Message("Try again, or raise database.command_timeout."),
            )
        case asyncpg.InvalidAuthorizationSpecificationError() | asyncpg.InvalidCatalogNameError():
            return StorageUnreachable(
                Message("The database refused the connection: {reason}.", reason=reason),
                fix=Message("Check DATABASE_URL."),
            )
        case asyncpg.UndefinedObjectError() if "configuration parameter" in reason:
            # What the driver does not know in a URL, such as connect_timeout, is for the server.
            return StorageUnreachable(
                Message("The database refused the connection: {reason}.", reason=reason),
                fix=Message("Check DATABASE_URL."),
            )
        case asyncpg.ReadOnlySQLTransactionError():
            return StorageInterrupted(
                Message("The database server takes no writes: {reason}.", reason=reason),
                fix=Message("If another server took its place, DATABASE_URL must name that too."),
            )
        case asyncpg.TooManyConnectionsError():
            return StorageUnreachable(
                Message("The database has no free connection: {reason}.", reason=reason),
                fix=Message("Lower database.pool_size or raise the server's max_connections."),
            )
        case asyncpg.CannotConnectNowError():
            return StorageUnreachable(
                Message("The database is not ready: {reason}.", reason=reason),
                fix=Message("Try again in a moment."),
            )
        case asyncpg.DataError() | UnicodeError() | OverflowError():
            return StorageError(
                Message("The database cannot take a value: {reason}.", reason=reason)
            )
        case ConnectionRefusedError():
            return storage_unreachable(reason)
        case _ if isinstance(error, INTERRUPTED):
            return StorageInterrupted(
                Message("The connection to the database was lost: {reason}.", reason=reason),
                fix=Message("Run the command again."),
            )
        case asyncpg.TargetServerAttributeNotMatched():
            return StorageUnreachable(
                Message("No server of the database takes writes."),
                fix=Message(
                    "Start the primary, or promote a standby: docs/operating.md tells how."
                ),
            )
        case _ if isinstance(error, LOST):
            return StorageInterrupted(
                Message("The connection to the database was lost."),
                fix=Message("Run the command again."),
            )
        case OSError():
            return storage_unreachable(reason)
        case _:
            return StorageError(Message("The database reported an error: {reason}.", reason=reason))


def storage_unreachable(reason: str) -> StorageUnreachable:
    """Return the error for a connection that could not be made, with the reason."""
    return StorageUnreachable(
        Message("The database cannot be reached: {reason}.", reason=reason),
        fix=Message("Check DATABASE_URL, or leave it empty to use the embedded server."),
    )


def find_worker(error: BaseException) -> str | None:
    """Return the host and port of the worker that an error is about, or None."""
    match = _WORKER.search(f"{error} {getattr(error, 'context', '')}")
    return match[1] if match else None


def _first_line(error: BaseException) -> str:
    """Return the first line of the error's message, which may quote a whole statement."""
    lines = describe_error(error).strip().splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= _LONGEST else f"{lines[0][:_LONGEST]}…"


@contextmanager
def mapped_storage_errors() -> Iterator[None]:
    """Re-raise driver errors of the enclosed block as StorageError."""
    try:
        yield
    except DRIVER_ERRORS as exc:
        raise storage_error(exc) from exc


@cache
def load_statements(file: str) -> dict[str, str]:
    """Return the statements of `db/sql/<file>.sql` by name."""
    text = (files("db") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADER.split(text)
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def describe_error(error: BaseException) -> str:
    """Return what an error says, without its number: "connection refused at 127.0.0.1:5432"."""
    match = _CONNECT_FAILED.search(str(error))
    if match and isinstance(error, OSError) and error.errno:
        return f"{os.strerror(error.errno).lower()} at {match[1]}:{match[2]}"
    if isinstance(error, TimeoutError) and not str(error):
        return "it does not answer"
    return _ERRNO.sub("", str(error)) or type(error).__name__
