"""The visitor of a page, what its forms send, and in which corpus a headline is searched."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qs, urlencode

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from bot.commands.pasted import read_pasted
from bot.i18n.words import DEFAULT, LANGUAGES, Words, words_for
from bot.listening import read_body
from bot.replies.dates import read_date
from bot.reply import MAX_HITS
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SharedState
from engine.corpora import ALL, choose_corpora, list_default_corpora
from engine.errors import UsageError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import prophesy_from_all
from engine.search import Mode, Prophecy, SearchRequest
from engine.values import Corpus, CorpusRole

_LONGEST_FORM = 20_000  # bytes
_LANGUAGES = {"english": "en", "spanish": "es"}
_MISTAKEN = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """`chosen` is the language that the URL names, if any."""

    words: Words
    chosen: str | None
    path: str
    query: tuple[tuple[str, str], ...]

    def link(self, path: str, **values: object) -> str:
        """Return a link within the page that keeps the chosen language."""
        given = {name: str(value) for name, value in values.items() if value not in (None, "")}
        if self.chosen:
            given.setdefault("lang", self.chosen)
        return f"{path}?{urlencode(given)}" if given else path

    def in_language(self, language: str) -> str:
        """Return a link to the same page in another language."""
        pairs = [pair for pair in self.query if pair[0] != "lang"]
        return f"{self.path}?{urlencode([*pairs, ('lang', language)])}"


def find_visitor(request: Request) -> Visitor:
    """Read the language from the URL, or else from the browser's Accept-Language header."""
    code = request.query_params.get("lang", "")
    from_address = code if code in LANGUAGES else None
    language = from_address or choose_language(request.headers.get("accept-language", ""))
    return Visitor(
        words=words_for(language),
        chosen=from_address,
        path=request.url.path,
        query=tuple(request.query_params.multi_items()),
    )


async def _read_visitor(request: Request) -> Visitor:
    return find_visitor(request)


VisitorOf = Annotated[Visitor, Depends(_read_visitor)]


def choose_language(header: str) -> str:
    """Return the language of LANGUAGES that an Accept-Language header prefers."""
    liked: list[tuple[float, str]] = []
    for part in header[:1000].split(","):
        tag, _, weight = part.strip().partition(";q=")
        code = tag.strip().split("-")[0].lower()
        if code in LANGUAGES:
            with suppress(ValueError):
                liked.append((float(weight or 1), code))
    best = max(liked, key=lambda pair: pair[0], default=(0.0, DEFAULT))
    return best[1] if best[0] > 0 else DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ProphecyForm:
    """The values of the prophecy form; its URL is the link to the answer."""

    headline: str = ""
    date: datetime | None = None
    corpus: str
    more: bool = False  # whether more texts are shown than usual

    @property
    def day(self) -> str:
        """Return the date as the form writes it, or "" without one."""
        return format_day(self.date) if self.date else ""


def read_prophecy_form(values: Mapping[str, str]) -> ProphecyForm:
    """Read the form. Raises UsageError."""
    headline = " ".join(values.get("headline", "").split())
    if len(headline) > LONGEST_TEXT:
        raise UsageError(
            Message("That headline has {length} characters.", length=len(headline)),
            fix=Message(
                "Up to {number} are read: paste the headline alone, or the link of the article.",
                number=LONGEST_TEXT,
            ),
        )
    date = values.get("date", "").strip()
    return ProphecyForm(
        headline=headline,
        date=read_date(date) if date else None,
        corpus=values.get("corpus", "").strip(),
        more=bool(values.get("more")),
    )


def build_answered_key(form: ProphecyForm) -> tuple[str, ProphecyForm]:
    """Return the key under which a cache holds that a headline was answered lately."""
    return "answered", replace(form, more=False)


async def note_answered(shared: SharedState, form: ProphecyForm) -> None:
    """Note that a headline was answered, so that its picture is not counted as another answer."""

    async def answer() -> bool:
        return True

    await shared.kept.get(build_answered_key(form), answer)


def recover_prophecy_form(request: Request, status: HTTPStatus) -> ProphecyForm | None:
    """Return what the form of headlines sent, for the page that says what was wrong with it.

    None if the form did not send it, or is not at fault. A corpus that is gone and a wrong date
    are left out.
    """
    if request.url.path != "/prophecy" or status not in _MISTAKEN:
        return None
    values = dict(request.query_params)
    values["headline"] = " ".join(values.get("headline", "").split())[:LONGEST_TEXT]
    if status is HTTPStatus.NOT_FOUND:
        values["corpus"] = ""
    try:
        return read_prophecy_form(values)
    except UsageError:
        return read_prophecy_form(values | {"date": ""})


def read_whole_number(request: Request, name: str, *, digits: int) -> int:
    """Return a parameter that is a whole number of so many digits at most, or 0 for any other."""
    given = request.query_params.get(name, "")
    return int(given) if given.isdecimal() and len(given) <= digits else 0


async def read_form(request: Request) -> dict[str, str]:
    """Read a short form. Raises HTTPException."""
    body = await read_body(request)
    if len(body) > _LONGEST_FORM:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    read = parse_qs(body.decode("utf-8", "replace"))
    return {name: values[-1] for name, values in read.items()}


def list_languages(corpus: Corpus) -> list[str]:
    """Return the languages of a corpus that the page speaks too."""
    return [_LANGUAGES[name] for name in corpus.query_languages if name in _LANGUAGES]


async def list_choices(
    shared: SharedState, name: str, language: str = "", *, may_be_all: bool = False
) -> tuple[list[Corpus], str]:
    """Return the corpora to choose from, those for demonstration last, and the chosen name: by
    default the largest fit, rather one in the `language` of the visitor.

    Where several `may_be_all` searched, "all" is a name too. Raises CorpusNotFound.
    """
    corpora = [
        corpus
        for corpus in await shared.app.corpora.list()
        if corpus.role is not CorpusRole.NEWS or name == corpus.name
    ]
    corpora.sort(key=lambda corpus: corpus.role is CorpusRole.DEMONSTRATION)
    if may_be_all and name == ALL:
        every = choose_corpora(corpora, ALL)
        return corpora, ALL if len(every) > 1 else every[0].name
    if name or len(corpora) < 2:
        return corpora, (await shared.app.corpus(name)).name
    fitting = list_default_corpora(corpora, configured=shared.settings.search.corpus)
    spoken = [corpus for corpus in fitting if language in list_languages(corpus)]
    best = max(spoken or fitting, key=lambda corpus: (corpus.documents, corpus.name))
    return corpora, best.name


async def build_lasting_link(
    shared: SharedState, visitor: Visitor, form: ProphecyForm, corpus: str
) -> str:
    """Return the URL that will still give the same answer tomorrow."""
    now = shared.now()
    headline, date = form.headline, form.date or now
    if "://" in headline:
        read = await read_pasted(shared.app, headline, now=now)
        headline, date = read.text, form.date or read.date or now
    return visitor.link(
        "/prophecy", headline=headline, date=format_day(date.astimezone(UTC)), corpus=corpus
    )


def own_address(request: Request) -> str:
    """Return what links to this page begin with: the address of the settings, else the one that
    this visitor uses."""
    shared: SharedState = request.app.state.shared
    return shared.own.address or str(request.base_url).rstrip("/")


def join_prophecy(
    shared: SharedState, form: ProphecyForm, *, returns: bool = False
) -> AbstractAsyncContextManager[asyncio.Task[Prophecy]]:
    """Return the answer under way, one for all who ask for it at the same time.

    With `returns`, it goes on for a page that asks again after its stream broke.
    """
    request = _build_request(shared, form)
    return shared.prophecies.join(
        form, lambda: shared.app.prophesy(request, corpus=form.corpus), returns=returns
    )


async def list_candidates(shared: SharedState, form: ProphecyForm) -> Prophecy:
    """Return what words alone propose for a headline, in some milliseconds and without a model.

    This is not logged, as the answer will be.
    """
    request = replace(_build_request(shared, form), judged=False, embeds=False, mode=Mode.LEXICAL)
    prophet = shared.app.prophet
    corpora = await shared.app.choose_corpora(form.corpus)
    return await prophesy_from_all(prophet, corpora, request)


def _build_request(shared: SharedState, form: ProphecyForm) -> SearchRequest:
    return SearchRequest(
        headline=read_headline(form.headline, date=form.date),
        limit=max(shared.settings.search.limit, MAX_HITS),  # to know whether there are more
        now=shared.now(),
    )


def format_day(moment: datetime | None) -> str:
    """Return the day (UTC) in ISO format, or "" if there is none."""
    return moment.astimezone(UTC).date().isoformat() if moment else ""
