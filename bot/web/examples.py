"""Headlines for visitors to try, which the corpus that is shown answers."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.i18n.words import Words, marked, words_for
from bot.replies.dates import read_date
from bot.web.charts import MonthChart, month_chart
from bot.web.shared_state import SharedState
from bot.web.views import day_of, is_foretold
from bot.web.visitor import wall_rule
from db.chat.wall import Wall
from db.corpus.health import Lead, Overview
from engine.prophecy.headline import read_headline
from engine.search import Prophecy, SearchRequest
from engine.values import Corpus, CorpusRole

_MOST_LEADS = 10
_MOST_TRIED = 3
_MOST_SUBJECTS = 12
_MOST_CORPORA = 12  # whose figures the wall adds up


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """The figures of one corpus."""

    corpus: Corpus
    chart: MonthChart | None  # None if it is empty
    leads: Sequence[Lead]  # the longest first
    subjects: Mapping[str, int]  # word -> headlines, most first
    approved: Sequence[Lead]  # what the operator posted or approved, the longest first


async def overview(shared: SharedState) -> Overview:
    """Return the reader of what may be shown. Raises StorageError."""
    database = shared.app.database
    return Overview(database, await wall_rule(database, shared.settings.web))


async def exhibited(shared: SharedState, corpus: Corpus) -> Exhibit:
    """Return the figures of a corpus, at most some minutes old. Raises StorageError."""
    database = shared.app.database
    rule = await wall_rule(database, shared.settings.web)

    async def counted() -> Exhibit:
        reader = Overview(database, rule)
        strict = Overview(database, replace(rule, trusted=(), voters=0))
        return Exhibit(
            corpus=corpus,
            chart=month_chart(await reader.months(corpus)),
            leads=await reader.leads(corpus, limit=_MOST_LEADS),
            subjects=await reader.subjects(corpus, limit=_MOST_SUBJECTS),
            approved=await strict.leads(corpus, limit=_MOST_TRIED),
        )

    decided = await Wall(database, rule).decided_last()  # what was removed is gone at once
    return await shared.kept.get(("exhibit", corpus.id, corpus.documents, decided), counted)


async def exhibited_together(
    shared: SharedState,
) -> tuple[Sequence[tuple[Corpus, Lead]], Sequence[tuple[Corpus, str, int]]]:
    """Return the longest leads and the most-foretold subjects of the largest corpora that are
    shown. Raises StorageError."""
    every = sorted(await shared.app.corpora.list(), key=lambda one: (-one.documents, one.name))
    shown = [await exhibited(shared, corpus) for corpus in every[:_MOST_CORPORA]]
    leads = [(one.corpus, lead) for one in shown for lead in one.leads]
    leads.sort(key=lambda pair: pair[1].created_at - pair[1].until)
    subjects = [(one.corpus, word, n) for one in shown for word, n in one.subjects.items()]
    subjects.sort(key=lambda row: (-row[2], row[1]))
    return leads[:_MOST_LEADS], subjects[:_MOST_SUBJECTS]


_MOST = 3
_KEPT_SECONDS = 86_400
_PATIENCE = 0.3  # seconds that one visitor waits for examples


@dataclass(frozen=True, slots=True)
class Example:
    """A headline; `day` is its date, "" for today."""

    headline: str
    day: str = ""


_LANGUAGES = {"english": "en", "spanish": "es"}

# What archives often speak of.
STOCK = (
    marked("Coffee prices hit a record high"),
    marked("Stock market falls sharply as investors panic"),
    marked("President refuses to accept the result of the election"),
    marked("New tariffs raise prices for consumers"),
    marked("Inflation eats up wages"),
    marked("Storm leaves thousands without power"),
    marked("Government shuts down after budget talks fail"),
    marked("Central bank raises interest rates again"),
    marked("Workers strike for higher pay"),
    marked("World Cup final decided on penalties"),
)
# Of the bundled corpus, which is written in both languages.
BUNDLED = {
    "en": (
        Example("Container Ship Wedged Across Canal Halts Trade for Sixth Day", "2021-03-28"),
        Example(
            "Flights Grounded Worldwide After Faulty Software Update Freezes Airport Computers",
            "2024-07-19",
        ),
        Example(
            "Bank Collapses After Customers Withdraw Deposits by Phone in One Afternoon",
            "2023-03-11",
        ),
    ),
    "es": (
        Example(
            "Un apagón deja sin luz a toda la costa y paraliza trenes y ascensores", "2023-08-16"
        ),
        Example(
            "El pan sube por décima vez en un año y la inflación se come los sueldos", "2022-10-07"
        ),
        Example("Robots sustituyen a los camareros en los restaurantes del puerto", "2023-07-02"),
    ),
}


async def examples_of(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[Example]:
    """Return the headlines of the settings, or some that the corpus foretold and the operator
    posted or approved, or some of the stock that it has texts for, in its language.

    Raises StorageError.
    """
    if chosen := shared.settings.web.examples[:_MOST]:
        return [Example(headline) for headline in chosen]
    if foretold := (await exhibited(shared, corpus)).approved[:_MOST]:
        return [Example(lead.headline, day_of(lead.until)) for lead in foretold]
    said = words_for(_language(corpus, words))
    stock = [Example(said.say(headline)) for headline in STOCK]
    if corpus.role is CorpusRole.DEMONSTRATION and corpus.documents:
        return BUNDLED[said.language]

    async def begun() -> _Trial:
        return _Trial(stock if corpus.documents else [])

    key = ("examples", corpus.id, corpus.documents, said.language)
    trial = await shared.kept.get(key, begun, seconds=_KEPT_SECONDS)
    await trial.go_on(lambda example: _searched(shared, corpus, example))
    return trial.best


class _Trial:
    """Which of some headlines a corpus answers. No visitor waits for all of them to be tried."""

    def __init__(self, stock: Sequence[Example]) -> None:
        self._waiting = list(stock)
        self._good: list[Example] = []
        self._others: list[tuple[float, Example]] = []
        self._busy = False

    @property
    def best(self) -> Sequence[Example]:
        """The headlines that are answered well, then those that are answered best."""
        others = sorted(self._others, key=lambda pair: -pair[0])
        return [*self._good, *(example for _, example in others)][:_MOST]

    async def go_on(self, search: Callable[[Example], Awaitable[Prophecy]]) -> None:
        """Try more headlines, until there are enough good ones or the patience ends."""
        ends = time.monotonic() + _PATIENCE
        while self._waiting and len(self._good) < _MOST and not self._busy:
            self._busy = True
            try:
                example = self._waiting[0]
                self._note(example, await search(example))
                self._waiting.remove(example)
            finally:
                self._busy = False
            if time.monotonic() > ends:
                return

    def _note(self, example: Example, prophecy: Prophecy) -> None:
        if is_foretold(prophecy):
            self._good.append(example)
        elif prophecy.hits:
            self._others.append((prophecy.hits[0].score, example))


async def _searched(shared: SharedState, corpus: Corpus, example: Example) -> Prophecy:
    # Not logged: nobody asked.
    request = SearchRequest(
        headline=read_headline(
            example.headline, date=read_date(example.day) if example.day else None
        ),
        limit=1,
        now=shared.now(),
        judged=False,
    )
    return await shared.app.prophet.prophesy(corpus, request)


def _language(corpus: Corpus, words: Words) -> str:
    spoken = [_LANGUAGES[one] for one in corpus.read_in if one in _LANGUAGES]
    return words.language if words.language in spoken or not spoken else spoken[0]
