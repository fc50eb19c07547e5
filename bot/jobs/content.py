"""The content of a delivery, as JSON that outlives the process that decided it.

It is put into words when it is sent, in the language that the chat has at that time.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from engine.messages import Message
from engine.posting.types import Chosen
from engine.search import Hit


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
    template: str | None = None  # of its text; None for the usual form


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingFound:
    """A day on which nothing was found, for chats that want to be told."""

    kind: Literal["nothing"] = "nothing"
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureContent:
    """The picture of one hit: sent after its post as a separate delivery, or as the post itself."""

    kind: Literal["picture"] = "picture"
    story: NamedStory
    until: datetime  # the age of the hit is measured up to here
    hit: Hit
    corpus: str = ""  # of the hit; pictures stored by older versions have none
    template: str | None = None  # of its caption; None for the usual form


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftContent:
    """A tweet that is to be drafted about a story, sent after its post for a person to copy."""

    kind: Literal["draft"] = "draft"
    story: NamedStory
    hit: Hit
    corpus: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedNotice:
    """A notice about a feed."""

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

_CONTENT: TypeAdapter[Content] = TypeAdapter(Content)


def content_to_json(content: Content) -> str:
    """Return content as JSON."""
    return _CONTENT.dump_json(content).decode()


def content_from_json(text: str) -> Content:
    """Return the content that `content_to_json` wrote."""
    return _CONTENT.validate_json(text)


def post_of(
    chosen: tuple[Chosen, ...], day: date | None, template: str | None = None
) -> PostContent:
    """Return the post for the chosen stories."""
    return PostContent(stories=tuple(_named(one) for one in chosen), day=day, template=template)


def picture_of(chosen: Chosen, template: str | None = None) -> PictureContent:
    """Return the picture of a find."""
    return PictureContent(
        story=_named(chosen),
        until=chosen.find.story.published,
        hit=chosen.hit,
        corpus=chosen.find.corpus,
        template=template,
    )


def draft_of(chosen: Chosen) -> DraftContent:
    """Return the draft for a post whose first story is `chosen`."""
    return DraftContent(story=_named(chosen), hit=chosen.hit, corpus=chosen.find.corpus)


def _named(chosen: Chosen) -> NamedStory:
    story = chosen.find.story
    return NamedStory(title=story.title, link=story.link, source=story.source)
