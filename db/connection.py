"""Connections: statements, names of partitions, values of rows, and the errors of the driver.

A connection counts the corpora it touches, and says which worker keeps a statement waiting:
PostgreSQL does not give up a worker of Citus that hangs, and Citus seldom names one that was lost.
docs/decisions/0063-placed.md
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from enum import Enum
from functools import cache, lru_cache, partial
from importlib.resources import files
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

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

if TYPE_CHECKING:  # not generic at run time
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

_T = TypeVar("_T")
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
# As Citus names a worker, in the error itself and where one of a worker is passed on.
_WORKER = re.compile(r"(?:remote node (?:\S+@)?|to the node |executing command on )([^\s@]+:\d+)")
_HEADER = re.compile(r"^-- name: (\w+)(?:\([^)]*\))?\n", re.MULTILINE)
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
Row: TypeAlias = "asyncpg.Record | Mapping[str, Any]"
Connect: TypeAlias = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]
_TABLES = re.compile(r"\b(?:document|postings)_(\d+)\b")
_COMMIT = "COMMIT;"  # as the driver ends transactions
_PATIENCE = 1.5  # seconds until workers are asked whether they are there
_ANSWER = "SET citus.node_connection_timeout = '3s'"


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
        case asyncpg.InsufficientPrivilegeError():
            fix = Message(
                "Give the role that right, or ask its administrator to run the command once."
            )
            if match := _EXTENSION.search(reason):
                fix = Message(
                    "Have an administrator run in this database: CREATE EXTENSION {name}",
                    name=match[1],
                )
            return StorageRights(Message("The database refused: {reason}.", reason=reason), fix=fix)
        case asyncpg.DiskFullError() | asyncpg.OutOfMemoryError():
            return StorageFull(
                Message("The database server ran out of room: {reason}.", reason=reason),
                fix=Message("Free some space and run the command again."),
            )
        case asyncpg.FeatureNotSupportedError() if "extension" in reason:
            fix = Message("Install PostgreSQL's contrib package on the server (unaccent, pg_trgm).")
            if 'extension "vector"' in reason:
                fix = Message("Install pgvector on the server, or use another one.")
            return StorageRights(
                Message("The database server lacks an extension: {reason}.", reason=reason), fix=fix
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
        case asyncpg.DataError() | UnicodeError() | OverflowError():
            return StorageError(
                Message("The database cannot take a value: {reason}.", reason=reason)
            )
        case _:
            return _map_connection_error(error, reason)


def _map_connection_error(error: BaseException, reason: str) -> StorageError:  # noqa: PLR0911 - a line a cause
    """Translate an error of opening or keeping a connection, and any that is not known."""
    match error:
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


def name_partition(corpus_id: int) -> str:
    """Return the table of one corpus' documents; its name contains nothing but a number."""
    return f"document_{int(corpus_id)}"


def staged_table(corpus_id: int) -> str:
    """Return the partition of a placed corpus, which holds texts while they change."""
    return f"staged_{int(corpus_id)}"


def postings_table(corpus_id: int) -> str:
    """Return the table of one corpus' postings, which only some corpora have."""
    return f"postings_{int(corpus_id)}"


@lru_cache(maxsize=1024)
def about_corpus(file: str, name: str, corpus_id: int, **parts: str) -> str:
    """Return a statement of `db/sql/<file>.sql` about one corpus.

    {document}, {postings} and {staged} in it stand for the corpus' tables, {corpus} for its id, and
    other names for `parts`.
    """
    names = {
        "document": name_partition(corpus_id),
        "postings": postings_table(corpus_id),
        "staged": staged_table(corpus_id),
        "corpus": str(int(corpus_id)),
    }
    return load_statements(file)[name].format(**names | parts)


def read_row(kind: type[_T], row: Row, prefix: str = "", **values: Any) -> _T:
    """Return a dataclass with `values`, and for its other fields the columns that have their names.

    `prefix` stands before these names. Lists become the tuples or sets, and texts the enumerations
    that the fields are declared as.
    """
    columns = dict(row)
    for name, convert in _list_fields(kind).items():  # type: ignore[arg-type]  # a class is hashable
        if name not in values and prefix + name in columns:
            value = columns[prefix + name]
            values[name] = value if convert is None or value is None else convert(value)
    return kind(**values)


def list_values(value: object, columns: Iterable[str], **others: object) -> tuple[Any, ...]:
    """Return what columns hold: one of `others`, or the value's field of that name."""
    chosen = (others[name] if name in others else getattr(value, name) for name in columns)
    return tuple(each.value if isinstance(each, Enum) else each for each in chosen)


@cache
def _list_fields(kind: Any) -> Mapping[str, Callable[[Any], Any] | None]:
    """Return the fields of a dataclass, with what makes their values of columns."""
    hints = get_type_hints(kind)
    return {field.name: _find_converter(hints[field.name]) for field in fields(kind)}


def _find_converter(hint: Any) -> Callable[[Any], Any] | None:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for kind in (get_origin(part) or part for part in parts):
        if isinstance(kind, type) and issubclass(kind, Enum | tuple | frozenset):
            return kind
    return None


def describe_error(error: BaseException) -> str:
    """Return what an error says, without its number: "connection refused at 127.0.0.1:5432"."""
    match = _CONNECT_FAILED.search(str(error))
    if match and isinstance(error, OSError) and error.errno:
        return f"{os.strerror(error.errno).lower()} at {match[1]}:{match[2]}"
    if isinstance(error, TimeoutError) and not str(error):
        return "it does not answer"
    return _ERRNO.sub("", str(error)) or type(error).__name__


class CountingConnection(_Connection):
    """A connection that knows the corpora whose tables it has read or written by name."""

    __slots__ = ("_lost", "connect", "corpora")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.corpora: set[int] = set()
        self.connect: Connect | None = None  # begins another session; None where no workers are
        self._lost: StorageInterrupted | None = None

    async def execute(self, query: str, *args: Any, **keywords: Any) -> str:
        """Execute a statement, as its base does."""
        return await self._watch_statement(
            query, partial(super().execute, query, *args, **keywords)
        )

    async def fetch(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return rows, as its base does."""
        return await self._watch_statement(query, partial(super().fetch, query, *args, **keywords))

    async def fetchrow(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return a row, as its base does."""
        return await self._watch_statement(
            query, partial(super().fetchrow, query, *args, **keywords)
        )

    async def fetchval(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return a value, as its base does."""
        return await self._watch_statement(
            query, partial(super().fetchval, query, *args, **keywords)
        )

    async def _watch_statement(self, statement: str, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Return the answer to a statement.

        Raises StorageInterrupted if a worker does not answer, from then on for every statement
        if it hangs; and errors of the driver.
        """
        named = _corpora_in(statement)
        self.corpora |= named
        if self._lost:
            raise self._lost
        touched = self.corpora if statement == _COMMIT else named
        if not touched or self.connect is None:
            return await ask()
        watch = asyncio.create_task(self._watch_workers(touched))
        try:
            return await ask()
        except DRIVER_ERRORS as error:
            if lost := self._lost or await self._explain_error(error, touched):
                raise lost from error
            raise
        finally:
            watch.cancel()

    async def _watch_workers(self, corpora: Collection[int]) -> None:
        """Drop the connection as soon as a worker that holds one of `corpora` does not answer.

        Its session waits for the worker, and could not even be told to give up.
        """
        while self._lost is None:
            await asyncio.sleep(_PATIENCE)
            self._lost = await self._find_lost(corpora)
        self.terminate()

    async def _explain_error(
        self, error: BaseException, corpora: Collection[int]
    ) -> StorageInterrupted | None:
        may_be_workers = isinstance(error, (*INTERRUPTED, asyncpg.InternalServerError))
        if self.is_closed() or not may_be_workers:
            return None
        return await self._find_lost(corpora, find_worker(error))

    async def _find_lost(
        self, corpora: Collection[int], worker: str | None = None
    ) -> StorageInterrupted | None:
        """Return the error that names a corpus and its worker, which is `worker` or is silent."""
        if self.connect is None:
            return None
        with suppress(*DRIVER_ERRORS):
            session = await self.connect()
            try:
                await session.execute(_ANSWER)
                silent = load_statements("placement")["silent"]
                row = await session.fetchrow(silent, f"{{{','.join(map(str, corpora))}}}", worker)
            finally:
                session.terminate()
            if row:
                return StorageInterrupted(
                    Message("The worker {worker}, which holds {name}, does not answer.", **row),
                    fix=Message("{name} can be used again as soon as it does.", name=row["name"]),
                )
        return None


@lru_cache(maxsize=1024)
def _corpora_in(statement: str) -> frozenset[int]:
    return frozenset(map(int, _TABLES.findall(statement)))
