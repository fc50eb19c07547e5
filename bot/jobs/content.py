"""The content of a delivery: stored as JSON, and put into words for its chat when it is sent.

The words are in the language that the chat has then.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from bot.app import App
from bot.card import Shape, draw_apart
from bot.i18n.words import Words, words_for
from bot.query_log import asked_by
from bot.replies.buttons import post_buttons
from bot.replies.composition import draft_reply
from bot.replies.picture import PictureSubject, caption_picture, card_of
from bot.replies.post import PostItem, post_reply, say_nothing_found
from bot.reply import Button, Reply
from db.chat.answers import Answers
from db.chat.compositions import Compositions
from db.logs import Asker, Origin
from engine.answer.cited_answer import Passage
from engine.budget import BudgetSource
from engine.chat import zone_or_utc
from engine.compose.composition import ComposeRequest, Composition
from engine.errors import ExtraMissing, NotDrawn, SettingsError
from engine.messages import Message
from engine.posting.delivery import Delivery, QuietDay, SelectedFind
from engine.search import Hit

logger = logging.getLogger("presagio.deliver")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStory:
    """A story as its post names it."""

    title: str
    link: str | None
    source: str | None = None  # title of its feed


@dataclass(frozen=True, slots=True, kw_only=True)
class PostContent:
    """Stories with what foretold them, in the same order as the delivery's answers."""

    kind: Literal["post"] = "post"
    stories: tuple[NamedStory, ...]
    day: date | None = None  # of a daily post


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingFound:
    """A day on which nothing was found, for chats that want to be told; or nothing was judged."""

    kind: Literal["nothing"] = "nothing"
    day: date
    judged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureContent:
    """The picture of one hit: sent after its post as a separate delivery, or as the post itself."""

    kind: Literal["picture"] = "picture"
    story: NamedStory
    until: datetime  # the age of the hit is measured up to here
    hit: Hit
    corpus: str  # of the hit


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftContent:
    """A tweet that is to be drafted about a story, sent after its post for a person to copy."""

    kind: Literal["draft"] = "draft"
    story: NamedStory
    hit: Hit
    corpus: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedNotice:
    """That a feed fails, has ended, or can be read again, for those who follow it."""

    kind: Literal["feed"] = "feed"
    feed: str  # its title, or its address if it has none
    state: Literal["failing", "gone", "back"]
    since: datetime  # when the feed began to fail
    error: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What an operator has to mend, told in private."""

    kind: Literal["trouble"] = "trouble"
    said: Message


Content: TypeAlias = Annotated[
    PostContent | NothingFound | PictureContent | DraftContent | FeedNotice | Trouble,
    Field(discriminator="kind"),
]


@cache
def _build_adapter() -> TypeAdapter[Content]:
    return TypeAdapter(Content)


def content_to_json(content: Content) -> str:
    """Return content as JSON."""
    return _build_adapter().dump_json(content).decode()


def content_from_json(text: str) -> Content:
    """Return the content that `content_to_json` wrote."""
    return _build_adapter().validate_json(text)


def build_quiet_content(quiet: QuietDay | None, day: date) -> NothingFound | None:
    """Return the content of a daily post without a find, or None for no post.

    That nothing is judged is told once, until something is.
    """
    if quiet is None or not (quiet.judged or (quiet.waits and not quiet.told)):
        return None
    return NothingFound(day=day, judged=quiet.judged)


def build_post_content(items: tuple[SelectedFind, ...], day: date | None) -> PostContent:
    """Return the post for the selected stories."""
    return PostContent(stories=tuple(_to_named_story(item) for item in items), day=day)


def build_picture_content(selected: SelectedFind) -> PictureContent:
    """Return the picture of a find."""
    return PictureContent(
        story=_to_named_story(selected),
        until=selected.find.story.published,
        hit=selected.hit,
        corpus=selected.find.corpus,
    )


def build_draft_content(selected: SelectedFind) -> DraftContent:
    """Return the draft for a post whose first story is `selected`."""
    return DraftContent(
        story=_to_named_story(selected), hit=selected.hit, corpus=selected.find.corpus
    )


def _to_named_story(selected: SelectedFind) -> NamedStory:
    story = selected.find.story
    return NamedStory(title=story.title, link=story.link, source=story.source)


Drafter = Callable[[Delivery, DraftContent], Awaitable[Composition]]


async def render_delivery(
    app: App, delivery: Delivery, *, draft: Drafter | None = None
) -> Reply | None:
    """Return what a delivery says, or None if its subject no longer exists.

    `draft` writes the tweet of a draft, and raises PresagioError; without it there is none, and
    posts have no button to write about their stories. Raises StorageError, ExtraMissing, NotDrawn
    and SettingsError for pictures that cannot be drawn, and ValueError for content that this
    version cannot read.
    """
    content, words = content_from_json(delivery.content), words_for(delivery.chat.posts_in)
    writes, reply = draft is not None, None
    match content:
        case PostContent():
            reply = await _build_post(app, content, delivery, words, writes=writes)
        case PictureContent():
            reply = await _build_picture(app, content, delivery, words, writes=writes)
        case DraftContent() if draft:
            reply = draft_reply(await draft(delivery, content), words)
        case NothingFound():
            text = say_nothing_found(content.day, words, judged=content.judged)
            reply = Reply(words=words, text=text)
        case FeedNotice():
            reply = Reply(words=words, text=_describe_feed(content, words))
        case Trouble():
            what = words_for(words.language, operator=True).render(content.said)
            text = words.say("This is for whoever runs me: {what}", what=what)
            reply = Reply(words=words, text=text)
    return reply and replace(reply, silent=delivery.silent)


async def _build_post(
    app: App, content: PostContent, delivery: Delivery, words: Words, *, writes: bool
) -> Reply | None:
    if not delivery.answers:
        return None
    answers = Answers(app.database)
    first = await answers.get(delivery.chat, delivery.answers[0])
    posted = await answers.posted_with(first) if first else []
    by_id = {answer.id: answer for answer in posted}
    items = [
        PostItem(title=story.title, link=story.link, answer=by_id[number])
        # The answers of a post are stored and forgotten together, so there are as many, or none.
        for story, number in zip(content.stories, delivery.answers, strict=False)
        if number in by_id
    ]
    if not items:
        return None
    return post_reply(
        items,
        words,
        content.day,
        zone=zone_or_utc(delivery.chat.time_zone),
        platform=delivery.chat.platform,
        compact=not delivery.chat.full_answers,
        writes=writes,
    )


async def _build_picture(
    app: App, content: PictureContent, delivery: Delivery, words: Words, *, writes: bool
) -> Reply | None:
    """Return a picture. One that is itself a post has buttons, and words if it cannot be drawn."""
    story, posted = content.story, delivery.answers[:1]
    shown = PictureSubject(
        hit=content.hit,
        corpus=content.corpus,
        headline=story.title,
        date=content.until,
        link=story.link,
        source=story.source,
        number=1,
    )
    answers = Answers(app.database)
    answers_posted = [await answers.get(delivery.chat, number) for number in posted]
    buttons = post_buttons(
        [answer for answer in answers_posted if answer],
        {},
        words,
        platform=delivery.chat.platform,
        compact=not delivery.chat.full_answers,
        writes=writes,
    )
    try:
        return await draw_picture(app, shown, words, buttons=buttons)
    except (ExtraMissing, NotDrawn, SettingsError):
        if not posted:
            raise
        post = PostContent(stories=(story,))
        return await _build_post(app, post, delivery, words, writes=writes)


def _describe_feed(notice: FeedNotice, words: Words) -> str:
    """Return a notice about a feed as a sentence or two."""
    date = words.date(notice.since)
    if notice.state == "back":
        return words.say(
            "The feed {feed} can be read again. It had failed since {date}.",
            feed=notice.feed,
            date=date,
        )
    if notice.state == "gone":
        return words.say(
            "The feed {feed} has ended: its server says that it is gone for good.", feed=notice.feed
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


async def draw_picture(
    app: App, subject: PictureSubject, words: Words, *, buttons: tuple[tuple[Button, ...], ...] = ()
) -> Reply:
    """Return a picture as a reply, signed as the settings say.

    Raises StorageError, and what `draw_apart` raises.
    """
    card = card_of(
        subject,
        words,
        avatar=await app.corpora.avatar(subject.corpus),
        footer=app.settings.pictures.footer,
        shape=Shape.CHAT,
    )
    picture = await draw_apart(app.isolation, card)
    return caption_picture(subject, picture, words, buttons=buttons)


def make_drafter(app: App, now: Callable[[], datetime]) -> Drafter:
    """Return what drafts the tweet of a delivery, once: a retry sends the same text."""
    from bot.queries.compose import build_composer  # noqa: PLC0415 - few processes draft

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
            outcome = await build_composer(app).compose(request, now=now())
        await drafts.keep_draft(delivery.key, outcome, now=now())
        return outcome

    return draft
