"""Numbered, forward-only migrations, safe to start from several processes at once."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from db.connection import Connection, mapped_storage_errors
from engine.errors import StorageError, StorageOutdated
from engine.messages import Message

# Any constant will do, as long as every process uses the same one.
LOCK = 7_426_190_512

# Seconds for one migration, or for waiting for another process': an index build takes longer than
# any query may.
_PATIENCE = 3600

_TABLE = """
CREATE TABLE IF NOT EXISTS migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of `db/migrations`."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Return a hash of the text, so that an edited migration is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def list_migrations() -> list[Migration]:
    """Return the migrations that ship with this version, by number."""
    migrations = []
    for entry in (files("db") / "migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, _, rest = entry.name.removesuffix(".sql").partition("_")
            migrations.append(Migration(int(number), rest, entry.read_text(encoding="utf-8")))
    return sorted(migrations, key=lambda migration: migration.version)


def select_pending(migrations: list[Migration], applied: dict[int, str]) -> list[Migration]:
    """Return the migrations to run. Raises StorageOutdated if database and program mismatch."""
    for migration in migrations:
        if applied.get(migration.version, migration.checksum) != migration.checksum:
            raise StorageOutdated(
                Message(
                    "Migration {version} differs from the one in the database.",
                    version=migration.version,
                ),
                fix=Message(
                    "Use the version of presagio that set the database up, or a new database."
                ),
            )
    newest = migrations[-1].version if migrations else 0
    if applied and max(applied) > newest:
        raise StorageOutdated(
            Message("The database was set up by a newer version of presagio."),
            fix=Message(
                "Upgrade presagio on this machine, or return to the older tables as"
                " docs/database.md tells."
            ),
        )
    return [migration for migration in migrations if migration.version not in applied]


async def migrate(connection: Connection) -> list[str]:
    """Bring the database up to date and return the names of the migrations that ran here.

    Each migration is one transaction, which holds a lock: concurrent callers wait, and then run
    what is left. Raises StorageOutdated, StorageRights and the other storage errors.
    """
    ran: list[str] = []
    with mapped_storage_errors():
        await _require_unicode(connection)
        while migration := await _apply_next_migration(connection):
            ran.append(f"{migration.version:04} {migration.name}")
    return ran


async def _require_unicode(connection: Connection) -> None:
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise StorageError(
            Message("The database is in {encoding}, not in UTF-8.", encoding=encoding),
            fix=Message("Make one in UTF-8: createdb --template=template0 --encoding=UTF8 NAME"),
        )


async def _apply_next_migration(connection: Connection) -> Migration | None:
    """Run the next migration and return it, or None if none is left."""
    async with connection.transaction():
        await connection.execute("SET LOCAL statement_timeout = 0")  # an index build takes long
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK, timeout=_PATIENCE)
        await connection.execute(_TABLE)
        todo = select_pending(list_migrations(), await read_applied(connection))
        if not todo:
            return None
        migration = todo[0]
        await connection.execute(migration.sql, timeout=_PATIENCE)
        await connection.execute(
            "INSERT INTO migration (version, name, checksum) VALUES ($1, $2, $3)",
            *(migration.version, migration.name, migration.checksum),
        )
        return migration


async def check_migrations(connection: Connection) -> list[Migration]:
    """Return the migrations that still have to run, without running any."""
    with mapped_storage_errors():
        exists = await connection.fetchval("SELECT to_regclass('migration') IS NOT NULL")
        applied = await read_applied(connection) if exists else {}
    return select_pending(list_migrations(), applied)


async def read_applied(connection: Connection) -> dict[int, str]:
    """Return the checksums of the migrations that have run, by number."""
    rows = await connection.fetch("SELECT version, checksum FROM migration")
    return {row["version"]: row["checksum"] for row in rows}
