"""Drafts the tweet that follows a daily post, for a person to copy."""

from collections.abc import Callable
from datetime import datetime

from bot.app import App
from bot.jobs.content import DraftContent
from bot.jobs.saying import Draft
from bot.queries.compose import composer
from bot.query_log import asked_by
from db.chat.compositions import Compositions
from engine.answer.types import Passage
from engine.budget import BudgetSource
from engine.compose.types import ComposeRequest, Composition
from engine.posting.types import Delivery
from engine.search_log import Asker, Origin


def drafting_of(app: App, now: Callable[[], datetime]) -> Draft:
    """Return what drafts the tweet of a delivery, once: a retry sends the same text."""
    drafts = Compositions(app.database)

    async def draft(delivery: Delivery, content: DraftContent) -> Composition:
        if known := await drafts.draft(delivery.key):
            return known
        request = ComposeRequest(
            prompt=content.story.title,
            corpora=(await app.shown_to(delivery.chat).corpus(content.corpus),),
            language=delivery.chat.posts_in,
            found=(Passage(corpus=content.corpus, hit=content.hit),),
        )
        with asked_by(Asker(origin=Origin.CONSOLE, task="draft", source=BudgetSource.POSTS)):
            outcome = await composer(app).compose(request, now=now())
        await drafts.keep_draft(delivery.key, outcome, now=now())
        return outcome

    return draft
