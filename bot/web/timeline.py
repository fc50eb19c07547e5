"""The matches of a query in a corpus by time: all of them counted, the best of them shown."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC

from bot.i18n.words import Words
from bot.queries.find import find, months
from bot.web.charts import MonthChart, every_month, month_chart
from bot.web.shared_state import SharedState
from bot.web.views import Piece, day_of, pieces_of, web_address
from db.search.shown import Shown
from engine.errors import UsageError
from engine.messages import Message
from engine.query.types import FindHit, Found

MOST = 300  # texts on one page
_SPAN = re.compile(r"\d{4}(-\d{2})?")
_YEARS = 3  # shorter periods are counted by month


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One text."""

    id: str
    day: str
    date_text: str
    author: str | None
    url: str | None
    lang: str | None
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A year ("2015") or a month ("2015-03") with its texts."""

    name: str
    texts: int  # in total
    entries: Sequence[TimelineEntry]  # the texts that are shown
    percent: int  # of the span with the most texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All spans from the first text to the last, empty ones included."""

    found: Found
    spans: Sequence[Span]
    by_year: bool
    chart: MonthChart | None  # None if there are no texts

    @property
    def texts(self) -> int:
        """Return the total number of texts."""
        return sum(span.texts for span in self.spans)

    @property
    def shown(self) -> int:
        """Return the number of texts on the page."""
        return sum(len(span.entries) for span in self.spans)

    @property
    def alike(self) -> int:
        """Return how many texts are left out because they nearly repeat a listed one."""
        return sum(hit.alike for hit in self.found.hits)

    def summary(self, words: Words) -> str:
        """Return how many texts there are, and how many of them are listed."""
        if self.alike and self.texts == self.shown + self.alike:
            return words.say(
                "{texts} texts say that; {alike} of them repeat others and are not listed.",
                texts=words.number(self.texts),
                alike=words.number(self.alike),
            )
        if self.texts > self.shown:
            return words.say(
                "{texts} texts say that; the best {shown} are listed.",
                texts=words.number(self.texts),
                shown=words.number(self.shown),
            )
        return words.count("{number} text says that.", "{number} texts say that.", self.texts)


async def timeline(
    shared: SharedState, query: str, corpus: str, words: Words, when: str = ""
) -> Timeline:
    """Return the counts and the best hits of a dialect query, oldest first.

    `when` is the year ("2015") or month ("2015-03") that is looked at; "" is the whole time.

    Raises CorpusNotFound, UsageError, StorageError.
    """
    known = await shared.corpus(corpus)
    if when:
        if not _SPAN.fullmatch(when):
            raise UsageError(Message("{when!r} is no year or month.", when=when))
        query = f"on:{when} {query}"  # in front, where no open quote can swallow it
    found = await find(shared.app, query, corpus=known.name, limit=MOST)
    if found.hits and found.corpus != known.name:  # the query names another corpus
        known = await shared.corpus(found.corpus)
    lexemes = {one for hit in found.hits for match in hit.matched for one in match.lexemes}
    ids = [hit.document.candidate.id for hit in found.hits]
    marked = await Shown(shared.app.database).marked(known, ids, lexemes)
    counted = await months(shared.app, known, found) if found.hits else {}
    by_year = bool(counted) and _year(max(counted)) - _year(min(counted)) >= _YEARS
    texts = _by_span(counted, by_year=by_year)
    entries: dict[str, list[TimelineEntry]] = {name: [] for name in texts}
    for hit in sorted(found.hits, key=lambda hit: (hit.created_at, hit.document.candidate.id)):
        candidate = hit.document.candidate
        text = marked.get(candidate.id, candidate.text)
        # A text added between the two queries may have no span.
        entries.setdefault(_name(hit, by_year=by_year), []).append(_entry(hit, text, words))
    most = max(texts.values(), default=0)
    spans = [
        Span(name=name, texts=number, entries=entries[name], percent=round(100 * number / most))
        for name, number in texts.items()
    ]
    return Timeline(found=found, spans=spans, by_year=by_year, chart=month_chart(counted))


def _entry(hit: FindHit, text: str, words: Words) -> TimelineEntry:
    found = hit.document.candidate
    return TimelineEntry(
        id=found.external_id,
        day=day_of(found.created_at),
        date_text=words.date(found.created_at.astimezone(UTC)),
        author=found.author,
        url=web_address(found.url),
        lang=found.lang,
        pieces=pieces_of(text),
    )


def _by_span(counted: Mapping[str, int], *, by_year: bool) -> Mapping[str, int]:
    """Return the counts of all spans from the first month ("2012-03") to the last."""
    if not counted:
        return {}
    length = 4 if by_year else 7
    texts = Counter[str]()
    for month, number in counted.items():
        texts[month[:length]] += number
    names = dict.fromkeys(month[:length] for month in every_month(counted))
    return {name: texts[name] for name in names}


def _name(hit: FindHit, *, by_year: bool) -> str:
    return day_of(hit.created_at)[: 4 if by_year else 7]


def _year(month: str) -> int:
    return int(month[:4])
