"""Puts a delivery into words, in the language that its chat has when it is sent."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from bot.face.reply import Reply
from bot.i18n.words import Words, words_for
from bot.jobs.content import (
    Content,
    DraftContent,
    FeedNotice,
    NothingFound,
    PictureContent,
    PostContent,
    Trouble,
    content_from_json,
)
from bot.replies.composition import draft_reply
from bot.replies.event import prophecy_event
from bot.replies.picture import Pictured, Pictures
from bot.replies.post import PostItem, post_buttons, post_reply, spoken
from bot.replies.template import worded
from db.chat.answers import Answers
from engine.chat import WEBHOOKS
from engine.compose.types import Composition
from engine.errors import ExtraMissing, SettingsError, UsageError
from engine.posting.types import Delivery

logger = logging.getLogger("presagio.deliver")

Draft = Callable[[Delivery, DraftContent], Awaitable[Composition]]


async def reply_of(
    delivery: Delivery, answers: Answers, pictures: Pictures, *, draft: Draft | None = None
) -> Reply | None:
    """Return what a delivery says, or None if its subject no longer exists.

    `draft` writes the tweet of a draft, and raises PresagioError; without it there is none, and
    posts have no button to write about their stories. Raises
    StorageError, ExtraMissing and SettingsError for pictures that cannot be drawn, and ValueError
    for content that this version cannot read.
    """
    content, words = content_from_json(delivery.content), words_for(delivery.chat.posts_in)
    reply = await _worded(content, delivery, answers, words, pictures, draft=draft)
    return reply and replace(reply, silent=delivery.silent)


async def _worded(
    content: Content,
    delivery: Delivery,
    answers: Answers,
    words: Words,
    pictures: Pictures,
    *,
    draft: Draft | None,
) -> Reply | None:
    match content:
        case PostContent():
            return await _post(content, delivery, answers, words, writes=draft is not None)
        case PictureContent():
            return await _picture(
                content, delivery, answers, words, pictures, writes=draft is not None
            )
        case DraftContent():
            return draft_reply(await draft(delivery, content), words) if draft else None
        case NothingFound():
            date = spoken(content.day, words)
            text = words.say("No old tweet foretold the news of {date}.", date=date)
            return Reply(words=words, text=text)
        case FeedNotice():
            return Reply(words=words, text=_about_feed(content, words))
        case Trouble():
            what = words_for(words.language, operator=True).render(content.said)
            text = words.say("This is for whoever runs me: {what}", what=what)
            return Reply(words=words, text=text)


async def _post(
    content: PostContent, delivery: Delivery, answers: Answers, words: Words, *, writes: bool
) -> Reply | None:
    if not delivery.answers:
        return None
    first = await answers.get(delivery.chat, delivery.answers[0])
    posted = await answers.posted_with(first) if first else []
    by_id = {answer.id: answer for answer in posted}
    items = [
        PostItem(
            title=story.title,
            link=story.link,
            answer=by_id[number],
            source=story.source or "",
        )
        for story, number in zip(content.stories, delivery.answers, strict=False)
        if number in by_id
    ]
    compact = not delivery.chat.full_answers
    if not items:
        return None
    if delivery.chat.platform == WEBHOOKS:
        event = prophecy_event(items[0], key=delivery.key, decided_at=delivery.created_at)
        return Reply(words=words, event=event)
    reply = post_reply(items, words, content.day, compact=compact, writes=writes)
    sources = [item.source for item in items]
    return _worded_by(content.template, reply, sources)


def _worded_by(template: str | None, reply: Reply, sources: Sequence[str]) -> Reply:
    """Return a post as its template words it, or as usual if that cannot be used any more."""
    try:
        return worded(reply, template, sources)
    except UsageError as error:
        logger.warning("a template cannot be used: %s", error)
        return reply


async def _picture(
    content: PictureContent,
    delivery: Delivery,
    answers: Answers,
    words: Words,
    pictures: Pictures,
    *,
    writes: bool,
) -> Reply | None:
    """Return a picture. One that is itself a post has buttons, and words if it cannot be drawn."""
    story, posted = content.story, delivery.answers[:1]
    shown = Pictured(
        hit=content.hit,
        corpus=content.corpus,
        headline=story.title,
        date=content.until,
        link=story.link,
        source=story.source,
        number=1,
    )
    found = [await answers.get(delivery.chat, number) for number in posted]
    buttons = post_buttons(
        [answer for answer in found if answer],
        {},
        words,
        compact=not delivery.chat.full_answers,
        writes=writes,
    )
    try:
        reply = await pictures.reply(shown, words, buttons=buttons)
    except (ExtraMissing, SettingsError):
        if not posted:
            raise
        post = PostContent(stories=(story,), template=content.template)
        return await _post(post, delivery, answers, words, writes=writes)
    return _worded_by(content.template, reply, [story.source or ""])


def _about_feed(notice: FeedNotice, words: Words) -> str:
    date = words.date(notice.since)
    if notice.state == "back":
        return words.say(
            "The feed {feed} can be read again. It had failed since {date}.",
            feed=notice.feed,
            date=date,
        )
    if notice.state == "gone":
        return words.say(
            "The feed {feed} has ended: its server says that it is gone for good.",
            feed=notice.feed,
        )
    if notice.error is None:
        return words.say(
            "The feed {feed} has failed since {date}. It is tried again from time to time.",
            feed=notice.feed,
            date=date,
        )
    return words.say(
        "The feed {feed} has failed since {date}. {error} It is tried again from time to time.",
        feed=notice.feed,
        date=date,
        error=words.render(notice.error),
    )
