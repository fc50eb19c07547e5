"""Headlines for visitors to try, which the corpus that is shown answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.i18n.words import Words, marked, words_for
from bot.replies.dates import read_date
from bot.web.exhibits import exhibited
from bot.web.shared_state import SharedState
from bot.web.views import day_of, is_foretold
from engine.prophecy.headline import read_headline
from engine.types import Corpus, CorpusRole, Prophecy, SearchRequest

_MOST = 3
_KEPT_SECONDS = 86_400  # of stock: it is searched once, which takes a second


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
    """Return headlines that the corpus foretold, else some of the stock that it has texts for.

    They are in the language of the corpus. Raises StorageError.
    """
    foretold = (await exhibited(shared, corpus)).leads[:_MOST]
    if foretold:
        return [Example(lead.headline, day_of(lead.until)) for lead in foretold]
    said = words_for(_language(corpus, words))
    stock = [Example(said.say(headline)) for headline in STOCK]
    if corpus.role is CorpusRole.DEMONSTRATION:
        return BUNDLED[said.language]

    async def chosen() -> Sequence[Example]:
        return await _answered(shared, corpus, stock)

    key = ("examples", corpus.id, corpus.documents, said.language)
    return await shared.kept.get(key, chosen, seconds=_KEPT_SECONDS)


async def _answered(
    shared: SharedState, corpus: Corpus, examples: Sequence[Example]
) -> Sequence[Example]:
    """Return the headlines that the corpus answers well, or else the best answered ones."""
    good: list[Example] = []
    others: list[tuple[float, Example]] = []
    for example in examples if corpus.documents else ():
        prophecy = await _searched(shared, corpus, example)
        if is_foretold(prophecy):
            good.append(example)
        elif prophecy.hits:
            others.append((prophecy.hits[0].score, example))
        if len(good) == _MOST:
            break
    others.sort(key=lambda pair: -pair[0])
    return [*good, *(example for _, example in others)][:_MOST]


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
