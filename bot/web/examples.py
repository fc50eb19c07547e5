"""What pages show before anything is asked: what was lately foretold, and what one may try."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import quote

from bot.i18n.words import Words, marked, words_for
from bot.replies.dates import read_date, say_age
from bot.web.rendering import TextView, is_foretold, view_text
from bot.web.shared_state import SharedState
from bot.web.visitor import Visitor, format_day, list_languages
from db.posting.outbox import Outbox
from db.search.shown import DocumentLookup
from engine.answer.passages import extract_subject
from engine.posting.delivery import PublicPost
from engine.prophecy.headline import read_headline
from engine.search import Candidate, Headline, Prophecy, SearchRequest
from engine.text.address import address_candidate
from engine.values import Corpus, CorpusRole

MAX_POSTS = 30
_LATEST = 5  # of them, on the first page and that of an archive
_LONGEST_QUOTE = 280
_MAXIMUM = 3  # headlines or questions to try
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldView:
    """A headline and the old text that foretold it, as lists show them; paths are of this page."""

    title: str
    path: str  # of the answer to the headline
    picture_path: str
    text: TextView
    age: str  # how long before the news
    news_day: str  # ISO
    news_date: str

    @property
    def when(self) -> str:
        """The date of the text, how long before the news that was, its labels."""
        return " · ".join(filter(None, (self.text.date_text, self.age, *self.text.labels)))


@dataclass(frozen=True, slots=True)
class Example:
    """A headline, a question and a prompt on one subject; `day` is its date, "" for today."""

    headline: str
    day: str = ""
    question: str = ""
    prompt: str = ""


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


async def list_posted(
    shared: SharedState, corpora: Sequence[Corpus], *, limit: int = MAX_POSTS
) -> list[tuple[PublicPost, Candidate]]:
    """Return what was posted from feeds of the settings, newest first, with the texts out of
    `corpora`, which visitors may see. Texts that are gone are left out.

    Posts may be missing for some minutes. Raises StorageError.
    """
    database, by_name = shared.app.database, {corpus.name: corpus for corpus in corpora}
    read_posts = partial(Outbox(database).public_posts, [*by_name], limit=MAX_POSTS)
    texts = DocumentLookup(database)
    posted: list[tuple[PublicPost, Candidate]] = []
    for post in await shared.kept.get(("posts", *sorted(by_name)), read_posts):
        if len(posted) == limit:
            break
        corpus = by_name[post.corpus]
        if document := await texts.document(corpus, post.external_id):
            posted.append((post, address_candidate(document.candidate, corpus)))
    return posted


async def list_latest(
    shared: SharedState, corpora: Sequence[Corpus], visitor: Visitor
) -> list[ForetoldView]:
    """Return the newest posts, as lists show them. Raises StorageError."""
    posts = await list_posted(shared, corpora, limit=_LATEST)
    return [view_post(*post, visitor) for post in posts]


async def list_foretold_by(
    shared: SharedState, corpus: Corpus, external_id: str, *, limit: int
) -> Mapping[str, datetime]:
    """Return the headlines of posts with a text, and their dates. Raises StorageError."""
    outbox = Outbox(shared.app.database)
    posts = await outbox.public_posts([corpus.name], external_id=external_id, limit=limit)
    return {post.headline: post.published for post in posts}


def view_post(post: PublicPost, text: Candidate, visitor: Visitor) -> ForetoldView:
    """Return a post as lists show it."""
    picture = f"/card/{post.corpus}/{quote(post.external_id)}.png"
    return view_foretold(
        post.headline,
        post.published,
        post.corpus,
        text,
        visitor,
        title=post.title,
        picture_path=visitor.link(picture, headline=post.headline),
    )


def view_foretold(
    headline: str,
    published: datetime,
    corpus: str,
    text: Candidate,
    visitor: Visitor,
    *,
    title: str = "",
    picture_path: str = "",
) -> ForetoldView:
    """Return a headline and a text as lists show them."""
    words = visitor.words
    parameters = {"headline": headline, "date": format_day(published), "corpus": corpus}
    return ForetoldView(
        title=title or headline,
        path=visitor.link("/prophecy", **parameters),
        picture_path=picture_path or visitor.link("/picture.png", **parameters),
        text=view_text(text, corpus, words, longest=_LONGEST_QUOTE),
        age=say_age(text.created_at, published, words),
        news_day=parameters["date"],
        news_date=words.date(published),
    )


async def list_bundled_leads(
    shared: SharedState, corpora: Sequence[Corpus], visitor: Visitor, *, limit: int
) -> list[ForetoldView]:
    """Return prophecies of the bundled corpus, where that is shown. Raises StorageError."""
    bundled = [each for each in corpora if each.role is CorpusRole.DEMONSTRATION and each.documents]
    leads = list[ForetoldView]()
    for corpus in bundled[:1]:
        for example in BUNDLED[_choose_language(corpus, visitor.words)][:limit]:
            search = partial(_search, shared, corpus, _read_headline(example))
            key = ("lead", corpus.id, corpus.documents, example)
            lead = await shared.kept.get(key, search, seconds=_KEPT_SECONDS)
            if lead.hits and (date := lead.headline.date):
                text = lead.hits[0].candidate
                leads.append(view_foretold(example.headline, date, corpus.name, text, visitor))
    return leads


async def choose_examples(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[Example]:
    """Return the headlines of the settings, or those for which the corpus was lately posted, or
    some of the stock that it has texts for, in its language.

    Raises StorageError.
    """
    if configured := shared.settings.web.examples[:_MAXIMUM]:
        return [Example(headline) for headline in configured]
    if posted := await list_posted(shared, [corpus], limit=_MAXIMUM):
        return [Example(post.headline, format_day(post.published)) for post, _ in posted]
    if corpus.role is CorpusRole.DEMONSTRATION and corpus.documents:
        return BUNDLED[_choose_language(corpus, words)]
    trial = await _try_stock(shared, corpus, words, _read_headline, is_foretold)
    return [example for example, _ in trial.best]


async def list_samples(
    shared: SharedState, corpus: Corpus, words: Words
) -> Sequence[tuple[Example, TextView]]:
    """Return questions that the corpus has texts for, in its language, each with the nearest of
    them. No model is asked. Raises StorageError."""
    trial = await _try_stock(shared, corpus, words, _read_subject, _holds_subject)
    return [
        (example, view_text(text, corpus.name, words, longest=_LONGEST_SAMPLE))
        for example, text in trial.good or trial.best
    ]


def _choose_language(corpus: Corpus, words: Words) -> str:
    spoken = list_languages(corpus)
    return words.language if words.language in spoken or not spoken else spoken[0]


def _read_headline(example: Example) -> Headline:
    return read_headline(example.headline, date=read_date(example.day) if example.day else None)


def _read_subject(example: Example) -> Headline:
    return read_headline(extract_subject(example.question))


def _holds_subject(prophecy: Prophecy) -> bool:
    """Return whether the best text has each word that was searched for."""
    matched = {word for hit in prophecy.hits[:1] for word in hit.matched}
    return bool(matched) and all(matched & {term.word, term.shown} for term in prophecy.terms)


async def _search(shared: SharedState, corpus: Corpus, headline: Headline) -> Prophecy:
    # Not logged: nobody asked.
    request = SearchRequest(headline=headline, limit=1, now=shared.now(), judged=False)
    return await shared.app.prophet.prophesy(corpus, request)


async def _try_stock(
    shared: SharedState,
    corpus: Corpus,
    words: Words,
    read: Callable[[Example], Headline],
    is_good: Callable[[Prophecy], bool],
) -> "_Trial":
    """Return how well a corpus answers what `read` makes of the stock, in its language, as far as
    that is known. Raises StorageError."""
    language = _choose_language(corpus, words)

    async def begin_trial() -> _Trial:
        own_words = words_for(language)
        stock = [
            Example(
                own_words.say(headline),
                question=own_words.say(question),
                prompt=own_words.say(prompt),
            )
            for headline, question, prompt in STOCK
        ]
        bundled = BUNDLED[language] if corpus.role is CorpusRole.DEMONSTRATION else ()
        return _Trial([*bundled, *stock] if corpus.documents else [])

    key = ("examples", corpus.id, corpus.documents, language, read)
    trial = await shared.kept.get(key, begin_trial, seconds=_KEPT_SECONDS)
    await trial.go_on(lambda example: _search(shared, corpus, read(example)), is_good)
    return trial


class _Trial:
    """Which of some examples a corpus answers. No visitor waits for all of them to be tried."""

    def __init__(self, stock: Sequence[Example]) -> None:
        self._waiting = list(stock)
        self.good: list[tuple[Example, Candidate]] = []  # answered well, with the best text
        self._others: list[tuple[float, Example, Candidate]] = []  # by their score
        self._busy = False

    @property
    def best(self) -> Sequence[tuple[Example, Candidate]]:
        """The examples that are answered well, then those that are answered best."""
        others = sorted(self._others, key=lambda other: -other[0])
        return [*self.good, *((example, text) for _, example, text in others)][:_MAXIMUM]

    async def go_on(
        self, search: Callable[[Example], Awaitable[Prophecy]], is_good: Callable[[Prophecy], bool]
    ) -> None:
        """Try more examples, until there are enough good ones or the patience ends."""
        ends = time.monotonic() + _PATIENCE
        while self._waiting and len(self.good) < _MAXIMUM and not self._busy:
            self._busy = True
            try:
                example = self._waiting[0]
                prophecy = await search(example)
                self._waiting.remove(example)
            finally:
                self._busy = False
            for hit in prophecy.hits:
                if is_good(prophecy):
                    self.good.append((example, hit.candidate))
                else:
                    self._others.append((hit.score, example, hit.candidate))
            if time.monotonic() > ends:
                return
