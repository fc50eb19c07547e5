"""Puts a delivery into words, in the language that its chat has when it is sent."""

import asyncio
from collections.abc import Awaitable, Callable

from bot.card import draw_card
from bot.face.reply import Reply
from bot.i18n.words import Words, words_for
from bot.jobs.content import (
    DraftContent,
    FeedNotice,
    NothingFound,
    PictureContent,
    PostContent,
    content_from_json,
)
from bot.replies.composition import draft_reply
from bot.replies.picture import hit_card
from bot.replies.post import PostItem, post_reply, spoken
from db.chat.answers import Answers
from engine.compose.types import Composition
from engine.posting.types import Delivery

Avatar = Callable[[str], Awaitable[bytes | None]]
Draft = Callable[[Delivery, DraftContent], Awaitable[Composition]]


async def reply_of(
    delivery: Delivery,
    answers: Answers,
    *,
    avatar: Avatar | None = None,
    draft: Draft | None = None,
) -> Reply | None:
    """Return what a delivery says, or None if its subject no longer exists.

    `avatar` returns the picture of a corpus's voice. `draft` writes the tweet of a draft, and
    raises PresagioError; without it there is none. Raises StorageError, and ValueError for content
    that this version cannot read.
    """
    content, words = content_from_json(delivery.content), words_for(delivery.chat.posts_in)
    match content:
        case PostContent():
            return await _post(content, delivery, answers, words)
        case PictureContent():
            return await _picture(content, words, avatar)
        case DraftContent():
            return draft_reply(await draft(delivery, content), words) if draft else None
        case NothingFound():
            date = spoken(content.day, words)
            text = words.say("No old tweet foretold the news of {date}.", date=date)
            return Reply(words=words, text=text)
        case FeedNotice():
            return Reply(words=words, text=_about_feed(content, words))


async def _post(
    content: PostContent, delivery: Delivery, answers: Answers, words: Words
) -> Reply | None:
    if not delivery.answers:
        return None
    first = await answers.get(delivery.chat, delivery.answers[0])
    posted = await answers.posted_with(first) if first else []
    by_id = {answer.id: answer for answer in posted}
    items = [
        PostItem(title=story.title, link=story.link, answer=by_id[number])
        for story, number in zip(content.stories, delivery.answers, strict=False)
        if number in by_id
    ]
    compact = not delivery.chat.full_answers
    return post_reply(items, words, content.day, compact=compact) if items else None


async def _picture(content: PictureContent, words: Words, avatar: Avatar | None) -> Reply:
    card = hit_card(
        content.hit,
        content.story.title,
        content.until,
        content.until,
        words,
        corpus=content.corpus,
        avatar=await avatar(content.corpus) if avatar else None,
    )
    picture = await asyncio.to_thread(draw_card, card)
    return Reply(words=words, text=content.hit.candidate.url, picture=picture)


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
    return words.say(
        "The feed {feed} has failed since {date}. {error} It is tried again from time to time.",
        feed=notice.feed,
        date=date,
        error=words.render(notice.error or ""),
    )
