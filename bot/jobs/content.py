"""What a delivery says, as JSON that outlives the process which decided it.

Words are put to it when it is sent, in the language the chat has then.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from engine.messages import Message
from engine.posting.types import Chosen
from engine.types import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStory:
    """A story as its post names it."""

    title: str
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PostContent:
    """Stories with what foretold them; their answers are the delivery's, in the same order."""

    kind: Literal["post"] = "post"
    stories: tuple[NamedStory, ...]
    day: date | None = None  # of a daily post


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingFound:
    """A day of which nothing was foretold, for chats that want to know."""

    kind: Literal["nothing"] = "nothing"
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureContent:
    """The picture of one hit, which follows its post as a delivery of its own."""

    kind: Literal["picture"] = "picture"
    story: NamedStory
    until: datetime  # what the age of the hit counts up to
    hit: Hit
    corpus: str = ""  # of the hit; pictures that were written down before had none


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedNotice:
    """Word about a feed."""

    kind: Literal["feed"] = "feed"
    feed: str  # its title, else its address
    state: Literal["failing", "gone", "back"]
    since: datetime  # when it began to fail
    error: Message | None = None


Content: TypeAlias = Annotated[
    PostContent | NothingFound | PictureContent | FeedNotice, Field(discriminator="kind")
]

_CONTENT: TypeAdapter[Content] = TypeAdapter(Content)


def content_to_json(content: Content) -> str:
    """Write content down."""
    return _CONTENT.dump_json(content).decode()


def content_from_json(text: str) -> Content:
    """Read what `to_json` wrote."""
    return _CONTENT.validate_json(text)


def post_of(chosen: tuple[Chosen, ...], day: date | None) -> PostContent:
    """Return the post of what was chosen."""
    return PostContent(stories=tuple(_named(one) for one in chosen), day=day)


def picture_of(chosen: Chosen) -> PictureContent:
    """Return the picture that goes with a post whose best find this is."""
    return PictureContent(
        story=_named(chosen),
        until=chosen.find.story.published,
        hit=chosen.hit,
        corpus=chosen.find.corpus,
    )


def _named(chosen: Chosen) -> NamedStory:
    story = chosen.find.story
    return NamedStory(title=story.title, link=story.link)
