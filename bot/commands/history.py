"""/history and /forget: what a chat has received, and what is deleted of it."""

from bot.commands.registry import Command, too_old
from bot.commands.rights import LOOKS, Act, Effect
from bot.commands.services import Services
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
from bot.replies.post import say_nothing_found, write_day
from bot.reply import Action, Button, Reply, aside
from bot.request import Request
from engine.chat import zone_or_utc
from engine.posting.delivery import DeliveryState, PastDelivery

_IN_PRIVATE = (
    marked("This deletes what I have stored about you:"),
    marked(
        "- this chat: settings, subscriptions, feeds, questions, answers, posts and their votes;"
    ),
    marked(
        "- your votes and questions in groups, what I wrote there for you, and how often you asked;"
    ),
    marked("- that my owner let you in: where that is needed, you will have to ask again."),
    marked(
        "Today's count of your searches stays for a week, and so do the numbers of the messages"
        " that I answered. Answers in groups stay: they do not say who asked, and admins delete"
        " them with the same command there. Messages in this chat are yours to delete."
    ),
)
_IN_GROUP = (
    marked("This deletes what I have stored about this chat:"),
    marked("- settings, subscriptions, feeds, questions, answers, posts and their votes;"),
    marked("- that my owner let this chat in: where that is needed, it will have to ask again."),
    marked(
        "Only admins can do that. What I know about you alone: write to me in private, with the"
        " same command."
    ),
)
_OWNS = marked("You stay my owner. presagio setup --new-owner names another one.")
_NAME = "forget"
_SHOWN = 10
_LONGEST = 200
_STATES = {
    DeliveryState.OWED: marked("not sent yet"),
    DeliveryState.SENT: marked("sent"),
    DeliveryState.FAILED: marked("given up"),
}


async def _forget(request: Request, _services: Services) -> Reply:
    """Say what will be deleted, and what not; nothing is before the button is pressed."""
    words = request.words
    if not request.place.kept:
        return aside(request, words.say("Write that to me in private."))
    lines = [words.say(line) for line in (_IN_PRIVATE if request.place.private else _IN_GROUP)]
    if request.owner and request.place.private:
        lines.append(words.say(_OWNS))
    return Reply(
        words=words,
        text="\n".join(lines),
        buttons=((_button(request.known_chat.id, words),),),
        ephemeral=True,
    )


def _button(chat_id: int, words: Words) -> Button:
    # With the id, a button left from before does not delete what was stored since.
    action = Action(name=_NAME, answer_id=chat_id)
    return Button(label=words.say("Delete it for good"), action=action)


async def _press_button(request: Request, action: Action, services: Services) -> Reply:
    place, words = request.place, request.words
    if action.answer_id != request.known_chat.id:
        return too_old(request)
    if place.private:
        await services.stores.forgetting.person(
            place.platform, request.person.id, chat=place.chat_id, now=request.now
        )
        text = words.say("Deleted. What you write to me from now on is stored again.")
    else:
        await services.stores.forgetting.chat(place.platform, place.chat_id)
        text = words.say("Deleted. What is written to me here from now on is stored again.")
    return Reply(words=words, text=text, replaces=True, ephemeral=True)


FORGET = Command(
    name=_NAME,
    summary=marked("delete what I have stored about you, or in groups about the chat"),
    usage="/forget",
    example="/forget",
    handler=_forget,
    act=LOOKS,
    actions={_NAME: _press_button},
    pressed={_NAME: Act(Effect.STEERS_CHAT)},
)


async def _history(request: Request, services: Services) -> Reply:
    words, chat = request.words, request.known_chat
    past = await services.news.outbox.history(chat, _SHOWN)
    if not past:
        return aside(request, words.say("Nothing was posted here unasked yet."))
    lines = [words.say("The last posts of this chat:")]
    for delivery in past:
        local = (delivery.settled_at or delivery.created_at).astimezone(zone_or_utc(chat.time_zone))
        day, state = write_day(local.date(), words), _say_state(delivery, words)
        said = cut(_what(delivery, words), _LONGEST)
        lines.append(f"{day}, {local.hour}:{local:%M}{state}: {said}")
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


def _say_state(delivery: PastDelivery, words: Words) -> str:
    """Return what became of a post, or "" if it was sent as it should be."""
    if delivery.state is DeliveryState.SENT and not delivery.error:
        return ""
    state = words.say(_STATES[delivery.state])
    return f" · {state} ({words.render(delivery.error)})" if delivery.error else f" · {state}"


def _what(delivery: PastDelivery, words: Words) -> str:
    try:
        return _about(content_from_json(delivery.content), words)
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
            return say_nothing_found(content.day, words)
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
