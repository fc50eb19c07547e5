"""The bot's home: a page for one person, with greeting, set-up and the latest prophecies."""

from dataclasses import replace

from bot.commands.services import Services
from bot.face.reply import HitView, ItemView, Reply
from bot.face.request import Request
from bot.i18n.words import Words
from bot.replies.dates import age_between
from bot.replies.limits import cut
from engine.posting.types import PublicPost
from engine.search import Candidate
from engine.text.address import addressed

_MOST = 5  # prophecies
_LONGEST_HEADLINE = 120


async def at_home(request: Request, services: Services, greeting: Reply) -> Reply:
    """Return a greeting with the latest prophecies that were posted, newest first.

    They are of the corpora that this person may see. Raises StorageError.
    """
    words = request.words
    items = await _latest(services, words)
    told = words.say("The latest prophecies:") if items else ""
    text = "\n\n".join(filter(None, (greeting.text, told)))
    return replace(greeting, text=text, items=items)


async def _latest(services: Services, words: Words) -> tuple[ItemView, ...]:
    visible = {one.name: one for one in await services.corpora()}
    items: list[ItemView] = []
    for post in await services.news.outbox.public_posts(tuple(visible), limit=_MOST):
        corpus = visible[post.corpus]
        # A text that has been removed from its corpus since is not shown any more.
        if found := await services.document(corpus, post.external_id):
            items.append(_item(post, addressed(found, corpus), len(items) + 1, words))
    return tuple(items)


def _item(post: PublicPost, found: Candidate, number: int, words: Words) -> ItemView:
    hit = replace(
        HitView.of(found, words, rank=number, text=found.text),
        age=age_between(found.created_at, post.published).said(words),
        flags=(),
        small=True,
        signed=True,
    )
    return ItemView(headline=cut(post.title, _LONGEST_HEADLINE), link=post.link, hit=hit)
