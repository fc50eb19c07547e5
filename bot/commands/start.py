"""/start: a short greeting, and a guided set-up by buttons for who steers the chat."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from bot.commands.archives import CORPUS, archive_buttons
from bot.commands.feeds import FEEDS
from bot.commands.help import listening_here
from bot.commands.registry import LOOKS, Act, Command, Effect, too_old
from bot.commands.services import Services
from bot.commands.settings import SETTINGS
from bot.commands.subscribe import SUBSCRIBE
from bot.i18n.words import LANGUAGES, Words, marked, words_for
from bot.replies.dates import say_age
from bot.replies.limits import cut
from bot.reply import Action, Button, HitView, ItemView, Reply
from bot.request import Request
from engine.corpora import ALL
from engine.feeds.lookup import well_known, well_known_in
from engine.posting.delivery import PublicPost
from engine.search import Candidate
from engine.text.address import address_candidate
from engine.values import Corpus, CorpusRole

_MOST = 5  # prophecies
_LONGEST_HEADLINE = 120


async def at_home(request: Request, services: Services, greeting: Reply) -> Reply:
    """Return a greeting with the latest prophecies that were posted, newest first.

    They are of the corpora that this person may see. Raises StorageError.
    """
    words = request.words
    items = await _latest(services, words)
    told = words.say("The latest prophecies:") if items else ""
    text = "\n\n".join(filter(None, (greeting.text, told)))
    return replace(greeting, text=text, items=items)


async def _latest(services: Services, words: Words) -> tuple[ItemView, ...]:
    visible = {one.name: one for one in await services.archives.list()}
    items: list[ItemView] = []
    for post in await services.news.outbox.public_posts(tuple(visible), limit=_MOST):
        corpus = visible[post.corpus]
        # A text that has been removed from its corpus since is not shown any more.
        if found := await services.archives.document(corpus, post.external_id):
            items.append(_item(post, address_candidate(found, corpus), len(items) + 1, words))
    return tuple(items)


def _item(post: PublicPost, found: Candidate, number: int, words: Words) -> ItemView:
    hit = replace(
        HitView.of(found, words, rank=number, text=found.text),
        age=say_age(found.created_at, post.published, words),
        small=True,
        signed=True,
    )
    return ItemView(headline=cut(post.title, _LONGEST_HEADLINE), link=post.link, hit=hit)


LONGEST_GREETING = 400
_LONGEST_VOICES = 90
_MOST_VOICES = 3
_HOURS = ("7:00", "8:00", "9:00", "12:00", "18:00", "20:00")
_NATIVE = {"en": "English", "es": "Español"}

_Step = Callable[[Request, Services], Awaitable[Reply]]


async def _start(request: Request, services: Services) -> Reply:
    words = request.words
    archives = _archives(await services.archives.list())
    said = [words.say("You own this bot now.")] if request.owner and request.text else []
    said.append(words.say("There is always a tweet."))
    if archives:
        said.append(
            words.say(
                "I look in the old tweets of {voices} for one that foretold today's news.",
                voices=_voices(archives, words),
            )
        )
        said.append(words.say("Paste a headline or a link."))
        said.append("" if request.place.private else listening_here(request))
    else:
        said.append(words.say("I have no archive yet: whoever runs me loads one."))
    button = _button(words.say("Set me up"), "archive")
    greeting = Reply(
        words=words,
        text=cut(" ".join(filter(None, said)), LONGEST_GREETING),
        buttons=((button,),) if archives and request.place.kept else (),
    )
    return await at_home(request, services, greeting) if request.place.home else greeting


def _archives(corpora: Sequence[Corpus]) -> list[Corpus]:
    usable = [one for one in corpora if one.role is not CorpusRole.NEWS]
    return [one for one in usable if one.role is CorpusRole.ARCHIVE] or usable


def _voices(archives: Sequence[Corpus], words: Words) -> str:
    shown = ", ".join(one.voice for one in archives[:_MOST_VOICES])
    more = len(archives) - _MOST_VOICES
    named = cut(shown, _LONGEST_VOICES)
    return words.say("{voices} and {more} more", voices=named, more=more) if more > 0 else named


async def _archive(request: Request, services: Services) -> Reply:
    archives = _archives(await services.archives.list())
    if len(archives) < 2:
        return await _language(request, services)
    words = request.words
    buttons = archive_buttons(archives, words, "setup", of="corpus=")
    return _step(request, words.say("Whose texts shall I search here?"), buttons, "language")


async def _language(request: Request, _services: Services) -> Reply:
    buttons = tuple((_button(_NATIVE.get(code, code), f"language={code}"),) for code in LANGUAGES)
    words = request.words
    return _step(request, words.say("Which language shall I speak here?"), buttons, "news")


async def _news(request: Request, services: Services) -> Reply:
    words, news = request.words, services.news
    own = {feed.url for feed in await news.feeds.of_chat(request.known_chat)}
    buttons = tuple(
        (
            _button(f"✓ {feed.title}", "news")
            if feed.url in own
            else Button(label=feed.title, action=Action(name="follow", value=feed.name)),
        )
        for feed in well_known_in(words.language)
    )
    text = words.say("Whose news shall I read? /feeds add ADDRESS adds any other.")
    return _step(request, text, buttons, "hour", onward=words.say("Next") if own else "")


async def _hour(request: Request, _services: Services) -> Reply:
    words, zone = request.words, request.known_chat.time_zone
    row = tuple(_button(hour, f"hour={hour}") for hour in _HOURS)
    text = words.say(
        "When shall I post each day what was foretold? Times are in {zone}.", zone=zone
    )
    return _step(request, text, (row[:3], row[3:]), "done", onward=words.say("Never"))


async def _done(request: Request, services: Services) -> Reply:
    words = request.words
    if request.place.home:
        return await _start(replace(request, text=""), services)
    text = words.say("I am set up. Paste a headline or a link. /settings changes the rest.")
    return Reply(words=words, text=text)


_STEPS: Mapping[str, _Step] = {
    "archive": _archive,
    "language": _language,
    "news": _news,
    "hour": _hour,
    "done": _done,
}


async def _press_step(request: Request, action: Action, services: Services) -> Reply:
    """Do what a button of the set-up says by the command for it, and show the next step."""
    key, _, value = action.value.partition("=")
    if step := _STEPS.get(action.value):
        return await _show_step(request, step, services)
    if key == "corpus":
        return await _after(CORPUS, await _name(value, services), _language, request, services)
    if key == "language" and value in LANGUAGES:
        return await _after(SETTINGS, f"language {value}", _news, request, services)
    if key == "hour" and value in _HOURS:
        return await _after(SUBSCRIBE, f"daily {value}", _done, request, services)
    return too_old(request)


async def _follow_well_known(request: Request, action: Action, services: Services) -> Reply:
    """Add a well-known feed, and offer the others."""
    if not well_known(action.value):
        return too_old(request)
    return await _after(FEEDS, f"add {action.value}", _news, request, services)


async def _name(value: str, services: Services) -> str:
    """Return the name of the archive that a button stands for; "-" if it is gone."""
    if value == ALL:
        return ALL
    found = [one.name for one in await services.archives.list() if str(one.id) == value]
    return found[0] if found else "-"


async def _after(
    command: Command, text: str, step: _Step, request: Request, services: Services
) -> Reply:
    """Run a command, and show the step that follows. Raises what the command raises."""
    await command.handler(replace(request, text=text), services)
    return await _show_step(request, step, services)


async def _show_step(request: Request, step: _Step, services: Services) -> Reply:
    place = request.place
    chat = (
        await services.stores.chats.find_chat(place.platform, place.chat_id) or request.known_chat
    )
    words = words_for(chat.language or request.person.language)
    reply = await step(replace(request, chat=chat, words=words), services)
    return replace(reply, replaces=True)


def _step(
    request: Request,
    text: str,
    buttons: tuple[tuple[Button, ...], ...],
    following: str,
    *,
    onward: str = "",
) -> Reply:
    """Return a step of the set-up, with a button that leaves it out."""
    words = request.words
    skip = (_button(onward or words.say("Leave it as it is"), following),)
    return Reply(words=words, text=text, buttons=(*buttons, skip))


def _button(label: str, value: str) -> Button:
    return Button(label=label, action=Action(name="setup", value=value))


_STEERS = Act(Effect.STEERS_CHAT)

START = Command(
    name="start",
    summary=marked("what I do, and a guided set-up"),
    usage="/start",
    example="/start",
    handler=_start,
    act=LOOKS,
    actions={"setup": _press_step, "follow": _follow_well_known},
    # Following reads the web.
    pressed={"setup": _STEERS, "follow": Act(Effect.STEERS_CHAT, counted=True)},
    # Slack has no start command.
)
