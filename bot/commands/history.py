"""/history: the automatic posts that a chat has received."""

from bot.commands.feed_words import local
from bot.commands.registry import Command
from bot.commands.rights import LOOKS
from bot.commands.services import Services
from bot.face.reply import Reply, aside
from bot.face.request import Request
from bot.i18n.words import Words, marked
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
from bot.replies.limits import cut
from bot.replies.post import spoken
from engine.posting.types import DeliveryState, PastDelivery

_SHOWN = 10
_LONGEST = 200
_STATES = {
    DeliveryState.OWED: marked("not sent yet"),
    DeliveryState.SENT: marked("sent"),
    DeliveryState.FAILED: marked("given up"),
}


async def _history(request: Request, services: Services) -> Reply:
    words, chat = request.words, request.known_chat
    past = await services.news.outbox.history(chat, _SHOWN)
    if not past:
        return aside(request, words.say("Nothing was posted here unasked yet."))
    lines = [words.say("The last posts of this chat:")]
    for one in past:
        moment = local(one.settled_at or one.created_at, chat.time_zone)
        lines.append(f"{moment} · {_state(one, words)} · {cut(_what(one, words), _LONGEST)}")
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


def _state(one: PastDelivery, words: Words) -> str:
    state = words.say(_STATES[one.state])
    return f"{state} ({words.render(one.error)})" if one.error else state


def _what(one: PastDelivery, words: Words) -> str:
    try:
        return _about(content_from_json(one.content), words)
    except ValueError:  # written by another version
        return "…"


def _about(content: Content, words: Words) -> str:
    match content:
        case PostContent():
            return " / ".join(story.title for story in content.stories)
        case PictureContent():
            return words.say("picture: {headline}", headline=content.story.title)
        case DraftContent():
            return words.say("draft: {headline}", headline=content.story.title)
        case NothingFound():
            date = spoken(content.day, words)
            return words.say("No old tweet foretold the news of {date}.", date=date)
        case FeedNotice():
            return words.say("about the feed {feed}", feed=content.feed)
        case Trouble():
            return words.render(content.said)


HISTORY = Command(
    name="history",
    summary=marked("what I posted here by myself"),
    usage="/history",
    example="/history",
    for_channels=True,
    handler=_history,
    act=LOOKS,
)
