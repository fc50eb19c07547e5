"""Reads documents for display: one by its id with its thread, comments, neighbours, dates."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import asyncpg

from db.connection import load_statements, read_row
from db.pool import Store
from db.search.find import found_document
from db.search.statements import add_places, quote_lexeme, read_candidate
from engine.corpora import Thread, ThreadMessage
from engine.query.results import Comment, FoundDocument, QueryAnswer
from engine.search import Candidate, Filters
from engine.text.clean import make_searchable
from engine.text.snippet import searched_words
from engine.values import Corpus, CorpusRole, Flag

_PLAN = load_statements("find")["plan_for_values"]
_LEFT_OUT = (Flag.REPOST.value, r"^(\s*https?://\S+)+\s*$")  # not their own words; links alone
MARK_BEGINS, MARK_ENDS = "\x02", "\x03"
_POSSESSIVE = re.compile(r"['’][sS]$")
_UNMARKED = dict.fromkeys(map(ord, (MARK_BEGINS, MARK_ENDS)))


class Comments(Store, sql="find"):
    """Reads answers to posts."""

    async def add_comments(self, corpus: Corpus, answer: QueryAnswer, maximum: int) -> QueryAnswer:
        """Add to each hit its strongest `maximum` comments: most likes and reposts, then oldest."""
        posts = [hit.document.candidate.external_id for hit in answer.hits]
        rows = await self._fetch_rows("comments", corpus.id, posts, maximum, corpus=corpus)
        comments: dict[str, list[Comment]] = defaultdict(list)
        for row in rows:
            comments[row["post"]].append(read_row(Comment, row))
        hits = (
            replace(hit, comments=tuple(comments[hit.document.candidate.external_id]))
            for hit in answer.hits
        )
        return replace(answer, hits=tuple(hits))


class Threads(Store, sql="shown"):
    """Reads threads and their messages."""

    async def list(self, corpus: Corpus, *, limit: int) -> Sequence[Thread]:
        """Return the threads with the latest messages."""
        rows = await self._fetch_rows("threads", corpus.id, limit, corpus=corpus)
        return [read_row(Thread, row) for row in rows]

    async def read(self, corpus: Corpus, thread: str, *, limit: int) -> Sequence[ThreadMessage]:
        """Return the first messages of a thread, oldest first; none if there is no such thread.

        Messages of the same second are in the order of the source.
        """
        rows = await self._fetch_rows("messages", corpus.id, thread, limit, corpus=corpus)
        return [read_row(ThreadMessage, row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOrigin:
    """Where a document comes from. `category` is that of its feed."""

    title: str | None
    source: str
    category: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveText:
    """A text as the pages of an archive list it."""

    candidate: Candidate
    engagement: int
    continues: bool  # a text that stands above it


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfYear:
    """One day of one year in an archive."""

    best: ArchiveText
    texts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The text before or after another one in time."""

    external_id: str
    text: str
    flags: Flag
    created_at: datetime


class DocumentLookup(Store, sql="shown"):
    """Reads single documents, and the texts of a corpus in the order of time."""

    async def document(self, corpus: Corpus, external_id: str) -> FoundDocument | None:
        """Return a document by its id at the source, or None."""
        if "\0" in external_id:  # no text in the database contains one
            return None
        async with self._database.connection() as connection:
            statement = self._find_statement("document", corpus)
            row = await connection.fetchrow(statement, corpus.id, external_id)
            if row is None:
                return None
            document = found_document(row)
            [candidate] = await add_places(connection, corpus, [document.candidate])
        return replace(document, candidate=candidate)

    async def list_texts(
        self, corpus: Corpus, begins: datetime, ends: datetime, *, limit: int, offset: int = 0
    ) -> Sequence[ArchiveText]:
        """Return texts from `begins` until before `ends`, oldest first; threads stand together."""
        statement = self._find_statement("texts_between", corpus)
        # A plan for any span takes half a minute for a year: it expects too few rows.
        async with self._database.transaction(_PLAN) as connection:
            rows = await connection.fetch(statement, begins, ends, limit, offset)
        return [_read_archived(row, continues=row["continues"]) for row in rows]

    async def list_on_day(self, corpus: Corpus, month: int, day: int) -> Sequence[DayOfYear]:
        """Return the text with the most likes of this day (UTC) of each year, oldest first."""
        rows = await self._fetch_rows("on_day", month, day, *_LEFT_OUT, corpus=corpus)
        return [DayOfYear(best=_read_archived(row), texts=row["texts"]) for row in rows]

    async def list_most_liked(self, corpus: Corpus, *, limit: int) -> Sequence[ArchiveText]:
        """Return the texts with the most likes and reposts, without reposts and links alone."""
        rows = await self._fetch_rows("most_liked", limit, *_LEFT_OUT, corpus=corpus)
        return [_read_archived(row) for row in rows]

    async def months(self, corpus: Corpus) -> Mapping[str, int]:
        """Return the number of texts by month (UTC, "2012-03"), without empty months."""
        rows = await self._fetch_rows("months", corpus=corpus)
        return {row["month"]: row["documents"] for row in rows}

    async def thread(self, corpus: Corpus, external_id: str, *, limit: int) -> Sequence[Neighbour]:
        """Return the thread that a text is a part of, oldest first, with the text itself."""
        rows = await self._fetch_rows("thread", external_id, limit, corpus=corpus)
        return [read_row(Neighbour, row) for row in rows]

    async def neighbours(
        self, corpus: Corpus, document: int, created_at: datetime
    ) -> tuple[Neighbour | None, Neighbour | None]:
        """Return the texts before and after a text, which was created at `created_at`."""
        rows = await self._fetch_rows("neighbours", document, created_at, corpus=corpus)
        by_side = {row["later"]: read_row(Neighbour, row) for row in rows}
        return by_side.get(False), by_side.get(True)

    async def mark_words(
        self, corpus: Corpus, ids: Sequence[int], lexemes: Collection[str]
    ) -> Mapping[int, str]:
        """Return texts by id, with marks around the words that become one of `lexemes`.

        Such marks in the texts themselves are removed.
        """
        if not lexemes or not ids:
            return {}
        wanted = "|".join(quote_lexeme(lexeme) for lexeme in sorted(lexemes))
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._find_statement("texts", corpus), corpus.id, ids)
            shown = {row["id"]: row["text"].translate(_UNMARKED) for row in rows}
            sought = {
                (spot.word, row["language"])
                for row in rows
                for spot in searched_words(shown[row["id"]])
            }
            found = await connection.fetch(
                self._sql["having"],
                [word for word, _ in sought],
                [language for _, language in sought],
                wanted,
                [make_searchable(word) for word, _ in sought],
            )
        having = {(row["word"], row["language"]) for row in found}
        return {
            row["id"]: _mark_words(
                shown[row["id"]], {word for word, language in having if language == row["language"]}
            )
            for row in rows
        }

    async def find_tagged(self, corpus: Corpus, ids: Sequence[int], tag: str) -> set[int]:
        """Return those of `ids` that have a tag."""
        rows = await self._fetch_rows("tagged", corpus.id, ids, tag, corpus=corpus)
        return {row["id"] for row in rows}

    async def has_tag(self, corpus: Corpus, tag: str) -> bool:
        """Return whether any document has a tag."""
        return bool(await self._fetch_value("has_tag", corpus.id, tag, corpus=corpus))

    async def categories(self) -> list[str]:
        """Return the categories of the feeds in lower case; the tags of what they bring."""
        rows = await self._fetch_rows("categories")
        return [row["category"] for row in rows]

    async def origins(self, corpus: Corpus, ids: Sequence[int]) -> Mapping[int, DocumentOrigin]:
        """Return where each of `ids` comes from."""
        categories = await self.categories()
        rows = await self._fetch_rows("origins", corpus.id, ids, corpus=corpus)
        news = corpus.role is CorpusRole.NEWS
        return {
            row["id"]: DocumentOrigin(
                title=row["title"],
                # The author of news is the title of their feed.
                source=(news and row["author"]) or row["domain"] or row["platform"] or corpus.name,
                category=next((tag for tag in row["tags"] if news or tag in categories), None),
            )
            for row in rows
        }

    async def count(self, corpus: Corpus, filters: Filters, tag: str | None = None) -> int:
        """Return how many documents pass the dates and the tag."""
        dates = (filters.since, filters.before)
        return int(await self._fetch_value("count", corpus.id, *dates, tag, corpus=corpus))


def _read_archived(row: asyncpg.Record, *, continues: bool = False) -> ArchiveText:
    return ArchiveText(
        candidate=read_candidate(row), engagement=row["engagement"], continues=continues
    )


def _mark_words(text: str, words: Collection[str]) -> str:
    """Return a text with marks around some of its words."""
    parts, at = [], 0
    for spot in searched_words(text):
        if spot.word in words:
            end = spot.start + len(_POSSESSIVE.sub("", spot.word))
            parts += [text[at : spot.start], MARK_BEGINS, text[spot.start : end], MARK_ENDS]
            at = end
    return "".join((*parts, text[at:]))
