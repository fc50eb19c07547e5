"""What others answered to a post, in the same corpus."""

from collections import defaultdict
from dataclasses import replace

from db.partitions import about_corpus
from db.pool import Database
from engine.find_types import Comment, Found
from engine.types import Corpus


class Comments:
    """Reads answers to posts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def added(self, corpus: Corpus, found: Found, most: int) -> Found:
        """Give each hit its strongest `most` comments: most likes and reposts, then oldest."""
        posts = [hit.document.candidate.external_id for hit in found.hits]
        async with self._database.connection() as connection:
            comments_of = about_corpus("find", "comments", corpus.id)
            rows = await connection.fetch(comments_of, corpus.id, posts, most)
        comments: dict[str, list[Comment]] = defaultdict(list)
        for row in rows:
            values = dict(row)
            comments[values.pop("post")].append(Comment(**values))
        hits = (
            replace(hit, comments=tuple(comments[hit.document.candidate.external_id]))
            for hit in found.hits
        )
        return replace(found, hits=tuple(hits))
