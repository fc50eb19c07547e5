"""/start: a short greeting, and a guided set-up by buttons for who steers the chat."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from bot.app import App
from bot.commands.archives import CORPUS, archive_buttons, find_chosen, require_archive
from bot.commands.feeds import FEEDS, name_feeds
from bot.commands.help import listening_here
from bot.commands.registry import Command, too_old
from bot.commands.rights import LOOKS, Act, Effect, say_how_to_ask, say_no_archive
from bot.commands.settings import SETTINGS
from bot.commands.subscribe import (
    SUBSCRIBE,
    UNSUBSCRIBE,
    describe_subscription,
    join_with_and,
    list_obstacles,
    say_no_feed,
)
from bot.evidence import advise_local_model
from bot.i18n.words import DEFAULT, LANGUAGES, Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply
from bot.request import Request
from db.posting.feeds import Feeds
from db.posting.subscriptions import Subscriptions
from engine.chat import say_city, zone_or_utc
from engine.errors import SeveralCorpora, UsageError
from engine.feeds.lookup import well_known, well_known_in
from engine.posting.delivery import PostingMode, Subscription
from engine.values import Corpus, CorpusRole

LONGEST_GREETING = 400
_LONGEST_VOICES = 90
_MAX_VOICES = 3
_HOURS = ("7:00", "8:00", "9:00", "12:00", "18:00", "20:00")
_NEVER = "never"
_LONGEST_LABEL, _MAX_SOURCES = 40, 12
_NATIVE = {"en": "English", "es": "Español"}
_ZONE_EXAMPLE = "/settings timezone Madrid"
_Step = Callable[[Request, App], Awaitable[Reply]]
_STEERS = Act(Effect.STEERS_CHAT)
# Where most of those live who speak a language; elsewhere a city is typed.
_ZONES = {
    "en": (
        *("Europe/London", "America/New_York", "America/Chicago", "America/Los_Angeles"),
        *("Asia/Kolkata", "Australia/Sydney"),
    ),
    "es": (
        *("Europe/Madrid", "America/Mexico_City", "America/Bogota", "America/Lima"),
        *("America/Santiago", "America/Argentina/Buenos_Aires"),
    ),
}
_ZONE_OF_COUNTRY = {
    "AR": "America/Argentina/Buenos_Aires",
    "AU": "Australia/Sydney",
    "CL": "America/Santiago",
    "CO": "America/Bogota",
    "ES": "Europe/Madrid",
    "GB": "Europe/London",
    "IN": "Asia/Kolkata",
    "MX": "America/Mexico_City",
    "PE": "America/Lima",
    "US": "America/New_York",
}
# Cities that are written otherwise in other languages than in the names of zones.
_CITIES = (marked("London"), marked("New York"), marked("Mexico City"), marked("Bogota"))
_OFFERED_ZONES = frozenset({*_ZONE_OF_COUNTRY.values(), *chain.from_iterable(_ZONES.values())})


async def _welcome_chat(request: Request, app: App) -> Reply:
    words = request.words
    archives = await _list_searched(request, app)
    owns = request.owner and bool(request.text)  # which is the code: this is said once
    sentences = [words.say("You own this bot now.")] if owns else []
    sentences.append(words.say("There is always a tweet."))
    if archives:
        sentences.append(
            words.say(
                "I look in the old tweets of {voices} for one that foretold today's news.",
                voices=_format_voices(archives, words),
            )
        )
        sentences.append(say_how_to_ask(words, private=request.place.private))
        sentences.append("" if request.place.private else await listening_here(request))
    else:
        sentences.append(say_no_archive(request, app))
    button = _build_button(words.say("Set me up"), "archive")
    text = cut(" ".join(filter(None, sentences)), LONGEST_GREETING)
    advice = None if app.settings.has_model() else advise_local_model(app.settings)
    if owns and advice:
        text += f"\n{words.render(advice)}"
    return Reply(
        words=words, text=text, buttons=((button,),) if archives and request.place.kept else ()
    )


def _choose_archives(corpora: Sequence[Corpus]) -> list[Corpus]:
    usable = [corpus for corpus in corpora if corpus.role is not CorpusRole.NEWS]
    return [corpus for corpus in usable if corpus.role is CorpusRole.ARCHIVE] or usable


async def _list_searched(request: Request, app: App) -> list[Corpus]:
    """Return the archive that the chat searches, or all that it may choose from."""
    name = app.archive_of(request.known_chat)
    corpora = await app.corpora.list()
    return [corpus for corpus in corpora if corpus.name == name] or _choose_archives(corpora)


def _format_voices(archives: Sequence[Corpus], words: Words) -> str:
    voices = [
        corpus.voice
        if corpus.display_name or corpus.author
        else words.say("an archive called {name}", name=corpus.name)
        for corpus in archives[:_MAX_VOICES]
    ]
    more = len(archives) - _MAX_VOICES
    if more <= 0:
        return cut(join_with_and(voices, words), _LONGEST_VOICES)
    named = cut(", ".join(voices), _LONGEST_VOICES)
    return words.say("{voices} and {more} more", voices=named, more=more)


async def _ask_archive(request: Request, app: App) -> Reply:
    archives = _choose_archives(await app.corpora.list())
    if len(archives) < 2:
        return await _ask_language(request, app)
    words = request.words
    text = words.say("Whose texts shall I search here?")
    buttons = archive_buttons(archives, words, "setup", of="corpus=")
    if await _find_subscription(request, app):
        reason = words.say("Posts come from one archive.")
        text = f"{text} {reason}"
        buttons = buttons[:-1]  # which is that for all
    return _build_step(request, text, buttons, "language")


async def _ask_language(request: Request, app: App) -> Reply:
    several = len(_choose_archives(await app.corpora.list())) > 1
    buttons = tuple(
        (_build_button(_NATIVE.get(code, code), f"language={code}"),) for code in LANGUAGES
    )
    words = request.words
    return _build_step(
        request,
        words.say("Which language shall I speak here?"),
        buttons,
        "news",
        before="archive" if several else "",
    )


async def _ask_news(request: Request, app: App) -> Reply:
    words = request.words
    own = {feed.url for feed in await Feeds(app.database).of_chat(request.known_chat)}
    buttons = tuple(
        (
            _build_button(f"✓ {feed.title}", "news")
            if feed.url in own
            else Button(label=feed.title, action=Action(name="follow", value=feed.name)),
        )
        for feed in well_known_in(words.language)
    )
    text = words.say("Whose news shall I read? /feeds add ADDRESS adds any other.")
    onward = words.say("Next") if own else ""
    return _build_step(request, text, buttons, "zone", before="language", onward=onward)


async def _ask_unknown_zone(request: Request, app: App) -> Reply:
    """Ask for the time zone where the platform has not told it."""
    is_known = request.known_chat.time_zone != "UTC"
    return await (_ask_hour if is_known else _ask_zone)(request, app)


async def _ask_zone(request: Request, _app: App) -> Reply:
    words = request.words
    zones = _ZONES.get(words.language, _ZONES[DEFAULT])
    # That of the country in a tag such as "es-MX" goes first.
    country = request.person.language.replace("_", "-").rpartition("-")[2].upper()
    home = [_ZONE_OF_COUNTRY[country]] if country in _ZONE_OF_COUNTRY else []
    buttons = []
    for zone in tuple(dict.fromkeys((*home, *zones)))[: len(zones)]:
        local = request.now.astimezone(zone_or_utc(zone))
        buttons.append(_build_button(f"{words.say(say_city(zone))} {local:%H:%M}", f"zone={zone}"))
    rows = tuple(tuple(buttons[start : start + 2]) for start in range(0, len(buttons), 2))
    text = words.say(
        "What time is it where you are? Any other city: {example}",
        example=words.write_commands(_ZONE_EXAMPLE),
    )
    return _build_step(request, text, rows, "hour", before="news")


async def _ask_hour(request: Request, app: App) -> Reply:
    words, zone = request.words, request.known_chat.time_zone
    row = tuple(_build_button(hour, f"hour={hour}") for hour in _HOURS)
    text = words.say(
        "When shall I post each day what was foretold? Times are those of {city}.",
        city=words.say(say_city(zone)),
    )
    never = _build_button(words.say("Never"), f"hour={_NEVER}")
    following = "done" if await _find_subscription(request, app) else ""
    buttons = (row[:3], row[3:], (never,))
    return _build_step(request, text, buttons, following, before="city")


async def _subscribe_daily(hour: str, request: Request, app: App) -> Reply:
    """Post each day at an hour, and sum up; where several archives are searched, ask for one."""
    try:
        await require_archive(request, app)
    except (SeveralCorpora, UsageError):
        return await _ask_source(hour, request, app)
    await SUBSCRIBE.handler(replace(request, text=f"daily {hour}"), app)
    return await _sum_up_setup(request, app)


async def _ask_source(hour: str, request: Request, app: App) -> Reply:
    words, archives = request.words, _choose_archives(await app.corpora.list())
    buttons = tuple(
        (_build_button(cut(archive.voice, _LONGEST_LABEL), f"from={archive.id}={hour}"),)
        for archive in archives[:_MAX_SOURCES]
    )
    never = _build_button(words.say("Never"), f"hour={_NEVER}")
    text = words.say(
        "I post from one archive alone, and then search only that one here. From which shall I"
        " post at {hour}?",
        hour=hour,
    )
    return _build_step(request, text, (*buttons, (never,)), "", before="hour")


async def _find_subscription(request: Request, app: App) -> Subscription | None:
    """Return the subscription of the chat, or None if nothing is posted there."""
    subscription = await Subscriptions(app.database).get(request.known_chat)
    return subscription if subscription and subscription.mode is not PostingMode.OFF else None


async def _sum_up_setup(request: Request, app: App) -> Reply:
    """Sum up what was set, with a button that begins again."""
    words = request.words
    selected = await _list_searched(request, app)
    ready = words.say("I am set up.")
    lines = [
        f"{ready} {say_how_to_ask(words, private=request.place.private)}",
        words.say("I search the texts of {voices}.", voices=_format_voices(selected, words)),
        *await _sum_up_posts(request, app),
        words.say("/settings and /subscribe change the rest."),
    ]
    change = _build_button(words.say("Change"), "archive")
    return Reply(words=words, text="\n".join(lines), buttons=((change,),))


async def _sum_up_posts(request: Request, app: App) -> list[str]:
    words = request.words
    feeds = await Feeds(app.database).of_chat(request.known_chat)
    subscription = await _find_subscription(request, app)
    if subscription is None:
        return [words.say("I post nothing here unasked.")]
    if not feeds:
        return [say_no_feed(words)]
    return [
        *describe_subscription(subscription, name_feeds(feeds), words),
        *await list_obstacles(request, subscription, app),
    ]


_STEPS: Mapping[str, _Step] = {
    "archive": _ask_archive,
    "language": _ask_language,
    "news": _ask_news,
    "zone": _ask_unknown_zone,
    "city": _ask_zone,
    "hour": _ask_hour,
    "done": _sum_up_setup,
}


async def _press_step(request: Request, action: Action, app: App) -> Reply:
    """Do what a button of the set-up says by the command for it, and show the next step."""
    key, _, value = action.value.partition("=")
    if step := _STEPS.get(action.value):
        return await _show_step(request, step, app)
    if key == "corpus":
        name = await find_chosen(value, app) or "-"
        return await _run_command(CORPUS, name, _ask_language, request, app)
    if key in {"hour", "from"}:
        return await _press_hour(key, value, request, app)
    if key == "language" and value in LANGUAGES:
        return await _run_command(SETTINGS, f"language {value}", _ask_news, request, app)
    if key == "zone" and value in _OFFERED_ZONES:
        return await _run_command(SETTINGS, f"timezone {value}", _ask_hour, request, app)
    return too_old(request)


async def _press_hour(key: str, value: str, request: Request, app: App) -> Reply:
    """Post at an hour, or never; "from" names an archive before the hour."""
    source, _, hour = value.rpartition("=")
    if hour == _NEVER:
        return await _run_command(UNSUBSCRIBE, "", _sum_up_setup, request, app)
    if hour not in _HOURS or (key == "from") is not bool(source):
        return too_old(request)
    step = partial(_subscribe_daily, hour)
    if not source:
        return await _show_step(request, step, app)
    name = await find_chosen(source, app) or "-"
    return await _run_command(CORPUS, name, step, request, app)


async def _follow_well_known(request: Request, action: Action, app: App) -> Reply:
    """Add a well-known feed, and offer the others."""
    if not well_known(action.value):
        return too_old(request)
    return await _run_command(FEEDS, f"add {action.value}", _ask_news, request, app)


async def _run_command(
    command: Command, text: str, step: _Step, request: Request, app: App
) -> Reply:
    """Run a command, and show the step that follows. Raises what the command raises."""
    await command.handler(replace(request, text=text), app)
    return await _show_step(request, step, app)


async def _show_step(request: Request, step: _Step, app: App) -> Reply:
    place = request.place
    chat = await app.chats.find_chat(place.platform, place.chat_id) or request.known_chat
    words = request.words.in_language(chat.language or request.person.language)
    reply = await step(replace(request, chat=chat, words=words), app)
    return replace(reply, replaces=True)


def _build_step(
    request: Request,
    text: str,
    buttons: tuple[tuple[Button, ...], ...],
    following: str,
    *,
    before: str = "",
    onward: str = "",
) -> Reply:
    """Return a step of the set-up, with buttons that leave it out and that go back."""
    words = request.words
    row = (
        (_build_button(words.say("Back"), before),) if before else (),
        (_build_button(onward or words.say("Leave it as it is"), following),) if following else (),
    )
    return Reply(words=words, text=text, buttons=(*buttons, tuple(chain(*row))))


def _build_button(label: str, value: str) -> Button:
    return Button(label=label, action=Action(name="setup", value=value))


START = Command(
    name="start",
    summary=marked("what I do, and a guided set-up"),
    usage="/start",
    example="/start",
    handler=_welcome_chat,
    act=LOOKS,
    actions={"setup": _press_step, "follow": _follow_well_known},
    # Following reads the web.
    pressed={"setup": _STEERS, "follow": Act(Effect.STEERS_CHAT, counted=True, slow=True)},
    # Slack has no start command.
)
