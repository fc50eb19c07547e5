"""Stores pages of the web; implements engine.web.types.WebCache."""

from datetime import datetime

from db.pool import Database
from db.statements import statements
from engine.web.types import FetchedPage


class WebPages:
    """Pages by the canonical address that they were asked for by."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("web_cache")

    async def get(self, address: str) -> FetchedPage | None:
        """Return the stored page, or None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["page"], address)
        if row is None:
            return None
        return FetchedPage(
            url=row["url"],
            title=row["title"],
            author=row["author"],
            site=row["site"],
            date=row["published_at"],
            text=row["text"],
            etag=row["etag"],
            last_modified=row["last_modified"],
            fetched_at=row["fetched_at"],
        )

    async def put(self, address: str, page: FetchedPage) -> None:
        """Store a page in place of an older one."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["store_page"],
                address,
                page.url,
                page.title,
                page.author,
                page.site,
                page.date,
                page.text,
                page.etag,
                page.last_modified,
                page.fetched_at,
            )

    async def forget(self, *, before: datetime, most_bytes: int) -> int:
        """Remove pages fetched before `before`, and the oldest ones beyond `most_bytes` of text.

        Returns how many were removed.
        """
        async with self._database.connection() as connection:
            return int(await connection.fetchval(self._sql["forget_pages"], before, most_bytes))
