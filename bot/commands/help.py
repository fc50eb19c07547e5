"""/help: the commands, in groups, and each with an example."""

import re
from collections.abc import Iterator, Sequence

from bot.app import App
from bot.commands.registry import Command
from bot.commands.rights import LOOKS
from bot.i18n.words import Words, marked
from bot.reply import Reply
from bot.request import Request, traits_of
from engine.text.clean import fold_case_and_accents

SHOWS_LITTLE = marked(
    "Telegram shows me every message only where I am an admin, or once /setprivacy is off at"
    " @BotFather and I was added anew."
)
WITHOUT_MODEL = marked(
    "Without a language model I speak only if a tweet shares four words with a headline and at"
    " least half of what they weigh."
)
# Of a detail such as "here: to this thread; chat: to the whole chat": what it explains.
_HEADS = re.compile(r"(?:^|; )((?:(?![:;] ).)*)")
# Commands of no group are among the last.
_GROUPS = (
    (marked("Search"), ("prophecy", "more", "find", "ask", "compose")),
    (marked("The last answer"), ("why", "picture", "top")),
    (
        marked("Posts by myself"),
        ("subscribe", "unsubscribe", "today", "preview", "history", "feeds"),
    ),
    (marked("For my owner"), ("access", "usage")),
)


def help_command(others: Sequence[Command]) -> Command:
    """Return the command that describes `others` and itself."""

    async def answer(request: Request, _app: App) -> Reply:
        words, topic = request.words, fold_case_and_accents(request.text.lstrip("/"))
        for listed in (*others, command):
            if topic in listed.names:
                return Reply(words=words, text=_explain_command(listed, request), ephemeral=True)
        if topic and (
            lines := [line for other in others for line in _list_about(topic, other, words)]
        ):
            return Reply(words=words, text="\n".join(lines), ephemeral=True)
        return Reply(words=words, text=await _list_all(request, (*others, command)), ephemeral=True)

    command = Command(
        name="help",
        summary=marked("this list, or one command with an example"),
        usage=marked("/help [COMMAND]"),
        example="/help why",
        handler=answer,
        act=LOOKS,
        # Slack reserves /help.
    )
    return command


async def _list_all(request: Request, commands: Sequence[Command]) -> str:
    words = request.words
    greeting = words.say(
        "There is always a tweet. Send me a headline or a link; I look for old tweets that"
        " foretold it."
    )
    example = words.say("For example: {example}", example=words.say(commands[0].example))
    more = words.say("{help} NAME explains one of them.", help=words.write_commands("/help"))
    private = words.say("Here you need no command: a headline or a link is enough.")
    here = private if request.place.private else await listening_here(request)
    return "\n".join([greeting, here, "", *_list_groups(request, commands), "", more, example])


def _list_groups(request: Request, commands: Sequence[Command]) -> Iterator[str]:
    """Yield a line for each group, with the names of its commands."""
    words, named = request.words, {name for _, names in _GROUPS for name in names}
    others = tuple(command.name for command in commands if command.name not in named)
    for title, names in (*_GROUPS, (marked("This chat"), others)):
        known = {command.name for command in commands}
        listed = words.write_commands(", ".join(f"/{name}" for name in names if name in known))
        yield f"{words.say(title)}: {listed}"


async def listening_here(request: Request) -> str:
    """Return what is answered in a group, and what the platform may not show."""
    words, listening = request.words, request.known_chat.listening
    replies = listening.replies and traits_of(request.place.platform).shows_replies
    if listening.headlines:
        sentence = words.say("Here I read along, and speak only when a tweet fits well.")
        return (
            sentence
            if await request.inquiries.hears_all()
            else f"{sentence} {words.say(SHOWS_LITTLE)}"
        )
    if not listening.mentions:
        if not replies:
            return words.say("Here I answer commands only.")
        return words.say("Here I answer commands, and headlines in reply to me.")
    if not await request.inquiries.hears_all():
        return words.say(
            "Here I answer commands and headlines in reply to me. Mentions reach me where I am an"
            " admin."
        )
    if replies:
        return words.say("Here I answer when I am mentioned, and headlines in reply to me.")
    return words.say("Here I answer commands, and when I am mentioned.")


def _list_about(topic: str, command: Command, words: Words) -> list[str]:
    """Return the details of a command that explain a word of either language, below the command."""
    details = [
        detail
        for detail in command.details
        for heads in [_HEADS.findall(f"{detail}; {fold_case_and_accents(words.say(detail))}")]
        if any(topic in head.replace(",", " ").split() for head in heads)
    ]
    return [words.say(command.usage), *map(words.say, details)] if details else []


def _explain_command(command: Command, request: Request) -> str:
    words, platform = request.words, request.place.platform
    lines = [f"{words.say(command.usage)}: {words.say(command.summary)}"]
    if others := command.names_on(platform)[1:]:
        also = words.write_commands(", ".join(f"/{alias}" for alias in others))
        lines.append(words.say("Also: {also}", also=also))
    example = words.say(command.example)
    lines += [words.say(detail) for detail in command.details]
    return "\n".join([*lines, words.say("For example: {example}", example=example)])
