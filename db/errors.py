"""Maps driver errors to the project's own; nothing else does."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

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

_INTERRUPTED = (
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

FOREIGN = (
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


# The table of one corpus, as db.corpus.postings names it.
_PARTITION = re.compile(r"\bdocument_\d+\b")


def storage_error(error: BaseException) -> StorageError:  # noqa: PLR0911, PLR0912 - a line a cause
    """Translate an error of asyncpg or of the socket below it."""
    said = _first_line(error)
    match error:
        case asyncpg.InsufficientPrivilegeError():
            return StorageRights(
                Message("The database refused: {said}.", said=said),
                fix=Message(
                    "Give the role that right, or ask its administrator to run the command once."
                ),
            )
        case asyncpg.DiskFullError() | asyncpg.OutOfMemoryError():
            return StorageFull(
                Message("The database server ran out of room: {said}.", said=said),
                fix=Message("Free some space and run the command again."),
            )
        case asyncpg.FeatureNotSupportedError() if 'extension "vector"' in said:
            return StorageRights(
                Message("The database server lacks an extension: {said}.", said=said),
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
                Message("Others work in the database: {said}.", said=said),
                fix=Message("End the presagio processes that use the database."),
            )
        case asyncpg.FeatureNotSupportedError() if "extension" in said:
            return StorageRights(
                Message("The database server lacks an extension: {said}.", said=said),
                fix=Message(
                    "Install PostgreSQL's contrib package on the server (unaccent, pg_trgm)."
                ),
            )
        case asyncpg.UndefinedTableError() if _PARTITION.search(said):
            return StorageInterrupted(
                Message("The corpus was dropped meanwhile."),
                fix=Message("See: presagio corpora list"),
            )
        case asyncpg.UndefinedTableError() | asyncpg.UndefinedColumnError():
            return StorageOutdated(
                Message("The database has no such table: {said}.", said=said),
                fix=Message("Run: presagio init"),
            )
        case asyncpg.QueryCanceledError() | TimeoutError():
            return StorageInterrupted(
                Message("The database did not answer in time."),
                fix=Message("Try again, or raise database.command_timeout."),
            )
        case asyncpg.InvalidAuthorizationSpecificationError() | asyncpg.InvalidCatalogNameError():
            return StorageUnreachable(
                Message("The database refused the connection: {said}.", said=said),
                fix=Message("Check DATABASE_URL."),
            )
        case asyncpg.TooManyConnectionsError():
            return StorageUnreachable(
                Message("The database has no free connection: {said}.", said=said),
                fix=Message("Lower database.pool_size or raise the server's max_connections."),
            )
        case asyncpg.CannotConnectNowError():
            return StorageUnreachable(
                Message("The database is not ready: {said}.", said=said),
                fix=Message("Try again in a moment."),
            )
        case asyncpg.DataError() | UnicodeError() | OverflowError():
            return StorageError(Message("The database cannot take a value: {said}.", said=said))
        case ConnectionRefusedError():
            return storage_unreachable(said)
        case _ if isinstance(error, _INTERRUPTED):
            return StorageInterrupted(
                Message("The connection to the database was lost: {said}.", said=said),
                fix=Message("Run the command again."),
            )
        case _ if isinstance(error, LOST):
            return StorageInterrupted(
                Message("The connection to the database was lost."),
                fix=Message("Run the command again."),
            )
        case OSError():
            return storage_unreachable(said)
        case _:
            return StorageError(Message("The database reported an error: {said}.", said=said))


def storage_unreachable(said: str) -> StorageUnreachable:
    """Return the error for a connection that could not be made, with the reason."""
    return StorageUnreachable(
        Message("The database cannot be reached: {said}.", said=said),
        fix=Message("Check DATABASE_URL, or leave it empty to use the embedded server."),
    )


def _first_line(error: BaseException) -> str:
    """Return the first line of the error's message, which may quote a whole statement."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= _LONGEST else f"{lines[0][:_LONGEST]}…"


@contextmanager
def mapped_storage_errors() -> Iterator[None]:
    """Re-raise driver errors of the enclosed block as StorageError."""
    try:
        yield
    except FOREIGN as exc:
        raise storage_error(exc) from exc
