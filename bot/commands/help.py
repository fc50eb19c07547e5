"""/help: what can be asked."""

from collections.abc import Sequence

from bot.commands.registry import Command, Services
from bot.commands.rights import LOOKS
from bot.face.reply import Reply
from bot.face.request import Request
from bot.i18n.words import marked
from engine.chat import Listening


def help_command(others: Sequence[Command]) -> Command:
    """Return the command that describes `others` and itself."""

    async def answer(request: Request, _services: Services) -> Reply:
        words, asked = request.words, request.text.lstrip("/").lower()
        for listed in (*others, command):
            if asked in listed.names:
                return Reply(words=words, text=_one(listed, request), ephemeral=True)
        return Reply(words=words, text=_all(request, (*others, command)), ephemeral=True)

    command = Command(
        name="help",
        aliases=("start",),
        summary=marked("this list, or one command with an example"),
        usage=marked("/help [COMMAND]"),
        example="/help why",
        handler=answer,
        act=LOOKS,
        # Slack keeps /help for itself and has no start that it would tell a bot of.
        elsewhere={"slack": "/presagio help"},
    )
    return command


def _all(request: Request, commands: Sequence[Command]) -> str:
    words = request.words
    greeting = words.say(
        "There is always a tweet. Send me a headline or a link; I look for old tweets that"
        " foretold it."
    )
    lines = [_line(command, request) for command in commands]
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


def _line(command: Command, request: Request) -> str:
    words = request.words
    usage = command.written_for(request.place.platform, words.say(command.usage))
    return f"{usage}: {words.say(command.summary)}"


def _one(command: Command, request: Request) -> str:
    words, platform = request.words, request.place.platform
    lines = [_line(command, request)]
    if others := command.names_on(platform)[1:]:
        also = ", ".join(f"/{alias}" for alias in others)
        lines.append(words.say("Also: {also}", also=also))
    example = command.written_for(platform, words.say(command.example))
    return "\n".join([*lines, words.say("For example: {example}", example=example)])
