"""Headlines for visitors to try, which the corpus that is shown answers."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.i18n.words import Words, marked, words_for
from bot.replies.dates import read_date
from bot.web.exhibits import exhibited
from bot.web.shared_state import SharedState
from bot.web.views import day_of, is_foretold
from engine.prophecy.headline import read_headline
from engine.search import Prophecy, SearchRequest
from engine.types import Corpus, CorpusRole

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
