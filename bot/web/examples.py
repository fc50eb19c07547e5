"""Headlines and questions for visitors to try."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.i18n.words import Words, marked, words_for
from bot.replies.dates import read_date
from bot.reply import format_signature, name_flags, say_date
from bot.web.foretold import ForetoldView, list_posted, view_foretold
from bot.web.rendering import Piece, is_foretold, view_text
from bot.web.shared_state import SharedState
from bot.web.visitor import Visitor, format_day, list_languages
from engine.answer.passages import extract_subject
from engine.prophecy.headline import read_headline
from engine.search import Candidate, Prophecy, SearchRequest
from engine.values import Corpus, CorpusRole

_MAXIMUM = 3
_KEPT_SECONDS = 86_400
_LONGEST_SAMPLE = 240  # characters
_PATIENCE = 0.3  # seconds that one visitor waits for examples

# What archives often speak of, as a headline, as a question, and to write about.
STOCK = (
    (
        marked("New tariffs raise prices for consumers"),
        marked("What was said about tariffs?"),
        marked("Tariffs, then and now"),
    ),
    (
        marked("Inflation eats up wages"),
        marked("What was said about inflation?"),
        marked("Inflation, then and now"),
    ),
    (
        marked("Coffee prices hit a record high"),
        marked("What was said about coffee prices?"),
        marked("Coffee prices, then and now"),
    ),
    (
        marked("Storm leaves thousands without power"),
        marked("What was said about power cuts?"),
        marked("Power cuts, then and now"),
    ),
    (
        marked("Stock market falls sharply as investors panic"),
        marked("What was said about the stock market?"),
        marked("The stock market, then and now"),
    ),
    (
        marked("President refuses to accept the result of the election"),
        marked("What was said about elections?"),
        marked("Elections, then and now"),
    ),
    (
        marked("Government shuts down after budget talks fail"),
        marked("What was said about a government shutdown?"),
        marked("Government shutdowns, then and now"),
    ),
    (
        marked("Central bank raises interest rates again"),
        marked("What was said about interest rates?"),
        marked("Interest rates, then and now"),
    ),
    (
        marked("Workers strike for higher pay"),
        marked("What was said about strikes?"),
        marked("Strikes, then and now"),
    ),
    (
        marked("World Cup final decided on penalties"),
        marked("What was said about the World Cup?"),
        marked("The World Cup, then and now"),
    ),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A headline, a question and a prompt on one subject; `day` is its date, "" for today."""

    headline: str
    day: str = ""
    question: str = ""
    prompt: str = ""
    text: Candidate | None = None  # the text that comes nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuestion:
    """A question, a prompt, and the text that comes nearest to the question, as pages show them."""

    question: str
    prompt: str
    pieces: Sequence[Piece]
    is_cut: bool
    lang: str | None
    author: str | None
    date_text: str
    labels: Sequence[str]


# Of the bundled corpus, which is written in both languages.
BUNDLED = {
    "en": (
        Example(
            "Container Ship Wedged Across Canal Halts Trade for Sixth Day",
            "2021-03-28",
            "What was said about the canal?",
            "The canal, then and now",
        ),
        Example(
            "Flights Grounded Worldwide After Faulty Software Update Freezes Airport Computers",
            "2024-07-19",
            "What was said about computers?",
            "Computers, then and now",
        ),
        Example(
            "Bank Collapses After Customers Withdraw Deposits by Phone in One Afternoon",
            "2023-03-11",
            "What was said about banks?",
            "Banks, then and now",
        ),
    ),
    "es": (
        Example(
            "Un apagón deja sin luz a toda la costa y paraliza trenes y ascensores",
            "2023-08-16",
            "¿Qué se dijo sobre los apagones?",
            "Los apagones, antes y ahora",
        ),
        Example(
            "El pan sube por décima vez en un año y la inflación se come los sueldos",
            "2022-10-07",
            "¿Qué se dijo sobre el pan?",
            "El pan, antes y ahora",
        ),
        Example(
            "Robots sustituyen a los camareros en los restaurantes del puerto",
            "2023-07-02",
            "¿Qué se dijo sobre los robots?",
            "Los robots, antes y ahora",
        ),
    ),
}


async def list_bundled_leads(
    shared: SharedState, corpora: Sequence[Corpus], visitor: Visitor, *, limit: int
) -> list[ForetoldView]:
    """Return prophecies of the bundled corpus, where that is shown. Raises StorageError."""
    bundled = [each for each in corpora if each.role is CorpusRole.DEMONSTRATION and each.documents]
    leads = [
        await _find_lead(shared, corpus, example, visitor)
        for corpus in bundled[:1]
        for example in BUNDLED[_choose_language(corpus, visitor.words)][:limit]
    ]
    return [lead for lead in leads if lead]


async def _find_lead(
    shared: SharedState, corpus: Corpus, example: Example, visitor: Visitor
) -> ForetoldView | None:
    search = partial(_search_example, shared, corpus, example)
    key = ("lead", corpus.id, corpus.documents, example)
    lead = await shared.kept.get(key, search, seconds=_KEPT_SECONDS)
    if not lead.hits or not (date := lead.headline.date):
        return None
    text = lead.hits[0].candidate
    return view_foretold(example.headline, date, corpus.name, text, visitor)


async def choose_examples(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[Example]:
    """Return the headlines of the settings, or those for which the corpus was lately posted, or
    some of the stock that it has texts for, in its language.

    Raises StorageError.
    """
    if configured := shared.settings.web.examples[:_MAXIMUM]:
        return [Example(headline) for headline in configured]
    if posted := await list_posted(shared, [corpus], limit=_MAXIMUM):
        return [Example(post.headline, format_day(post.published)) for post, _ in posted]
    return await _try_stock(shared, corpus, words)


async def list_samples(
    shared: SharedState, corpus: Corpus, words: Words
) -> Sequence[SampleQuestion]:
    """Return questions that the corpus has texts for, in its language. No model is asked.

    Raises StorageError.
    """
    examples = await _try_stock(shared, corpus, words, asks=True)
    return [_describe_sample(example, example.text, words) for example in examples if example.text]


def _describe_sample(example: Example, text: Candidate, words: Words) -> SampleQuestion:
    return SampleQuestion(
        question=example.question,
        prompt=example.prompt,
        pieces=view_text(text, words, longest=_LONGEST_SAMPLE),
        is_cut=len(text.text) > _LONGEST_SAMPLE,
        lang=text.lang,
        author=format_signature(text.voice, text.author, in_item=text.place is not None),
        date_text=say_date(text.created_at, text.dated_by, words),
        labels=name_flags(text.flags.names, words),
    )


async def _try_stock(
    shared: SharedState, corpus: Corpus, words: Words, *, asks: bool = False
) -> Sequence[Example]:
    """Return some of the stock that the corpus has texts for, in its language: for the headline,
    or, if it `asks`, for the question. Raises StorageError."""
    own_words = words_for(_choose_language(corpus, words))
    stock = [
        Example(
            own_words.say(headline), question=own_words.say(question), prompt=own_words.say(prompt)
        )
        for headline, question, prompt in STOCK
    ]
    if corpus.role is CorpusRole.DEMONSTRATION:
        if corpus.documents and not asks:
            return BUNDLED[own_words.language]
        stock = [*BUNDLED[own_words.language], *stock]

    async def begin_trial() -> _Trial:
        return _Trial(stock if corpus.documents else [], _holds_subject if asks else is_foretold)

    key = ("examples", corpus.id, corpus.documents, own_words.language, asks)
    trial = await shared.kept.get(key, begin_trial, seconds=_KEPT_SECONDS)
    await trial.go_on(partial(_search_example, shared, corpus, asks=asks))
    return (trial.good or trial.best) if asks else trial.best


def _holds_subject(prophecy: Prophecy) -> bool:
    """Return whether the best text has each word that was searched for."""
    matched = {word for hit in prophecy.hits[:1] for word in hit.matched}
    return bool(matched) and all(matched & {term.word, term.shown} for term in prophecy.terms)


class _Trial:
    """Which of some examples a corpus answers. No visitor waits for all of them to be tried."""

    def __init__(self, stock: Sequence[Example], is_good: Callable[[Prophecy], bool]) -> None:
        self._waiting = list(stock)
        self._is_good = is_good
        self.good: list[Example] = []  # that are answered well
        self._others: list[tuple[float, Example]] = []
        self._busy = False

    @property
    def best(self) -> Sequence[Example]:
        """The examples that are answered well, then those that are answered best."""
        others = sorted(self._others, key=lambda pair: -pair[0])
        return [*self.good, *(example for _, example in others)][:_MAXIMUM]

    async def go_on(self, search: Callable[[Example], Awaitable[Prophecy]]) -> None:
        """Try more examples, until there are enough good ones or the patience ends."""
        ends = time.monotonic() + _PATIENCE
        while self._waiting and len(self.good) < _MAXIMUM and not self._busy:
            self._busy = True
            try:
                example = self._waiting[0]
                self._note_example(example, await search(example))
                self._waiting.remove(example)
            finally:
                self._busy = False
            if time.monotonic() > ends:
                return

    def _note_example(self, example: Example, prophecy: Prophecy) -> None:
        if prophecy.hits:
            example = replace(example, text=prophecy.hits[0].candidate)
        if self._is_good(prophecy):
            self.good.append(example)
        elif prophecy.hits:
            self._others.append((prophecy.hits[0].score, example))


async def _search_example(
    shared: SharedState, corpus: Corpus, example: Example, *, asks: bool = False
) -> Prophecy:
    # Not logged: nobody asked.
    date = read_date(example.day) if example.day and not asks else None
    request = SearchRequest(
        headline=read_headline(
            extract_subject(example.question) if asks else example.headline, date=date
        ),
        limit=1,
        now=shared.now(),
        judged=False,
    )
    return await shared.app.prophet.prophesy(corpus, request)


def _choose_language(corpus: Corpus, words: Words) -> str:
    spoken = list_languages(corpus)
    return words.language if words.language in spoken or not spoken else spoken[0]
