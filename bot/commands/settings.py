"""/settings and /corpus: how the bot behaves in one chat."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import time
from zoneinfo import ZoneInfo, available_timezones

from bot.commands.registry import Command, Services
from bot.reply import Action, Button, Reply
from bot.request import Request
from bot.words import LANGUAGES, Words, words_for
from engine.chat import Chat, Listening
from engine.errors import UsageError

_SWITCH = {"on": True, "off": False}
_SPAN = re.compile(r"((?:[01]\d|2[0-3]):[0-5]\d)\s*-\s*((?:[01]\d|2[0-3]):[0-5]\d)")


async def _settings(request: Request, services: Services) -> Reply:
    key, _, value = request.text.partition(" ")
    if not key:
        return _shown(request, request.known_chat)
    return await _set(request, services, key.lower(), value.strip())


async def _pressed(request: Request, action: Action, services: Services) -> Reply:
    key, _, value = action.value.partition("=")
    reply = await _set(request, services, key, value)
    return replace(reply, replaces=True, toast=request.words.say("Noted."))


async def _set(request: Request, services: Services, key: str, value: str) -> Reply:
    """Change one setting and show all of them. Raises UsageError."""
    if key == "corpus":
        chat = await _with_corpus(request, services, value)
    elif key in _READERS:
        chat = _READERS[key](request.known_chat, value, request.words)
    else:
        raise UsageError(
            request.words.say(
                "There is no setting {key}. There are: {keys}.",
                key=key,
                keys=", ".join([*_READERS, "corpus"]),
            )
        )
    await services.chats.change(chat)
    words = words_for(chat.language or request.person.language)
    return _shown(replace(request, words=words), chat)


async def _corpus(request: Request, services: Services) -> Reply:
    if request.text:
        return await _set(request, services, "corpus", request.text)
    words, current = request.words, request.known_chat.corpus or services.corpus
    corpora = await services.corpora()
    if not corpora:
        text = words.say("There is no corpus yet.")
        return Reply(words=words, text=text, ephemeral=True)
    lines = [words.say("Corpora:")]
    for corpus in corpora:
        mark = " ✓" if corpus.name == current else ""
        lines.append(
            words.count(
                "{name}: {number} document{mark}",
                "{name}: {number} documents{mark}",
                corpus.documents,
                name=corpus.name,
                mark=mark,
            )
        )
    buttons = tuple((_button(c.name, "corpus", c.name),) for c in corpora if len(c.name) < 40)
    return Reply(words=words, text="\n".join(lines), buttons=buttons, ephemeral=True)


async def _with_corpus(request: Request, services: Services, name: str) -> Chat:
    names = [corpus.name for corpus in await services.corpora()]
    if name not in names:
        raise UsageError(
            request.words.say(
                "There is no corpus {name}. There are: {names}.",
                name=name or "-",
                names=", ".join(names) or "-",
            )
        )
    return replace(request.known_chat, corpus=name)


def _language(chat: Chat, value: str, words: Words) -> Chat:
    if value == "auto":
        return replace(chat, language=None)
    return replace(chat, language=_one_of(value, LANGUAGES, "language", words))


def _listening(chat: Chat, value: str, words: Words) -> Chat:
    chosen = _one_of(value, tuple(Listening), "listening", words)
    return replace(chat, listening=Listening(chosen))


def _threshold(chat: Chat, value: str, words: Words) -> Chat:
    chosen = _one_of(value, tuple(str(number) for number in range(7)), "threshold", words)
    return replace(chat, threshold=int(chosen))


def _time_zone(chat: Chat, value: str, words: Words) -> Chat:
    names = {name.lower(): name for name in available_timezones()}
    if value.lower() not in names:
        text = words.say("{value} is no time zone. An example: Europe/Madrid.", value=value or "-")
        raise UsageError(text)
    return replace(chat, time_zone=names[value.lower()])


def _quiet(chat: Chat, value: str, words: Words) -> Chat:
    if value == "off":
        return replace(chat, quiet_from=None, quiet_to=None)
    found = _SPAN.fullmatch(value)
    if found is None:
        raise UsageError(words.say("Write quiet hours as 23:00-08:00, or off."))
    start, end = (time.fromisoformat(part) for part in found.groups())
    return replace(chat, quiet_from=start, quiet_to=end)


def _picture(chat: Chat, value: str, words: Words) -> Chat:
    return replace(chat, picture=_SWITCH[_one_of(value, tuple(_SWITCH), "picture", words)])


_READERS: Mapping[str, Callable[[Chat, str, Words], Chat]] = {
    "language": _language,
    "listening": _listening,
    "threshold": _threshold,
    "timezone": _time_zone,
    "quiet": _quiet,
    "picture": _picture,
}


def _one_of(value: str, known: tuple[str, ...], key: str, words: Words) -> str:
    if value.lower() in known:
        return value.lower()
    raise UsageError(
        words.say(
            "{value} does not fit {key}. Use one of: {known}.",
            value=value or "-",
            key=key,
            known=", ".join(known),
        )
    )


def _shown(request: Request, chat: Chat) -> Reply:
    words = request.words
    quiet = words.say("off")
    if chat.quiet_from and chat.quiet_to:
        quiet = f"{chat.quiet_from:%H:%M}-{chat.quiet_to:%H:%M}"
    rows = {
        "language": chat.language or "auto",
        "listening": chat.listening.value,
        "threshold": str(chat.threshold),
        "timezone": str(ZoneInfo(chat.time_zone)),
        "quiet": quiet,
        "picture": "on" if chat.picture else "off",
        "corpus": chat.corpus or words.say("the configured one"),
    }
    lines = [words.say("Settings of this chat; /settings NAME VALUE changes one:")]
    lines += [f"{name}: {value}" for name, value in rows.items()]
    return Reply(words=words, text="\n".join(lines), buttons=_choices(chat), ephemeral=True)


def _choices(chat: Chat) -> tuple[tuple[Button, ...], ...]:
    return (
        tuple(_button(code, "language", code) for code in LANGUAGES if code != chat.language),
        tuple(_button(m.value, "listening", m.value) for m in Listening if m is not chat.listening),
        tuple(
            _button(f"threshold {number}", "threshold", str(number))
            for number in (3, 4, 5, 6)
            if number != chat.threshold
        ),
    )


def _button(label: str, key: str, value: str) -> Button:
    return Button(label=label, action=Action(name="set", value=f"{key}={value}"))


SETTINGS = Command(
    name="settings",
    summary="how I behave in this chat",
    usage="/settings [NAME VALUE]",
    example="/settings language es",
    handler=_settings,
    admin=True,
    actions={"set": _pressed},
)
CORPUS = Command(
    name="corpus",
    summary="whose tweets are searched in this chat",
    usage="/corpus [NAME]",
    example="/corpus demo",
    handler=_corpus,
    admin=True,
)
