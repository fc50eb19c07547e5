"""Decides which posts are due: the daily ones, and those sent at once."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypedDict

from bot.incident import reason
from bot.jobs.content import NothingFound, content_to_json, draft_of, picture_of, post_of
from db.posting.deciding import Digests
from db.posting.finds import Finds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.chat import Chat, PostPicture
from engine.posting.choose import AGAIN_AFTER, Choice, choose
from engine.posting.times import GRACE, due, instant_allowed
from engine.posting.types import Chosen, PostingMode, Subscription

logger = logging.getLogger("presagio.digest")

# An hour more than a day: a date may have 25 hours.
WINDOW = timedelta(hours=25)
_REMEMBERED = timedelta(days=2 * 365)  # a story is posted once and never again


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """The dependencies of deciding. `corpus` returns the name of the corpus that a chat may use."""

    subscriptions: Subscriptions
    finds: Finds
    digests: Digests
    outbox: Outbox
    corpus: Callable[[Chat], Awaitable[str | None]]
    grace: timedelta = GRACE
    again_after: timedelta = AGAIN_AFTER
    window: timedelta = WINDOW  # how far a post looks back


async def digest(work: Deciding, *, now: datetime) -> int:
    """Decide every post that is due, and return how many are owed now.

    An error in one chat does not hold up the others: the first such error is raised after all
    chats were handled. Raises StorageError.
    """
    decided = await work.digests.last_decided()
    posts, failed = 0, None
    for subscription in await work.subscriptions.active():
        try:
            posts += await _decide(
                work, subscription, decided.get((subscription.chat.id, subscription.topic)), now
            )
        except Exception as error:
            logger.warning("chat %d: nothing was decided: %s", subscription.chat.id, reason(error))
            failed = failed or error
    if failed:
        raise failed
    return posts


async def _decide(
    work: Deciding, subscription: Subscription, last_decided: date | None, now: datetime
) -> int:
    if subscription.mode is PostingMode.INSTANT:
        return await _at_once(work, subscription, now)
    day = due(subscription, now, last_decided, work.grace)
    return await _daily(work, subscription, day, now) if day else 0


async def choice_for(
    work: Deciding,
    subscription: Subscription,
    *,
    since: datetime,
    now: datetime,
    reasons: bool = True,
) -> Choice:
    """Return which finds since then the chat would be sent, and why the others would not be.

    Without `reasons`, most of the others are not even read.
    """
    corpus = await work.corpus(subscription.chat)
    if corpus is None:
        return Choice(chosen=(), left_out=())
    finds = await work.finds.for_chat(subscription, corpus, since=since, postable=not reasons)
    # Usually there is nothing, and then earlier posts need not be read.
    posted = (
        await work.subscriptions.posted(subscription.chat, since=now - _REMEMBERED) if finds else ()
    )
    return choose(subscription, finds, posted, now, again_after=work.again_after)


async def _daily(work: Deciding, subscription: Subscription, day: date, now: datetime) -> int:
    choice = await choice_for(work, subscription, since=now - work.window, now=now, reasons=False)
    content = None
    if choice.chosen:
        content = content_to_json(post_of(choice.chosen, day, subscription.template))
    elif subscription.say_nothing_found:
        content = content_to_json(NothingFound(day=day))
    decided = await work.outbox.decide_daily(
        subscription,
        day,
        content=content,
        chosen=choice.chosen,
        **pictures_for(subscription, choice.chosen),
        draft=_draft_for(subscription, choice.chosen),
        now=now,
        repeated_after=work.again_after,
    )
    if not decided:
        return 0  # decided elsewhere, or changed meanwhile: the next tick handles it
    fields = {"chat": subscription.chat.id, "day": day, "finds": len(choice.chosen)}
    logger.info("decided", extra={"fields": fields})
    return int(content is not None)


async def _at_once(work: Deciding, subscription: Subscription, now: datetime) -> int:
    if not instant_allowed(subscription, now):
        return 0
    choice = await choice_for(work, subscription, since=now - work.window, now=now, reasons=False)
    posts = 0
    for chosen in choice.chosen:
        content = content_to_json(post_of((chosen,), None, subscription.template))
        if await work.outbox.decide_instant(
            subscription,
            chosen,
            content=content,
            **pictures_for(subscription, (chosen,)),
            now=now,
            repeated_after=work.again_after,
        ):
            posts += 1
    return posts


class PostPictures(TypedDict):
    """The pictures of a post: one that follows it, or one for each find that replace it."""

    picture: str | None
    instead: Sequence[str]


def pictures_for(subscription: Subscription, chosen: Sequence[Chosen]) -> PostPictures:
    """Return the contents of the pictures that the chat wants of a post."""
    drawn = [content_to_json(picture_of(one, subscription.template)) for one in chosen]
    match subscription.chat.picture:
        case PostPicture.POST:
            return PostPictures(picture=None, instead=drawn)
        case PostPicture.ON:
            return PostPictures(picture=drawn[0] if drawn else None, instead=())
        case PostPicture.OFF:
            return PostPictures(picture=None, instead=())


def _draft_for(subscription: Subscription, chosen: Sequence[Chosen]) -> str | None:
    """Return the content of the draft about the first story, or None if the chat wants none."""
    wanted = subscription.compose and chosen
    return content_to_json(draft_of(chosen[0])) if wanted else None
