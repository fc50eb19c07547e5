"""/help: what can be asked."""

from collections.abc import Sequence

from bot.commands.registry import Command, Services
from bot.reply import Reply
from bot.request import Request
from bot.words import Words, marked
from engine.chat import Listening


def help_command(others: Sequence[Command]) -> Command:
    """Return the command that describes `others` and itself."""

    async def answer(request: Request, _services: Services) -> Reply:
        words, asked = request.words, request.text.lstrip("/").lower()
        for listed in (*others, command):
            if asked in listed.names:
                return Reply(words=words, text=_one(listed, words), ephemeral=True)
        return Reply(words=words, text=_all(request, (*others, command)), ephemeral=True)

    command = Command(
        name="help",
        aliases=("start",),
        summary=marked("this list, or one command with an example"),
        usage=marked("/help [COMMAND]"),
        example="/help why",
        handler=answer,
    )
    return command


def _all(request: Request, commands: Sequence[Command]) -> str:
    words = request.words
    greeting = words.say(
        "There is always a tweet. Send me a headline or a link; I look for old tweets that"
        " foretold it."
    )
    lines = [_line(command, words) for command in commands]
    example = words.say("For example: {example}", example=words.say(commands[0].example))
    return "\n".join([greeting, _listening(request), "", *lines, "", example])


def _listening(request: Request) -> str:
    words = request.words
    if request.place.private:
        return words.say("Here every message is taken for a headline.")
    return {
        Listening.ALL: words.say("Here I read along, and speak only when a tweet fits well."),
        Listening.MENTIONS: words.say("Here I answer when I am mentioned or replied to."),
        Listening.COMMANDS: words.say("Here I answer commands only."),
    }[request.known_chat.listening]


def _line(command: Command, words: Words) -> str:
    return f"{words.say(command.usage)}: {words.say(command.summary)}"


def _one(command: Command, words: Words) -> str:
    lines = [_line(command, words)]
    if command.aliases:
        also = ", ".join(f"/{alias}" for alias in command.aliases)
        lines.append(words.say("Also: {also}", also=also))
    example = words.say("For example: {example}", example=words.say(command.example))
    return "\n".join([*lines, example])
