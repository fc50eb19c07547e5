"""Chooses what is posted in chats, and makes the deliveries for it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypedDict

from bot.jobs.content import NothingFound, content_to_json, draft_of, picture_of, post_of
from db.posting.finds import Finds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.chat import Chat, PostPicture
from engine.posting.choose import AGAIN_AFTER, Choice, choose
from engine.posting.times import GRACE
from engine.posting.types import (
    Chosen,
    DueSubscription,
    OwedPost,
    PostingMode,
    StoryFind,
    Subscription,
)

# An hour more than a day: a date may have 25 hours.
WINDOW = timedelta(hours=25)
_REMEMBERED = timedelta(days=2 * 365)  # a story is posted once and never again
_NOTHING = Choice(chosen=(), left_out=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """The dependencies of deciding.

    `corpora` returns the name of the corpus that each of some chats may use, by their ids; chats
    that may use none are left out.
    """

    subscriptions: Subscriptions
    finds: Finds
    outbox: Outbox
    corpora: Callable[[Sequence[Chat]], Awaitable[Mapping[int, str]]]
    grace: timedelta = GRACE
    again_after: timedelta = AGAIN_AFTER
    window: timedelta = WINDOW  # how far a post looks back

    async def corpus(self, chat: Chat) -> str | None:
        """Return the name of the corpus that a chat may use, or None."""
        return (await self.corpora([chat])).get(chat.id)


async def choice_for(
    work: Deciding, subscription: Subscription, *, since: datetime, now: datetime
) -> Choice:
    """Return which finds since then the chat would be sent, and why the others would not be."""
    corpus = await work.corpus(subscription.chat)
    if corpus is None:
        return _NOTHING
    finds = await work.finds.for_chat(subscription, corpus, since=since)
    posted = await work.subscriptions.posted(subscription.chat, since=now - _REMEMBERED)
    return choose(subscription, finds, posted, now, again_after=work.again_after)


async def choices_for(
    work: Deciding, wanted: Sequence[DueSubscription], *, now: datetime
) -> Mapping[int, Choice]:
    """Return what is posted in each chat at `now`, by chat id; each chat may occur once.

    Finds that are below a threshold need not be among those that were left out.
    """
    corpora = await work.corpora([one.subscription.chat for one in wanted])
    finds = await _finds(work, wanted, corpora, now - work.window)
    # Usually there is nothing, and then earlier posts need not be read.
    told = [one.subscription.chat for one in wanted if finds.get(one.subscription.chat.id)]
    posted = await work.subscriptions.posted_in(told, since=now - _REMEMBERED) if told else {}
    return {
        chat.id: choose(
            one.subscription,
            finds.get(chat.id, ()),
            posted.get(chat.id, ()),
            now,
            again_after=work.again_after,
        )
        for one in wanted
        for chat in (one.subscription.chat,)
    }


async def _finds(
    work: Deciding,
    wanted: Sequence[DueSubscription],
    corpora: Mapping[int, str],
    since: datetime,
) -> Mapping[int, Sequence[StoryFind]]:
    """Return the finds that each chat can see, read in two statements for however many chats."""
    usual = [one.subscription.chat.id for one in wanted if not one.has_feeds]
    names = {corpora[chat] for chat in usual if chat in corpora}
    shared = await work.finds.shared(names, since=since) if names else {}
    finds: dict[int, Sequence[StoryFind]] = {
        chat: shared.get(corpora[chat], ()) for chat in usual if chat in corpora
    }
    own = [
        (one.subscription, corpora[one.subscription.chat.id])
        for one in wanted
        if one.has_feeds and one.subscription.chat.id in corpora
    ]
    return {**finds, **(await work.finds.postable(own, since=since) if own else {})}


def decisions_of(
    subscription: Subscription, choice: Choice, day: date | None
) -> Sequence[OwedPost]:
    """Return what follows from a choice: one post of a local date, or one of each story."""
    if subscription.mode is PostingMode.DAILY and day:
        return [_daily(subscription, choice.chosen, day)]
    return [
        OwedPost(
            subscription=subscription,
            key=f"story:{subscription.chat.id}:{one.find.story.id}",
            content=content_to_json(post_of((one,), None, subscription.template)),
            chosen=(one,),
            **pictures_for(subscription, (one,)),
        )
        for one in choice.chosen
    ]


def _daily(subscription: Subscription, chosen: tuple[Chosen, ...], day: date) -> OwedPost:
    content = None
    if chosen:
        content = content_to_json(post_of(chosen, day, subscription.template))
    elif subscription.say_nothing_found:
        content = content_to_json(NothingFound(day=day))
    wants_draft = subscription.compose and chosen
    return OwedPost(
        subscription=subscription,
        key=":".join(
            filter(None, ("daily", str(subscription.chat.id), str(day), subscription.topic))
        ),
        content=content,
        chosen=chosen,
        **pictures_for(subscription, chosen),
        draft=content_to_json(draft_of(chosen[0])) if wants_draft else None,
        day=day,
    )


class PostPictures(TypedDict):
    """The pictures of a post: one that follows it, or one for each find that replace it."""

    picture: str | None
    instead: tuple[str, ...]


def pictures_for(subscription: Subscription, chosen: Sequence[Chosen]) -> PostPictures:
    """Return the contents of the pictures that the chat wants of a post."""
    drawn = tuple(content_to_json(picture_of(one, subscription.template)) for one in chosen)
    match subscription.chat.picture:
        case PostPicture.POST:
            return PostPictures(picture=None, instead=drawn)
        case PostPicture.ON:
            return PostPictures(picture=drawn[0] if drawn else None, instead=())
        case PostPicture.OFF:
            return PostPictures(picture=None, instead=())
