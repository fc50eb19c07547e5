"""Puts the posts that are due into the outbox: the daily ones, and those sent at once.

engine/posting/choose.py chooses what is in them. A round reads the subscriptions that may be due,
page by page, and decides a page in one transaction. What was dealt with is not read again before
something may have changed.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypedDict

from bot.app import App
from bot.jobs.content import (
    build_draft_content,
    build_picture_content,
    build_post_content,
    build_quiet_content,
    content_to_json,
)
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Subscriptions
from engine.chat import Chat, PostPicture
from engine.corpora import default_corpus, resolve_corpus
from engine.errors import CorpusNotFound, explain_error
from engine.posting.choose import WINDOW, Selection, list_postable, select_finds
from engine.posting.delivery import (
    DueSubscription,
    FindState,
    OwedPost,
    PostedTweet,
    PostingMode,
    QuietDay,
    SelectedFind,
    StoryFind,
    Subscription,
)
from engine.posting.retold import build_question, tell_apart
from engine.posting.schedule import GRACE, find_due_day, instant_allowed, next_look
from engine.values import Corpus

_REMEMBERED = timedelta(days=2 * 365)  # a story is posted once and never again
_NOTHING = Selection(selected=(), rejected=())
logger = logging.getLogger("presagio.digest")
_READ = 10_000  # subscriptions read at once
_PAGE = 500  # subscriptions decided in one transaction
_AT_ONCE = 2  # pages
_NEXT_ROUND = timedelta(seconds=1)
# Seconds in which a model compares the headlines of all chats of a round, or of one preview.
_COMPARED_WITHIN, _PREVIEWED_WITHIN = 20.0, 10.0


def repeat_after(app: App) -> timedelta:
    """Return how long a tweet that was posted is not posted again."""
    return timedelta(days=app.settings.posting.repeat_after_days)


async def find_corpora(app: App, chats: Sequence[Chat]) -> Mapping[int, Corpus]:
    """Return the corpus that each chat may use, by the chats' ids; chats that may use none are left
    out. A trusted chat may choose a private corpus, but no chat gets one by default."""
    public = await app.public.corpora.list()
    every = await app.corpora.list() if any(map(app.trusts, chats)) else public
    usable = dict[int, Corpus]()
    for chat in chats:
        corpora = every if chat.corpus and app.trusts(chat) else public
        with suppress(CorpusNotFound):
            usable[chat.id] = (
                resolve_corpus(corpora, chat.corpus)
                if chat.corpus
                else default_corpus(corpora, configured=app.settings.search.corpus)
            )
    return usable


async def find_corpus(app: App, chat: Chat) -> Corpus | None:
    """Return the corpus that a chat may use, or None."""
    return (await find_corpora(app, [chat])).get(chat.id)


async def preview_selection(
    app: App, subscription: Subscription, *, since: datetime, now: datetime
) -> Selection:
    """Return which finds since then the chat would be sent, and why the others would not be."""
    corpus = await find_corpus(app, subscription.chat)
    if corpus is None:
        return _NOTHING
    finds = await Finds(app.database).for_chat(subscription, corpus.name, since=since)
    posted = await Subscriptions(app.database).list_posted(
        subscription.chat, since=now - _REMEMBERED
    )
    until = asyncio.get_running_loop().time() + _PREVIEWED_WITHIN
    return await _select_compared(app, subscription, corpus, finds, posted, until=until, now=now)


async def _select_compared(
    app: App,
    subscription: Subscription,
    corpus: Corpus | None,
    finds: Sequence[StoryFind],
    posted: Sequence[PostedTweet],
    *,
    until: float,
    now: datetime,
) -> Selection:
    """Select finds, after a model told which tell again what the chat was told, if there is one and
    it answers before `until` by the clock of the event loop."""
    again_after = repeat_after(app)
    select = partial(select_finds, subscription, finds, posted, now, again_after=again_after)
    if not (app.comparer and corpus and finds):
        return select()
    apart = tell_apart(finds, posted, now)
    postable = list_postable(
        subscription, finds, posted, now, again_after=again_after, retold=apart
    )
    question = build_question(postable, posted, now)
    if question is None:
        return select()
    retold = await app.comparer.compare(question, corpus, until=until, now=now)
    return select(retold=retold or {})


async def count_unchosen(
    app: App, chat: Chat, *, since: datetime
) -> Mapping[FindState | None, int]:
    """Return how many stories since then have no find for the chat, by how far each came."""
    corpus = await find_corpus(app, chat)
    if corpus is None:
        return {}
    return await Finds(app.database).count_states(chat, corpus.name, since=since)


async def choose_for_posting(
    app: App, wanted: Sequence[DueSubscription], *, until: float, now: datetime
) -> Mapping[int, Selection]:
    """Return what is posted in each chat at `now`, by chat id; each chat may occur once.

    A model that compares headlines is waited for `until` then, by the clock of the event loop.

    Finds that are below a threshold need not be among those that were left out.
    """
    corpora = await find_corpora(app, [subscribed.chat for subscribed in wanted])
    finds = await _list_finds(app, wanted, corpora, now - WINDOW)
    # Usually there is nothing, and then earlier posts need not be read.
    chats = [subscribed.chat for subscribed in wanted if finds.get(subscribed.chat.id)]
    posted = (
        await Subscriptions(app.database).posted_in(chats, since=now - _REMEMBERED) if chats else {}
    )
    outcomes = await asyncio.gather(
        *(
            _select_compared(
                app,
                subscribed.subscription,
                corpora.get(subscribed.chat.id),
                finds.get(subscribed.chat.id, ()),
                posted.get(subscribed.chat.id, ()),
                until=until,
                now=now,
            )
            for subscribed in wanted
        ),
        return_exceptions=True,
    )
    selections = dict[int, Selection]()
    for subscribed, outcome in zip(wanted, outcomes, strict=True):
        # Raised only when all are done, as the other comparisons would go on behind an error.
        if isinstance(outcome, BaseException):
            raise outcome
        selections[subscribed.chat.id] = outcome
    return selections


async def _list_finds(
    app: App, wanted: Sequence[DueSubscription], corpora: Mapping[int, Corpus], since: datetime
) -> Mapping[int, Sequence[StoryFind]]:
    """Return the finds that each chat can see, read in two statements for however many chats."""
    usual = [subscribed.chat.id for subscribed in wanted if not subscribed.has_feeds]
    names = {corpora[chat].name for chat in usual if chat in corpora}
    shared = await Finds(app.database).find_shared(names, since=since) if names else {}
    finds: dict[int, Sequence[StoryFind]] = {
        chat: shared.get(corpora[chat].name, ()) for chat in usual if chat in corpora
    }
    own = [
        (subscribed.subscription, corpora[subscribed.chat.id].name)
        for subscribed in wanted
        if subscribed.has_feeds and subscribed.chat.id in corpora
    ]
    return {**finds, **(await Finds(app.database).postable(own, since=since) if own else {})}


def build_owed_posts(
    subscription: Subscription, selection: Selection, day: date | None, quiet: QuietDay | None
) -> Sequence[OwedPost]:
    """Return the posts for a selection: one of a local date, or one of each story.

    `quiet` is the state of the day's news where nothing was selected and the chat wants to be told.
    """
    if subscription.mode is PostingMode.DAILY and day:
        return [_build_daily(subscription, selection.selected, day, quiet)]
    return [
        OwedPost(
            subscription=subscription,
            key=f"story:{subscription.chat.id}:{post.find.story.id}",
            content=content_to_json(build_post_content((post,), None)),
            selected=(post,),
            **pictures_for(subscription, (post,)),
        )
        for post in selection.selected
    ]


def _build_daily(
    subscription: Subscription, items: tuple[SelectedFind, ...], day: date, quiet: QuietDay | None
) -> OwedPost:
    said = build_post_content(items, day) if items else build_quiet_content(quiet, day)
    wants_draft = subscription.compose and items
    return OwedPost(
        subscription=subscription,
        key=":".join(
            filter(None, ("daily", str(subscription.chat.id), str(day), subscription.topic))
        ),
        content=content_to_json(said) if said else None,
        selected=items,
        **pictures_for(subscription, items),
        draft=content_to_json(build_draft_content(items[0])) if wants_draft else None,
        day=day,
    )


class PostPictures(TypedDict):
    """The pictures of a post: one that follows it, or one for each find that replace it."""

    picture: str | None
    instead: tuple[str, ...]


def pictures_for(subscription: Subscription, items: Sequence[SelectedFind]) -> PostPictures:
    """Return the contents of the pictures that the chat wants of a post."""
    drawn = tuple(content_to_json(build_picture_content(post)) for post in items)
    match subscription.chat.picture:
        case PostPicture.POST:
            return PostPictures(picture=None, instead=drawn)
        case PostPicture.ON:
            return PostPictures(picture=drawn[0] if drawn else None, instead=())
        case PostPicture.OFF:
            return PostPictures(picture=None, instead=())


async def decide_due_posts(app: App, *, now: datetime) -> int:
    """Decide every post that is due, and return how many are owed now.

    An error in one chat does not hold up the others: the first such error is raised after all
    chats were handled. Raises StorageError.
    """
    await Subscriptions(app.database).wake(now=now)
    posting_round = _Round(app, now)
    while waiting := await Subscriptions(app.database).due(now=now, limit=_READ):
        # What is posted in one topic must not be posted in another: the next topic of a chat waits
        # until its first is decided.
        first = {subscribed.chat.id: subscribed for subscribed in reversed(waiting)}
        # Chats of one corpus together: what was found in it is read once a page.
        chats = sorted(first.values(), key=lambda subscribed: subscribed.chat.corpus or "")
        pages = [chats[start : start + _PAGE] for start in range(0, len(chats), _PAGE)]
        # While the database stores one page, the next is selected.
        for start in range(0, len(pages), _AT_ONCE):
            await asyncio.gather(*map(posting_round.process_page, pages[start : start + _AT_ONCE]))
    if posting_round.failed:
        raise posting_round.failed
    return posting_round.posts


class _Round:
    """Decides page by page, and keeps how many posts are owed and the first error.

    A model that compares headlines is waited for once: what it does not answer in that time is
    decided without it.
    """

    def __init__(self, app: App, now: datetime) -> None:
        self._app = app
        self._now = now
        self._compares_until = asyncio.get_running_loop().time() + _COMPARED_WITHIN
        self.posts = 0
        self.failed: Exception | None = None

    async def process_page(self, page: Sequence[DueSubscription]) -> None:
        """Decide for different chats; if that fails, for each of them by itself."""
        try:
            await self._decide(page)
        except Exception as error:
            if len(page) > 1:
                for subscribed in page:
                    await self.process_page([subscribed])
                return
            chat = page[0].chat.id
            logger.warning("chat %d: nothing was decided: %s", chat, explain_error(error))
            self.failed = self.failed or error
            looks = [(page[0], self._now + _NEXT_ROUND)]
            await Subscriptions(self._app.database).look_again(looks)

    async def _decide(self, page: Sequence[DueSubscription]) -> None:
        decisions = await self._list_decisions(page)
        posts = [decision for of_chat in decisions for decision in of_chat]
        outcomes = await Outbox(self._app.database).decide(
            posts, now=self._now, repeated_after=repeat_after(self._app)
        )
        stored = {post.key for post, is_stored in zip(posts, outcomes, strict=True) if is_stored}
        looks = []
        for subscribed, of_chat in zip(page, decisions, strict=True):
            made = [decision for decision in of_chat if decision.key in stored]
            self._count(made)
            # A chat is looked at again in the next round if a post could not be stored now, and
            # after stories that were told at once, as more of them may be left.
            settled = len(made) == len(of_chat) and all(decision.day for decision in made)
            look = (
                next_look(subscribed.subscription, self._now)
                if settled
                else self._now + _NEXT_ROUND
            )
            looks.append((subscribed, look))
        await Subscriptions(self._app.database).look_again(looks)

    async def _list_decisions(self, page: Sequence[DueSubscription]) -> list[Sequence[OwedPost]]:
        """Return the decisions for each of a page, usually none."""
        days = [
            find_due_day(subscribed.subscription, self._now, subscribed.last_decided, GRACE)
            for subscribed in page
        ]
        ready = [
            subscribed
            for subscribed, day in zip(page, days, strict=True)
            if day or instant_allowed(subscribed.subscription, self._now)
        ]
        choices = (
            await choose_for_posting(self._app, ready, until=self._compares_until, now=self._now)
            if ready
            else {}
        )
        quiet = await self._list_quiet_days(
            [
                subscribed.subscription
                for subscribed, day in zip(page, days, strict=True)
                if day and not choices[subscribed.chat.id].selected
            ]
        )
        return [
            build_owed_posts(
                subscribed.subscription,
                choices[subscribed.chat.id],
                day,
                quiet.get(subscribed.chat.id),
            )
            if subscribed.chat.id in choices
            else ()
            for subscribed, day in zip(page, days, strict=True)
        ]

    async def _list_quiet_days(self, untold: Sequence[Subscription]) -> Mapping[int, QuietDay]:
        """Return the state of the day's news, by chat, for the chats without a find that want to be
        told so."""
        curious = [subscription for subscription in untold if subscription.say_nothing_found]
        if not curious:
            return {}
        corpora = await find_corpora(self._app, [subscription.chat for subscription in curious])
        wanted = [
            (subscription, corpora[subscription.chat.id].name)
            for subscription in curious
            if subscription.chat.id in corpora
        ]
        days = await Finds(self._app.database).quiet_days(wanted, since=self._now - WINDOW)
        return {
            subscription.chat.id: day for (subscription, _), day in zip(wanted, days, strict=True)
        }

    def _count(self, made: Sequence[OwedPost]) -> None:
        for decision in made:
            self.posts += decision.content is not None
            if decision.day:
                chat, finds = decision.subscription.chat.id, len(decision.selected)
                fields = {"chat": chat, "day": decision.day, "finds": finds}
                logger.info("decided", extra={"fields": fields})
