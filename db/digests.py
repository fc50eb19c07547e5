"""Which local dates were decided; db.outbox decides them."""

from collections.abc import Mapping
from datetime import date

from db.pool import Database
from db.statements import statements


class Digests:
    """Reads the digest table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("digests")

    async def last_decided(self) -> Mapping[int, date]:
        """Return the last local date that was decided, by chat; chats without one are not in it."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["last_decided"])
        return {row["chat_id"]: row["local_date"] for row in rows}
