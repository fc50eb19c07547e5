"""Reads documents for display: one by its id, comments on it, threads in order."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import asyncpg

from db.connection import load_statements
from db.corpus.corpora import CorpusReader, about_corpus
from db.search.find import found_document
from db.search.statements import add_places, quote_lexeme, read_candidate
from engine.corpora import Thread, ThreadMessage
from engine.query.results import Comment, FoundDocument, QueryAnswer
from engine.search import Candidate, Filters
from engine.text.clean import make_searchable
from engine.text.snippet import searched_words
from engine.values import Corpus, CorpusRole, Flag

_PLAN = load_statements("find")["plan_for_values"]
_NOT_OWN = Flag.REPOST.value
_LINKS_ALONE = r"^(\s*https?://\S+)+\s*$"
MARK_BEGINS, MARK_ENDS = "\x02", "\x03"
_POSSESSIVE = re.compile(r"['’][sS]$")
_UNMARKED = dict.fromkeys(map(ord, (MARK_BEGINS, MARK_ENDS)))


class Comments(CorpusReader, sql="find"):
    """Reads answers to posts."""

    async def add_comments(self, corpus: Corpus, answer: QueryAnswer, maximum: int) -> QueryAnswer:
        """Add to each hit its strongest `maximum` comments: most likes and reposts, then oldest."""
        posts = [hit.document.candidate.external_id for hit in answer.hits]
        rows = await self._read_rows(corpus, "comments", corpus.id, posts, maximum)
        comments: dict[str, list[Comment]] = defaultdict(list)
        for row in rows:
            values = dict(row)
            comments[values.pop("post")].append(Comment(**values))
        hits = (
            replace(hit, comments=tuple(comments[hit.document.candidate.external_id]))
            for hit in answer.hits
        )
        return replace(answer, hits=tuple(hits))


class Threads(CorpusReader, sql="threads"):
    """Reads threads and their messages."""

    async def list(self, corpus: Corpus, *, limit: int) -> Sequence[Thread]:
        """Return the threads with the latest messages."""
        rows = await self._read_rows(corpus, "list", corpus.id, limit)
        return [Thread(**dict(row)) for row in rows]

    async def read(self, corpus: Corpus, thread: str, *, limit: int) -> Sequence[ThreadMessage]:
        """Return the first messages of a thread, oldest first; none if there is no such thread.

        Messages of the same second are in the order of the source.
        """
        rows = await self._read_rows(corpus, "read", corpus.id, thread, limit)
        return [ThreadMessage(**(dict(row) | {"flags": Flag(row["flags"])})) for row in rows]


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


class DocumentLookup(CorpusReader, sql="shown"):
    """Reads single documents."""

    async def document(self, corpus: Corpus, external_id: str) -> FoundDocument | None:
        """Return a document by its id at the source, or None."""
        if "\0" in external_id:  # no text in the database contains one
            return None
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                about_corpus("shown", "document", corpus.id), corpus.id, external_id
            )
            if row is None:
                return None
            document = found_document(row)
            [candidate] = await add_places(connection, corpus, [document.candidate])
        return replace(document, candidate=candidate)

    async def list_texts(
        self,
        corpus: Corpus,
        begins: datetime,
        ends: datetime,
        *,
        limit: int,
        offset: int = 0,
    ) -> Sequence[ArchiveText]:
        """Return texts from `begins` until before `ends`, oldest first; threads stand together."""
        statement = about_corpus("overview", "texts", corpus.id)
        # A plan for any span takes half a minute for a year: it expects too few rows.
        async with self._database.transaction(_PLAN) as connection:
            rows = await connection.fetch(statement, begins, ends, limit, offset)
        return [_read_archived(row, continues=row["continues"]) for row in rows]

    async def list_on_day(self, corpus: Corpus, month: int, day: int) -> Sequence[DayOfYear]:
        """Return the text with the most likes of this day (UTC) of each year, oldest first."""
        statement = about_corpus("overview", "on_day", corpus.id)
        async with self._database.connection() as connection:
            rows = await connection.fetch(statement, month, day, _NOT_OWN, _LINKS_ALONE)
        return [DayOfYear(best=_read_archived(row), texts=row["texts"]) for row in rows]

    async def list_most_liked(self, corpus: Corpus, *, limit: int) -> Sequence[ArchiveText]:
        """Return the texts with the most likes and reposts, without reposts and links alone."""
        statement = about_corpus("overview", "most_liked", corpus.id)
        async with self._database.connection() as connection:
            rows = await connection.fetch(statement, limit, _NOT_OWN, _LINKS_ALONE)
        return [_read_archived(row) for row in rows]

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
            texts = about_corpus("shown", "texts", corpus.id)
            rows = await connection.fetch(texts, corpus.id, ids)
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
        rows = await self._read_rows(corpus, "tagged", corpus.id, ids, tag)
        return {row["id"] for row in rows}

    async def has_tag(self, corpus: Corpus, tag: str) -> bool:
        """Tell whether any document has a tag."""
        return bool(await self._read_value(corpus, "has_tag", corpus.id, tag))

    async def categories(self) -> list[str]:
        """Return the categories of the feeds in lower case; the tags of what they bring."""
        rows = await self._fetch_rows("categories")
        return [row["category"] for row in rows]

    async def origins(self, corpus: Corpus, ids: Sequence[int]) -> Mapping[int, DocumentOrigin]:
        """Return where each of `ids` comes from."""
        categories = await self.categories()
        rows = await self._read_rows(corpus, "origins", corpus.id, ids)
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
        return int(await self._read_value(corpus, "count", corpus.id, *dates, tag))


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
