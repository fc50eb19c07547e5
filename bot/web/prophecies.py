"""A headline that was asked on the page: where it is looked for, and the address of its answer."""

from datetime import UTC

from bot.web.shared_state import SharedState
from bot.web.views import day_of
from bot.web.visitor import Asked, Visitor
from engine.corpora import meant_corpora
from engine.prophecy.headline import read_headline
from engine.types import Corpus, CorpusRole, Prophecy, SearchRequest


async def corpora_to_choose(desk: SharedState, asked: str) -> tuple[list[Corpus], str]:
    """Return what may be chosen, and what is: of several that are meant alike, the largest.

    Raises CorpusNotFound.
    """
    shown = [
        one
        for one in await desk.app.corpora.list()
        if one.role is not CorpusRole.NEWS or asked == one.name
    ]
    if asked or len(shown) < 2:
        return shown, (await desk.corpus(asked)).name
    meant = meant_corpora(shown, configured=desk.settings.search.corpus)
    return shown, max(meant, key=lambda one: (one.documents, one.name)).name


async def lasting_link(desk: SharedState, visitor: Visitor, asked: Asked, corpus: str) -> str:
    """Return the address under which the same answer stands tomorrow."""
    now = desk.now()
    headline, date = asked.headline, asked.date or now
    if "://" in headline:
        read = await desk.read_headline(headline, now=now)
        headline, date = read.text, asked.date or read.date or now
    return visitor.link(
        "/prophecy", headline=headline, date=day_of(date.astimezone(UTC)), corpus=corpus
    )


async def answered(desk: SharedState, asked: Asked) -> Prophecy:
    """Answer a headline; asked again, the judge's word comes from the cache."""
    request = SearchRequest(
        headline=read_headline(asked.headline, date=asked.date),
        limit=desk.settings.search.limit,
        now=desk.now(),
    )
    return await desk.prophesy(await desk.corpus(asked.corpus), request)
