"""/help, and the Markdown tables of commands and rights in the README and the guides."""

from collections.abc import Iterator, Sequence

from bot.commands.registry import Command
from bot.commands.rights import LOOKS, RIGHTS, SEARCHES, Act, Effect, Where, Who, may
from bot.commands.services import Services
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
        summary=marked("this list, or one command with an example"),
        usage=marked("/help [COMMAND]"),
        example="/help why",
        handler=answer,
        act=LOOKS,
        # Slack reserves /help.
    )
    return command


def _all(request: Request, commands: Sequence[Command]) -> str:
    words = request.words
    greeting = words.say(
        "There is always a tweet. Send me a headline or a link; I look for old tweets that"
        " foretold it."
    )
    example = words.say("For example: {example}", example=words.say(commands[0].example))
    one = _written("help", request, commands)
    more = words.say("{help} NAME explains one of them.", help=one)
    private = words.say("Here every message is taken for a headline.")
    here = private if request.place.private else listening_here(request)
    return "\n".join([greeting, here, "", *_grouped(request, commands), "", more, example])


SHOWS_LITTLE = marked(
    "Telegram shows me every message only where I am an admin, or once /setprivacy is off at"
    " @BotFather and I was added anew."
)

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


def _grouped(request: Request, commands: Sequence[Command]) -> Iterator[str]:
    """Yield a line for each group, with the names of its commands."""
    words, named = request.words, {name for _, names in _GROUPS for name in names}
    others = tuple(command.name for command in commands if command.name not in named)
    for title, names in (*_GROUPS, (marked("This chat"), others)):
        known = {command.name for command in commands}
        listed = ", ".join(_written(name, request, commands) for name in names if name in known)
        yield f"{words.say(title)}: {listed}"


def _written(name: str, request: Request, commands: Sequence[Command]) -> str:
    """Return the name of a command as people type it on the request's platform."""
    command = next(one for one in commands if one.name == name)
    return command.written_for(request.place.platform, f"/{name}")


def listening_here(request: Request) -> str:
    """Return what is answered in a group, and what the platform may not show."""
    words, listening = request.words, request.known_chat.listening
    if listening is Listening.COMMANDS:
        return words.say("Here I answer commands only.")
    if listening is Listening.ALL:
        said = words.say("Here I read along, and speak only when a tweet fits well.")
        return said if request.place.hears_all else f"{said} {words.say(SHOWS_LITTLE)}"
    if request.place.hears_all:
        return words.say("Here I answer when I am mentioned or replied to.")
    return words.say(
        "Here I answer commands and replies to me. Mentions reach me where I am an admin."
    )


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
    lines += [words.say(detail) for detail in command.details]
    return "\n".join([*lines, words.say("For example: {example}", example=example)])


_MAY = {
    None: "nobody",
    Who.MEMBER: "everybody there",
    Who.CHAT_ADMIN: "its admins, operators and the owner",
    Who.OPERATOR: "operators and the owner",
    Who.OWNER: "the owner",
}
# A title, the kind of place, and whether its admins are those of the table.
_PLACES = (
    ("in private", Where.PRIVATE, True),
    ("in a group", Where.SHARED, True),
    ("in a channel", Where.SHARED, True),
    ("in a foreign group", Where.SHARED, False),
    ("inline", Where.NO_CHAT, False),
)
# A name, and the role in places of one's own and in others.
_PEOPLE = (
    ("the owner", Who.OWNER, Who.OWNER),
    ("an operator", Who.OPERATOR, Who.OPERATOR),
    ("an admin of the group or channel", Who.CHAT_ADMIN, Who.MEMBER),
    ("anybody else", Who.MEMBER, Who.MEMBER),
)
_RESERVED = {
    Effect.STEERS_CHAT: " (in groups: admins)",
    Effect.STEERS_ALL: " (those in `chat.admins`)",
    Effect.OWNS: " (the owner, in private)",
}


def command_table(commands: Sequence[Command], platform: str = "") -> str:
    """Return a table with the usage, aliases and summary of each command.

    With `platform`, the names are those used on that platform.
    """
    rows = [
        f"| `{command.written_for(platform, command.usage)}`{_aliases(command, platform)}"
        f" | {_summary(command)} |"
        for command in commands
    ]
    return "\n".join(["| command | does |", "| --- | --- |", *rows])


def _aliases(command: Command, platform: str) -> str:
    return "".join(f", `/{alias}`" for alias in command.names_on(platform)[1:])


def _summary(command: Command) -> str:
    return command.summary + _RESERVED.get(command.act_on("").effect, "")


def rights_table() -> str:
    """Return a table of who may cause each effect in each kind of place."""
    rows = [_row(effect, *(_MAY[RIGHTS[effect, where]] for where in Where)) for effect in Effect]
    return "\n".join([_row("what", *Where), _row(*["---"] * (len(Where) + 1)), *rows])


def people_table() -> str:
    """Return a table of what each person may do in each place."""
    rows = [
        _row(name, *(_may_do(at_home if own else elsewhere, where) for _, where, own in _PLACES))
        for name, at_home, elsewhere in _PEOPLE
    ]
    head = _row("who", *(title for title, _, _ in _PLACES))
    return "\n".join([head, _row(*["---"] * (len(_PLACES) + 1)), *rows])


def _may_do(who: Who, where: Where) -> str:
    return "; ".join(effect for effect in Effect if may(who, effect, where))


def acts_table(commands: Sequence[Command]) -> str:
    """Return a table of the acts of all commands and buttons: effect, and whether it is counted."""
    plain = ("text that is no command", SEARCHES)
    acts = [plain, *(row for command in commands for row in _acts(command))]
    rows = [_row(name, act.effect, "yes" if act.counted else "no") for name, act in acts]
    return "\n".join([_row("command or button", "what", "counted"), _row(*["---"] * 3), *rows])


def _acts(command: Command) -> Iterator[tuple[str, Act]]:
    """Yield the acts of a command: without argument, with each first word, and of its buttons."""
    own = {word: act for word, act in command.acts.items() if word}
    yield f"`/{command.name}`", command.act_on("")
    for word, act in own.items():
        yield f"`/{command.name} {word}`", act
    if command.act != command.act_on("") or own:
        yield f"`/{command.name}` and anything else", command.act
    for action in command.actions:
        yield f"button `{action}` of `/{command.name}`", command.act_of(action)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
