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
from engine.corpora import choose_default_corpus, resolve_corpus
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
from engine.posting.retold import assume_all_apart, build_question
from engine.posting.schedule import GRACE, find_due_day, instant_allowed, next_look
from engine.values import Corpus

_HISTORY = timedelta(days=2 * 365)  # of posts: a story is posted once and never again
_NOTHING = Selection(selected=(), rejected=())
logger = logging.getLogger("presagio.digest")
_MOST_READ = 10_000  # subscriptions read at once
_PAGE_SIZE = 500  # subscriptions decided in one transaction
_PAGES_AT_ONCE = 2
_NEXT_ROUND = timedelta(seconds=1)
# In which a model compares the headlines of all chats of a round, or of one preview.
_COMPARE_SECONDS, _PREVIEW_SECONDS = 20.0, 10.0


def read_repeat_after(app: App) -> timedelta:
    """Return for how long a tweet that was posted is not posted again."""
    return timedelta(days=app.settings.posting.repeat_after_days)


async def find_corpora(app: App, chats: Sequence[Chat]) -> Mapping[int, Corpus]:
    """Return the corpus whose finds each chat is posted, by the ids of the chats.

    Chats that may use none are left out. A trusted chat may choose a private corpus, but no chat
    gets one by default.
    """
    public = await app.public.corpora.list()
    every = await app.corpora.list() if any(map(app.trusts, chats)) else public
    usable = dict[int, Corpus]()
    for chat in chats:
        corpora = every if chat.corpus and app.trusts(chat) else public
        with suppress(CorpusNotFound):
            usable[chat.id] = (
                resolve_corpus(corpora, chat.corpus)
                if chat.corpus
                else choose_default_corpus(corpora, configured=app.settings.search.corpus)
            )
    return usable


async def find_corpus(app: App, chat: Chat) -> Corpus | None:
    """Return the corpus whose finds a chat is posted, or None."""
    return (await find_corpora(app, [chat])).get(chat.id)


async def preview_selection(
    app: App, subscription: Subscription, *, since: datetime, now: datetime
) -> Selection:
    """Return which finds since `since` the chat would be sent, and why the others would not be."""
    corpus = await find_corpus(app, subscription.chat)
    if corpus is None:
        return _NOTHING
    finds = await Finds(app.database).for_chat(subscription, corpus.name, since=since)
    posted = await Subscriptions(app.database).list_posted(subscription.chat, since=now - _HISTORY)
    deadline = asyncio.get_running_loop().time() + _PREVIEW_SECONDS
    return await _select_compared(
        app, subscription, corpus, finds, posted, deadline=deadline, now=now
    )


async def _select_compared(
    app: App,
    subscription: Subscription,
    corpus: Corpus | None,
    finds: Sequence[StoryFind],
    posted: Sequence[PostedTweet],
    *,
    deadline: float,
    now: datetime,
) -> Selection:
    """Select finds, after a model has told which stories are the same, if there is a model and it
    answers before the `deadline`, by the clock of the event loop."""
    repeat_after = read_repeat_after(app)
    select = partial(select_finds, subscription, finds, posted, now, repeat_after=repeat_after)
    if not (app.comparer and corpus and finds):
        return select()
    # The model need not compare finds that are not posted whatever it says. Most are let through
    # where no two stories are the same.
    postable = list_postable(
        subscription,
        finds,
        posted,
        now,
        repeat_after=repeat_after,
        first_stories=assume_all_apart(finds, posted, now),
    )
    question = build_question(postable, posted, now)
    if question is None:
        return select()
    first_stories = await app.comparer.compare(question, corpus, deadline=deadline, now=now)
    return select(first_stories=first_stories or {})


async def count_unchosen(
    app: App, chat: Chat, *, since: datetime
) -> Mapping[FindState | None, int]:
    """Return how many stories since then have no find for the chat, by how far each came."""
    corpus = await find_corpus(app, chat)
    if corpus is None:
        return {}
    return await Finds(app.database).count_states(chat, corpus.name, since=since)


async def choose_for_posting(
    app: App, subscriptions: Sequence[DueSubscription], *, deadline: float, now: datetime
) -> Mapping[int, Selection]:
    """Return what is posted in each chat at `now`, by chat id; each chat may occur once.

    A model that compares headlines is waited for until the `deadline`, by the clock of the event
    loop. Finds that are below a threshold need not be among the rejected ones.
    """
    corpora = await find_corpora(app, [due.chat for due in subscriptions])
    finds = await _list_finds(app, subscriptions, corpora, now - WINDOW)
    # Usually there is nothing, and then earlier posts need not be read.
    chats = [due.chat for due in subscriptions if finds.get(due.chat.id)]
    posted = (
        await Subscriptions(app.database).posted_in(chats, since=now - _HISTORY) if chats else {}
    )
    outcomes = await asyncio.gather(
        *(
            _select_compared(
                app,
                due.subscription,
                corpora.get(due.chat.id),
                finds.get(due.chat.id, ()),
                posted.get(due.chat.id, ()),
                deadline=deadline,
                now=now,
            )
            for due in subscriptions
        ),
        return_exceptions=True,
    )
    selections = dict[int, Selection]()
    for due, outcome in zip(subscriptions, outcomes, strict=True):
        # Raised only when all are done, as the other comparisons would go on behind an error.
        if isinstance(outcome, BaseException):
            raise outcome
        selections[due.chat.id] = outcome
    return selections


async def _list_finds(
    app: App,
    subscriptions: Sequence[DueSubscription],
    corpora: Mapping[int, Corpus],
    since: datetime,
) -> Mapping[int, Sequence[StoryFind]]:
    """Return the finds that each chat can see, read in two statements for however many chats."""
    of_shared_feeds = {
        due.chat.id: corpora[due.chat.id].name
        for due in subscriptions
        if not due.has_feeds and due.chat.id in corpora
    }
    names = set(of_shared_feeds.values())
    shared = await Finds(app.database).find_shared(names, since=since) if names else {}
    finds: dict[int, Sequence[StoryFind]] = {
        chat: shared.get(name, ()) for chat, name in of_shared_feeds.items()
    }
    own = [
        (due.subscription, corpora[due.chat.id].name)
        for due in subscriptions
        if due.has_feeds and due.chat.id in corpora
    ]
    return {**finds, **(await Finds(app.database).postable(own, since=since) if own else {})}


def build_owed_posts(
    subscription: Subscription, selection: Selection, day: date | None, quiet: QuietDay | None
) -> Sequence[OwedPost]:
    """Return the posts for a selection: one for a local date, or one for each story.

    Where nothing was selected and the chat wants to be told so, `quiet` says how the day's news
    were judged.
    """
    if subscription.mode is PostingMode.DAILY and day:
        return [_build_daily(subscription, selection.selected, day, quiet)]
    return [
        OwedPost(
            subscription=subscription,
            key=f"story:{subscription.chat.id}:{post.find.story.id}",
            content=content_to_json(build_post_content((post,), None)),
            selected=(post,),
            **build_pictures(subscription, (post,)),
        )
        for post in selection.selected
    ]


def _build_daily(
    subscription: Subscription, items: tuple[SelectedFind, ...], day: date, quiet: QuietDay | None
) -> OwedPost:
    content = build_post_content(items, day) if items else build_quiet_content(quiet, day)
    wants_draft = subscription.compose and items
    return OwedPost(
        subscription=subscription,
        key=":".join(
            filter(None, ("daily", str(subscription.chat.id), str(day), subscription.topic))
        ),
        content=content_to_json(content) if content else None,
        selected=items,
        **build_pictures(subscription, items),
        draft=content_to_json(build_draft_content(items[0])) if wants_draft else None,
        day=day,
    )


class PostPictures(TypedDict):
    """The pictures of a post: one that follows it, or one for each find that replace it."""

    picture: str | None
    instead: tuple[str, ...]


def build_pictures(subscription: Subscription, items: Sequence[SelectedFind]) -> PostPictures:
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
    while waiting := await Subscriptions(app.database).due(now=now, limit=_MOST_READ):
        # What is posted in one topic must not be posted in another: of each chat only the first
        # subscription is decided, and the next waits. Reversed, as the last one of a key stays.
        first_of_chats = {due.chat.id: due for due in reversed(waiting)}
        # Chats of one corpus together: what was found in it is read once a page.
        ordered = sorted(first_of_chats.values(), key=lambda due: due.chat.corpus or "")
        pages = [
            ordered[start : start + _PAGE_SIZE] for start in range(0, len(ordered), _PAGE_SIZE)
        ]
        # While the database stores one page, the next is selected.
        for start in range(0, len(pages), _PAGES_AT_ONCE):
            some = pages[start : start + _PAGES_AT_ONCE]
            await asyncio.gather(*map(posting_round.process_page, some))
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
        self._compare_deadline = asyncio.get_running_loop().time() + _COMPARE_SECONDS
        self.posts = 0
        self.failed: Exception | None = None

    async def process_page(self, page: Sequence[DueSubscription]) -> None:
        """Decide the posts of different chats; if that fails, those of each chat by itself."""
        try:
            await self._decide(page)
        except Exception as error:
            if len(page) > 1:
                for due in page:
                    await self.process_page([due])
                return
            chat = page[0].chat.id
            logger.warning("chat %d: nothing was decided: %s", chat, explain_error(error))
            self.failed = self.failed or error
            looks = [(page[0], self._now + _NEXT_ROUND)]
            await Subscriptions(self._app.database).look_again(looks)

    async def _decide(self, page: Sequence[DueSubscription]) -> None:
        posts_of_chats = await self._build_posts(page)
        posts = [post for of_chat in posts_of_chats for post in of_chat]
        outcomes = await Outbox(self._app.database).decide(
            posts, now=self._now, repeat_after=read_repeat_after(self._app)
        )
        stored_keys = {post.key for post, stored in zip(posts, outcomes, strict=True) if stored}
        looks = []
        for due, of_chat in zip(page, posts_of_chats, strict=True):
            stored_posts = [post for post in of_chat if post.key in stored_keys]
            self._count(stored_posts)
            # A chat is looked at again in the next round if a post could not be stored now, and
            # after stories that were told at once, as more of them may be left.
            settled = len(stored_posts) == len(of_chat) and all(post.day for post in stored_posts)
            look = next_look(due.subscription, self._now) if settled else self._now + _NEXT_ROUND
            looks.append((due, look))
        await Subscriptions(self._app.database).look_again(looks)

    async def _build_posts(self, page: Sequence[DueSubscription]) -> list[Sequence[OwedPost]]:
        """Return the posts owed to each chat of a page, usually none."""
        days = [find_due_day(due.subscription, self._now, due.last_decided, GRACE) for due in page]
        ready = [
            due
            for due, day in zip(page, days, strict=True)
            if day or instant_allowed(due.subscription, self._now)
        ]
        choices = (
            await choose_for_posting(
                self._app, ready, deadline=self._compare_deadline, now=self._now
            )
            if ready
            else {}
        )
        quiet = await self._list_quiet_days(
            [
                due.subscription
                for due, day in zip(page, days, strict=True)
                if day and not choices[due.chat.id].selected
            ]
        )
        return [
            build_owed_posts(
                due.subscription,
                choices[due.chat.id],
                day,
                quiet.get(due.chat.id),
            )
            if due.chat.id in choices
            else ()
            for due, day in zip(page, days, strict=True)
        ]

    async def _list_quiet_days(
        self, without_finds: Sequence[Subscription]
    ) -> Mapping[int, QuietDay]:
        """Return how the day's news were judged, by chat, for those of `without_finds` that want
        to be told when there is nothing."""
        subscriptions = [each for each in without_finds if each.say_nothing_found]
        if not subscriptions:
            return {}
        corpora = await find_corpora(self._app, [each.chat for each in subscriptions])
        wanted = [
            (each, corpora[each.chat.id].name) for each in subscriptions if each.chat.id in corpora
        ]
        days = await Finds(self._app.database).quiet_days(wanted, since=self._now - WINDOW)
        return {each.chat.id: day for (each, _), day in zip(wanted, days, strict=True)}

    def _count(self, posts: Sequence[OwedPost]) -> None:
        for post in posts:
            self.posts += post.content is not None
            if post.day:
                chat, finds = post.subscription.chat.id, len(post.selected)
                fields = {"chat": chat, "day": post.day, "finds": finds}
                logger.info("decided", extra={"fields": fields})
