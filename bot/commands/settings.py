"""/settings and /forget: the settings of one chat, and what is deleted of it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import time
from typing import Any

from bot.app import App
from bot.card import require_pictures
from bot.commands.archives import name_archive, with_archive
from bot.commands.help import SHOWS_LITTLE, WITHOUT_MODEL
from bot.commands.registry import Command, too_old
from bot.commands.rights import LOOKS, Act, Effect
from bot.commands.subscription_parser import (
    SPANISH_THRESHOLDS,
    THRESHOLD_LABELS,
    THRESHOLD_OPTION,
    read_threshold,
    type_threshold,
)
from bot.i18n.words import LANGUAGES, Words, marked
from bot.replies.dates import read_time_of_day, write_times
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Request
from db.chat.chats import Forgetting
from db.posting.subscriptions import Subscriptions
from engine.chat import (
    LISTENING_NAMES,
    LISTENING_WORDS,
    Chat,
    Listening,
    PostPicture,
    zone_named,
    zone_or_utc,
)
from engine.errors import UsageError
from engine.text.clean import fold_case_and_accents

_AUTO, _ON, _OFF = "auto", "on", "off"
_COMPACT, _FULL = "compact", "full"
_LISTENING, _CORPUS = "listening", "corpus"
_LONGEST_ECHO = 40
_SPAN = re.compile(
    r" ?(?:[-–]|\b(?:to|until|till|and|al?|hasta|y(?! (?:media|cuarto)\b))\b(?: las?\b)?) ?",
    re.IGNORECASE,
)
_FROM = re.compile(r"(?:from|between|desde|entre|del?)\s+(?:las?\s+)?", re.IGNORECASE)
# Settings and their values in Spanish.
_SPANISH_NAMES = {
    "language": "idioma",
    "mentions": "menciones",
    "replies": "réplicas",
    "headlines": "titulares",
    "threshold": "umbral",
    "timezone": "zona",
    "quiet": "silencio",
    "picture": "imagen",
    "answers": "respuestas",
    "listening": "escucha",
    _CORPUS: "archivo",
}
_SPANISH_VALUES = {
    _ON: "sí",
    _OFF: "no",
    _COMPACT: "breves",
    _FULL: "completas",
    "all": "todo",
    "mentions": "menciones",
    "commands": "comandos",
    **{kind: word for word, kind in SPANISH_THRESHOLDS.items()},
}
_NAMES = {fold_case_and_accents(name): key for key, name in _SPANISH_NAMES.items()} | {
    "zona horaria": "timezone",
    "time zone": "timezone",
    "ciudad": "timezone",
    "quiet hours": "quiet",
    "horas de silencio": "quiet",
    "imagenes": "picture",
    "pictures": "picture",
}
_VALUES = {fold_case_and_accents(name): value for value, name in _SPANISH_VALUES.items()} | {
    "none": _OFF,
    "nunca": _OFF,
    "compactas": _COMPACT,
    "espanol": "es",
    "castellano": "es",
    "spanish": "es",
    "ingles": "en",
    "english": "en",
    "automatico": _AUTO,
}
# "idioma: español", "threshold to 5", "umbral a 5".
_SETTING = re.compile(
    rf"(?P<key>{'|'.join(sorted(_NAMES, key=len, reverse=True))}|\S+?)"
    r"\s*(?:[:=]\s*|\s(?:(?:to|a|en)\s+(?=\S))?|\Z)\s*(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)

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
_FORGET = "forget"

SETTING_NAMES = (
    "language",
    *LISTENING_NAMES,
    "threshold",
    "timezone",
    "quiet",
    "picture",
    "answers",
)
_OTHER = "other"  # any value but those that are named
# The values that have a button.
_CHOICES: Mapping[str, Collection[str]] = {
    "language": (*LANGUAGES, _AUTO),
    **dict.fromkeys(LISTENING_NAMES, (_ON, _OFF)),
    "threshold": THRESHOLD_LABELS,
    "answers": (_COMPACT, _FULL),
}


def _set_value(chat: Chat, name: str, value: str, words: Words) -> Chat:
    """Return the chat with another value of a setting. Raises UsageError."""

    def one_of(*allowed: str) -> str:
        return _one_of(value, allowed, name, words)

    change: dict[str, Any]
    match name:
        case "language":
            code = one_of(*LANGUAGES, _AUTO)
            change = {"language": None if code == _AUTO else code}
        case "listening":  # all of what is answered in a group, by one word
            change = {"listening": Listening.parse(one_of(*LISTENING_WORDS))}
        case "threshold":
            change = {"threshold": read_threshold(value, words)}
        case "timezone":
            change = {"time_zone": _read_zone(value, words)}
        case "quiet":
            begin, end = _read_quiet_hours(value, words)
            change = {"quiet_from": begin, "quiet_to": end}
        case "picture":
            wanted = PostPicture(one_of(*(choice.value for choice in PostPicture)))
            if wanted is not PostPicture.OFF:
                require_pictures()
            change = {"picture": wanted}
        case "answers":
            change = {"full_answers": one_of(_COMPACT, _FULL) == _FULL}
        case _:  # whether one kind of plain message is answered in a group
            heard = {name: one_of(_ON, _OFF) == _ON}
            change = {"listening": replace(chat.listening, **heard)}
    return replace(chat, **change)


def _read_zone(value: str, words: Words) -> str:
    zone = zone_named(value)
    if zone is None:
        message = words.say(
            "I know no city or time zone {value}. An example: Madrid.",
            value=cut(value, _LONGEST_ECHO) or "-",
        )
        raise UsageError(message)
    return zone.key


def _read_quiet_hours(value: str, words: Words) -> tuple[time | None, time | None]:
    if _VALUES.get(value.lower(), value.lower()) == _OFF:
        return None, None
    span = _FROM.sub("", " ".join(value.split()), count=1)
    times = [read_time_of_day(write_times(part)) for part in _SPAN.split(span)]
    if len(times) != 2 or None in times or times[0] == times[1]:
        raise UsageError(words.say("Write quiet hours as 23:00-08:00, or off."))
    return times[0], times[1]


def _type_value(chat: Chat, name: str) -> str:
    """Return the value of a setting in the form in which it is typed."""
    quiet = _OFF
    if chat.quiet_from is not None and chat.quiet_to is not None:
        quiet = f"{chat.quiet_from:%H:%M}-{chat.quiet_to:%H:%M}"
    return {
        "language": chat.language or _AUTO,
        **{name: _ON if getattr(chat.listening, name) else _OFF for name in LISTENING_NAMES},
        "threshold": type_threshold(chat.threshold),
        "timezone": chat.time_zone,
        "quiet": quiet,
        "picture": chat.picture.value,
        "answers": _FULL if chat.full_answers else _COMPACT,
    }[name]


_EXPLAINED: Mapping[str, Mapping[str, str]] = {
    "language": {
        _AUTO: marked("I answer everybody in their own language"),
        _OTHER: marked("I speak English"),
    },
    "threshold": {
        "foretold": marked("I speak unasked only of what was foretold"),
        "demands": marked("I speak unasked of what was foretold or asked for"),
        "mirrors": marked("I speak unasked of what was foretold, asked for or held against others"),
        "earlier": marked("I speak unasked also of what has happened before"),
    },
    "timezone": {_OTHER: marked("it is {time} there")},
    "quiet": {
        _OFF: marked("I may post at any hour"),
        _OTHER: marked("in these hours I say nothing unasked"),
    },
    "mentions": {
        "on": marked("in a group I answer when my name is written"),
        "off": marked("in a group I do not answer when my name is written"),
    },
    "replies": {
        "on": marked("in a group I answer headlines in reply to me"),
        "off": marked("in a group I do not answer replies"),
    },
    "headlines": {
        "on": marked("in a group I read along, and speak when a tweet fits well"),
        "off": marked("in a group I leave headlines alone that are not for me"),
    },
    "picture": {
        PostPicture.OFF: marked("my posts have no pictures"),
        PostPicture.ON: marked("a picture of the best tweet follows each post"),
        PostPicture.POST: marked("each tweet that I post is a picture"),
    },
    "answers": {
        _COMPACT: marked("the best tweet whole, the others in a line each"),
        _FULL: marked("every tweet whole, with its votes and scores"),
    },
}


def _one_of(value: str, allowed: tuple[str, ...], name: str, words: Words) -> str:
    """Return the value that is meant, which may be Spanish. Raises UsageError if it is not in
    `allowed`."""
    for typed in (value.lower(), _VALUES.get(fold_case_and_accents(value), "")):
        if typed in allowed:
            return typed
    raise UsageError(
        words.say(
            "{value} does not fit {name}. Use one of: {known}.",
            value=cut(value, _LONGEST_ECHO) or "-",
            name=_translate_name(name, words),
            known=", ".join(_translate_value(each, words) for each in allowed),
        )
    )


def _translate_name(name: str, words: Words) -> str:
    """Return the name of a setting in the language of the chat."""
    return _SPANISH_NAMES.get(name, name) if words.language == "es" else name


def _translate_value(value: str, words: Words) -> str:
    return _SPANISH_VALUES.get(value, value) if words.language == "es" else value


async def _handle_settings(request: Request, app: App) -> Reply:
    key, value = _read_setting(request.text)
    if not key:
        return await _show_settings(request, request.known_chat, app)
    chat, words = await _change_setting(request, app, key, value)
    asked = replace(request, words=words)
    lines = [  # as the list of all settings has them
        _show_archive(chat.corpus or "-", asked)
        if name == _CORPUS
        else _show_value(chat, name, asked)
        for name in (LISTENING_NAMES if key == _LISTENING else (key,))
    ]
    if key in (_LISTENING, "headlines"):
        lines += await _list_limits(request, chat, app)
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


def _read_setting(text: str) -> tuple[str, str]:
    """Return the setting that a text names, in English or Spanish, and what follows; ("", "") if
    there is no text."""
    match = _SETTING.fullmatch(text.strip())
    if match is None:
        return "", ""
    typed, value = match["key"].lower(), match["value"].strip()
    key = _NAMES.get(fold_case_and_accents(typed), typed)
    key = f"{key}s" if f"{key}s" in SETTING_NAMES else key  # "headline off"
    switch = _VALUES.get(fold_case_and_accents(value), value.lower()) in (_ON, _OFF)
    # "respuestas" are both; replies are switched on and off.
    return ("replies" if key == "answers" and switch else key), value


def _show_archive(name: str, request: Request) -> str:
    return f"{_translate_name(_CORPUS, request.words)}: {name}"


def _show_value(chat: Chat, name: str, request: Request) -> str:
    """Return the line for a setting: its value, and what that does in this chat."""
    words, value, explained = request.words, _type_value(chat, name), _EXPLAINED[name]
    local = request.now.astimezone(zone_or_utc(chat.time_zone))
    message = explained[value] if value in explained else explained[_OTHER]
    does = words.say(message, time=f"{local.hour}:{local:%M}")
    return f"{_translate_name(name, words)}: {_translate_value(value, words)} · {does}"


async def _list_limits(request: Request, chat: Chat, app: App) -> list[str]:
    """Return why the bot may say less about overheard headlines than it was told to."""
    if not chat.listening.headlines or request.place.private:
        return []
    messages = [] if app.settings.has_model() else [WITHOUT_MODEL]
    if not await request.inquiries.hears_all():
        messages.append(SHOWS_LITTLE)
    return [request.words.say(message) for message in messages]


async def _press_setting(request: Request, action: Action, app: App) -> Reply:
    key, _, value = action.value.partition("=")
    chat, words = await _change_setting(request, app, key, value)
    reply = await _show_settings(replace(request, words=words), chat, app)
    return replace(reply, replaces=True, toast=words.say("Noted."))


async def _change_setting(request: Request, app: App, key: str, value: str) -> tuple[Chat, Words]:
    """Change one setting; return the chat and the words of its language. Raises UsageError."""
    words = request.words
    if key == _CORPUS:
        chat = await with_archive(request, app, value)
    elif key in SETTING_NAMES or key == _LISTENING:
        chat = _set_value(request.known_chat, key, value, words)
    else:
        raise UsageError(
            words.say(
                "There is no setting {key}. There are: {keys}.",
                key=cut(key, _LONGEST_ECHO) or "-",
                keys=", ".join(_translate_name(name, words) for name in [*SETTING_NAMES, _CORPUS]),
            )
        )
    await app.chats.change(chat)
    posts = Subscriptions(app.database)
    if key == "threshold" and (subscription := await posts.get(chat)):
        # It means the same wherever something is said unasked.
        await posts.set(replace(subscription, threshold=chat.threshold), now=request.now)
    return chat, request.words.in_language(chat.language or request.person.language)


async def _show_settings(request: Request, chat: Chat, app: App) -> Reply:
    words = request.words
    lines = [words.say("Settings of this chat; /settings NAME VALUE changes one:")]
    lines += [_show_value(chat, name, request) for name in SETTING_NAMES]
    lines.append(_show_archive(await name_archive(chat, app, words), request))
    lines += await _list_limits(request, chat, app)
    buttons = tuple(
        tuple(
            _build_button(_label_value(name, value, words), name, value)
            for value in values
            if value != _type_value(chat, name)
        )
        for name, values in _CHOICES.items()
    )
    return Reply(words=words, text="\n".join(lines), buttons=buttons, ephemeral=True)


def _label_value(name: str, value: str, words: Words) -> str:
    if name == "threshold":
        return words.say(THRESHOLD_LABELS[value])
    translated = _translate_value(value, words)
    return translated if name == "language" else f"{_translate_name(name, words)} {translated}"


def _build_button(label: str, key: str, value: str) -> Button:
    return Button(label=label, action=Action(name="set", value=f"{key}={value}"))


SETTINGS = Command(
    name="settings",
    summary=marked("how I behave in this chat"),
    usage=marked("/settings [NAME VALUE]"),
    example="/settings language es",
    details=(
        marked("language en, es or auto: what I speak; auto is the language of whoever writes."),
        marked("mentions on or off: whether I answer in a group when my name is written."),
        marked("replies on or off: whether I answer there to headlines in reply to me."),
        marked(
            "headlines on or off: whether I read along there, and speak when a tweet fits well."
        ),
        marked("listening all, mentions or commands: those three at once."),
        THRESHOLD_OPTION,
        marked("timezone Madrid: the city whose clock times are by."),
        marked("quiet 23:00-08:00 or off: hours in which I say nothing unasked."),
        marked("picture on, post or off: a picture after a post, or as the post itself."),
        marked("answers compact or full: full shows every tweet whole, its votes and scores."),
        marked("corpus NAME: whose tweets are searched."),
    ),
    for_channels=True,
    handler=_handle_settings,
    act=Act(Effect.STEERS_CHAT),
    actions={"set": _press_setting},
)


async def _offer_forgetting(request: Request, _app: App) -> Reply:
    """Say what will be deleted, and what not; nothing is before the button is pressed."""
    words = request.words
    if not request.place.kept:
        return reply_aside(request, words.say("Write that to me in private."))
    lines = [words.say(line) for line in (_IN_PRIVATE if request.place.private else _IN_GROUP)]
    if request.owner and request.place.private:
        lines.append(words.say(_OWNS))
    # With the id, a button left from before does not delete what was stored since.
    action = Action(name=_FORGET, answer_id=request.known_chat.id)
    return Reply(
        words=words,
        text="\n".join(lines),
        buttons=((Button(label=words.say("Delete it for good"), action=action),),),
        ephemeral=True,
    )


async def _press_forget(request: Request, action: Action, app: App) -> Reply:
    place, words = request.place, request.words
    if action.answer_id != request.known_chat.id:
        return too_old(request)
    if place.private:
        await Forgetting(app.database).person(
            place.platform, request.person.id, chat=place.chat_id, now=request.now
        )
        text = words.say("Deleted. What you write to me from now on is stored again.")
    else:
        await Forgetting(app.database).chat(place.platform, place.chat_id)
        text = words.say("Deleted. What is written to me here from now on is stored again.")
    return Reply(words=words, text=text, replaces=True, ephemeral=True)


FORGET = Command(
    name=_FORGET,
    summary=marked("delete what I have stored about you, or in groups about the chat"),
    usage="/forget",
    example="/forget",
    handler=_offer_forgetting,
    act=LOOKS,
    actions={_FORGET: _press_forget},
    pressed={_FORGET: Act(Effect.STEERS_CHAT)},
)
