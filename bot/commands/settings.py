"""/settings: the settings of one chat."""

from dataclasses import replace

from bot.commands.archives import with_archive
from bot.commands.help import SHOWS_LITTLE
from bot.commands.registry import Command
from bot.commands.rights import Act, Effect
from bot.commands.services import Services
from bot.commands.setting_values import CHOICES, SETTINGS_BY_NAME, shown_value
from bot.face.reply import Action, Button, Reply
from bot.face.request import Request
from bot.i18n.words import Words, marked, words_for
from bot.replies.limits import cut
from engine.chat import Chat, Listening
from engine.errors import UsageError

_LONGEST_ECHO = 40
_CORPUS = "corpus"
_LISTENING = "listening"


async def _settings(request: Request, services: Services) -> Reply:
    key, _, value = request.text.partition(" ")
    if not key:
        return _shown(request, request.known_chat)
    chat, words = await _changed(request, services, key.lower(), value.strip())
    reply = _set_to(chat, key.lower(), words)
    if key.lower() != _LISTENING or not (limits := _limits(request, chat)):
        return reply
    return replace(reply, text="\n".join([reply.text or "", *limits]))


def _set_to(chat: Chat, key: str, words: Words) -> Reply:
    """Return the one line that answers a change."""
    value = chat.corpus or "-" if key == _CORPUS else shown_value(chat, key)
    return Reply(words=words, text=f"{key}: {value}", ephemeral=True)


def _limits(request: Request, chat: Chat) -> list[str]:
    """Return why the bot may read less than it was told to."""
    limited = not (request.place.hears_all or request.place.private)
    return [request.words.say(SHOWS_LITTLE)] if limited and chat.listening is Listening.ALL else []


async def _pressed(request: Request, action: Action, services: Services) -> Reply:
    key, _, value = action.value.partition("=")
    chat, words = await _changed(request, services, key, value)
    reply = _shown(replace(request, words=words), chat)
    return replace(reply, replaces=True, toast=words.say("Noted."))


async def _changed(
    request: Request, services: Services, key: str, value: str
) -> tuple[Chat, Words]:
    """Change one setting; return the chat and the words of its language. Raises UsageError."""
    words = request.words
    if key == _CORPUS:
        chat = await with_archive(request, services, value)
    elif key in SETTINGS_BY_NAME:
        chat = SETTINGS_BY_NAME[key](request.known_chat, value, words)
    else:
        raise UsageError(
            words.say(
                "There is no setting {key}. There are: {keys}.",
                key=cut(key, _LONGEST_ECHO) or "-",
                keys=", ".join([*SETTINGS_BY_NAME, _CORPUS]),
            )
        )
    await services.chats.change(chat)
    return chat, words_for(chat.language or request.person.language)


def _shown(request: Request, chat: Chat) -> Reply:
    words = request.words
    lines = [words.say("Settings of this chat; /settings NAME VALUE changes one:")]
    lines += [f"{name}: {shown_value(chat, name)}" for name in SETTINGS_BY_NAME]
    corpus = chat.corpus or words.say("the configured one")
    lines += [f"{_CORPUS}: {corpus}", *_limits(request, chat)]
    buttons = tuple(
        tuple(
            _button(label, name, value)
            for value, label in values.items()
            if value != shown_value(chat, name)
        )
        for name, values in CHOICES.items()
    )
    return Reply(words=words, text="\n".join(lines), buttons=buttons, ephemeral=True)


def _button(label: str, key: str, value: str) -> Button:
    return Button(label=label, action=Action(name="set", value=f"{key}={value}"))


SETTINGS = Command(
    name="settings",
    summary=marked("how I behave in this chat"),
    usage=marked("/settings [NAME VALUE]"),
    example="/settings language es",
    details=(
        marked("language en, es or auto: what I speak; auto is the language of whoever writes."),
        marked("listening all, mentions or commands: what I answer in a group."),
        marked("threshold N: the model's judgment from which I speak unasked (0 to 6)."),
        marked("timezone Europe/Madrid: whose clock times are by."),
        marked("quiet 23:00-08:00 or off: hours in which I say nothing unasked."),
        marked("picture on, post or off: a picture after a post, or as the post itself."),
        marked("answers compact or full: full shows every tweet whole, its votes and scores."),
        marked("corpus NAME: whose tweets are searched."),
    ),
    for_channels=True,
    handler=_settings,
    act=Act(Effect.STEERS_CHAT),
    actions={"set": _pressed},
)
