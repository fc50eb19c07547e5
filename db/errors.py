"""The one place where driver errors become the project's own."""

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

_INTERRUPTED = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TransactionRollbackError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
    EOFError,
)


def storage_error(error: BaseException) -> StorageError:  # noqa: PLR0911 - one line a cause
    """Translate an error of asyncpg or of the socket below it."""
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    match error:
        case asyncpg.InsufficientPrivilegeError():
            return StorageRights(
                f"The database refused: {said}.",
                fix="Give the role that right, or ask its administrator to run the command once.",
            )
        case asyncpg.DiskFullError() | asyncpg.OutOfMemoryError():
            return StorageFull(
                f"The database server ran out of room: {said}.",
                fix="Free some space and run the command again; nothing was half-written.",
            )
        case asyncpg.FeatureNotSupportedError() if "extension" in said:
            return StorageRights(
                f"The database server lacks an extension: {said}.",
                fix="Install PostgreSQL's contrib package on the server (unaccent, pg_trgm).",
            )
        case asyncpg.UndefinedTableError() | asyncpg.UndefinedColumnError():
            return StorageOutdated(
                f"The database has no such table: {said}.", fix="Run: presagio init"
            )
        case asyncpg.QueryCanceledError() | TimeoutError():
            return StorageInterrupted(
                "The database did not answer in time.",
                fix="Try again, or raise database.command_timeout.",
            )
        case asyncpg.InvalidAuthorizationSpecificationError() | asyncpg.InvalidCatalogNameError():
            return StorageUnreachable(
                f"The database refused the connection: {said}.", fix="Check DATABASE_URL."
            )
        case asyncpg.TooManyConnectionsError():
            return StorageUnreachable(
                f"The database has no free connection: {said}.",
                fix="Lower database.pool_size or raise the server's max_connections.",
            )
        case _ if isinstance(error, _INTERRUPTED):
            return StorageInterrupted(
                f"The connection to the database was lost: {said}.",
                fix="Run the command again; nothing was half-written.",
            )
        case _:
            return StorageError(f"The database reported an error: {said}.")


@contextmanager
def translated() -> Iterator[None]:
    """Raise driver errors of the enclosed block as StorageError."""
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, EOFError) as exc:
        raise storage_error(exc) from exc
