"""What presagio doctor checks of the server: its tables, extensions and workers."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from db import migrate
from db.corpus.health import (
    EXTENSIONS,
    missing_extensions,
    offered_extension,
    reads_quotes,
    role_that_cannot_store,
    takes_writes,
)
from db.corpus.placement import CitusWorker
from db.pool import Database
from engine.errors import PresagioError, StorageOutdated

_PGVECTOR, _OLDEST = "vector", (0, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of a check. `ok` None means that it is not set up, which is not a failure."""

    check: str
    ok: bool | None
    detail: str
    fix: str | None = None


async def check_pooler(database: Database) -> Check:
    """Return a check whether the sessions behind a pooler have the settings of presagio."""
    name = "pooler"
    try:
        await database.require_current()
    except StorageOutdated as error:
        return Check(check=name, ok=False, detail=error.message, fix=error.fix)
    keeps_statements = database.pooler is not None and database.pooler.keeps_statements
    detail = (
        "sessions of PgBouncer or its like have the role's settings; prepared statements are "
        f"{'kept' if keeps_statements else 'not kept'}; backup needs the server"
    )
    return Check(check=name, ok=True, detail=detail)


async def check_extensions(database: Database) -> Check:
    """Return a check whether the extensions that searches need are there."""
    missing = await missing_extensions(database)
    if not missing:
        return Check(check="extensions", ok=True, detail=", ".join(EXTENSIONS))
    # Once they have been there, much that init does not make again went with them.
    fix = "Run: presagio init. If they are missing still, restore a backup into an empty database"
    if None in [await offered_extension(database, name) for name in missing]:
        fix = "Install PostgreSQL's contrib package, then run: presagio init"
    detail = f"missing: {', '.join(missing)}"
    return Check(check="extensions", ok=False, detail=detail, fix=fix)


async def check_tables(database: Database) -> Check:
    """Return a check whether all migrations have run."""
    try:
        async with database.connection() as connection:
            pending = await migrate.check_migrations(connection)
    except PresagioError as error:
        return Check(check="migrations", ok=False, detail=error.message, fix=error.fix)
    newest = len(migrate.list_migrations())
    detail = f"{len(pending)} of {newest} have not run" if pending else f"{newest} applied"
    fix = "Run: presagio init" if pending else None
    return Check(check="migrations", ok=not pending, detail=detail, fix=fix)


async def check_pgvector(database: Database) -> Check:
    """Return a check whether vectors can be stored. Without them, searches go by words."""
    name, offered = "pgvector", await offered_extension(database, _PGVECTOR)
    if offered is None:
        fix = "Install pgvector 0.7 or newer on the server, to search by meaning as well"
        return Check(check=name, ok=None, detail="not on the server", fix=fix)
    version = offered.installed or offered.available
    if _parse_version(version) < _OLDEST:
        fix = "Install 0.7 or newer on the server, then: ALTER EXTENSION vector UPDATE"
        return Check(check=name, ok=False, detail=f"{version} is too old", fix=fix)
    if not offered.installed and not offered.installable:
        fix = "Have an administrator run in this database: CREATE EXTENSION vector"
        return Check(check=name, ok=None, detail=f"{version}, not in this database", fix=fix)
    use = "" if offered.installed else ", installed with the first vectors"
    return Check(check=name, ok=True, detail=f"{version}{use}")


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


async def check_server(database: Database) -> AsyncIterator[Check]:
    """Yield what keeps the server from reading or storing as it should."""
    if not await reads_quotes(database):
        detail = "the database takes typographic quotes for letters: words beside them are missed"
        fix = (
            "Restore a backup into one made with createdb --template=template0 --encoding=UTF8"
            " --lc-collate=C --lc-ctype=C.UTF-8"
        )
        yield Check(check="letters", ok=False, detail=detail, fix=fix)
    if not await takes_writes(database):
        detail = "the server takes none: it is a standby, or default_transaction_read_only is on"
        fix = (
            "Name the primary in DATABASE_URL, or all servers and target_session_attrs=read-write;"
            " or turn that setting off"
        )
        yield Check(check="writes", ok=False, detail=detail, fix=fix)
    if role := await role_that_cannot_store(database):
        detail = (
            f"the role {role} does not own the tables: it may read, and store little or nothing"
        )
        fix = "Name the role that ran presagio init in DATABASE_URL"
        yield Check(check="rights", ok=False, detail=detail, fix=fix)


def check_worker(worker: CitusWorker, places: Mapping[str, str]) -> Check:
    """Return the check of a worker of Citus; `places` has the worker of each placed corpus."""
    name = f"worker {worker.name}"
    held = ", ".join(corpus for corpus, place in places.items() if place == worker.name)
    if not worker.postgres:
        detail = f"does not answer; it holds {held or 'no corpus'}"
        fix = "Start PostgreSQL there, and let the coordinator reach it; nothing else is to be done"
        return Check(check=name, ok=False, detail=detail, fix=fix)
    detail = f"PostgreSQL {worker.postgres}, Citus {worker.citus}; it holds {held or 'no corpus'}"
    if not worker.undecided:
        return Check(check=name, ok=True, detail=detail)
    detail += f"; {worker.undecided:,} transactions prepared more than a minute ago"
    fix = (
        "Texts may be locked until they end. Run on the coordinator:"
        " SELECT recover_prepared_transactions()"
    )
    return Check(check=name, ok=False, detail=detail, fix=fix)
