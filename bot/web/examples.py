"""Headlines for visitors to try, which the corpus that is shown answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.i18n.words import Words, marked, words_for
from bot.web.exhibits import exhibited
from bot.web.shared_state import SharedState
from bot.web.views import day_of, is_foretold
from engine.prophecy.headline import read_headline
from engine.types import Corpus, Prophecy, SearchRequest

_MOST = 3
_LANGUAGES = {"english": "en", "spanish": "es"}

# The bundled corpus answers the first three; the others are what archives often speak of.
STOCK = (
    marked("Container ship blocks canal"),
    marked("Faulty software update grounds flights"),
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


@dataclass(frozen=True, slots=True)
class Example:
    """A headline; `day` is its date, "" for today."""

    headline: str
    day: str = ""


async def examples_of(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[Example]:
    """Return headlines that the corpus foretold, else some of the stock that it has texts for.

    They are in the language of the corpus. Raises StorageError.
    """
    foretold = (await exhibited(shared, corpus)).leads[:_MOST]
    if foretold:
        return [Example(lead.headline, day_of(lead.until)) for lead in foretold]
    said = words_for(_language(corpus, words))

    async def chosen() -> Sequence[Example]:
        return await _answered(shared, corpus, [said.say(one) for one in STOCK])

    key = ("examples", corpus.id, corpus.documents, said.language)
    return await shared.kept.get(key, chosen)


async def _answered(
    shared: SharedState, corpus: Corpus, headlines: Sequence[str]
) -> Sequence[Example]:
    """Return the headlines that the corpus answers well, or else the best answered ones."""
    good: list[str] = []
    others: list[tuple[float, str]] = []
    for headline in headlines if corpus.documents else ():
        prophecy = await _searched(shared, corpus, headline)
        if is_foretold(prophecy):
            good.append(headline)
        elif prophecy.hits:
            others.append((prophecy.hits[0].score, headline))
        if len(good) == _MOST:
            break
    best = [headline for _, headline in sorted(others, reverse=True)]
    return [Example(headline) for headline in (*good, *best)][:_MOST]


async def _searched(shared: SharedState, corpus: Corpus, headline: str) -> Prophecy:
    # Not logged: nobody asked.
    request = SearchRequest(
        headline=read_headline(headline), limit=1, now=shared.now(), judged=False, embeds=False
    )
    return await shared.app.prophet.prophesy(corpus, request)


def _language(corpus: Corpus, words: Words) -> str:
    spoken = [_LANGUAGES[one] for one in corpus.read_in if one in _LANGUAGES]
    return words.language if words.language in spoken or not spoken else spoken[0]
