"""The commands, and who may use them, as tables in Markdown for the README and the guides."""

from collections.abc import Iterator, Sequence

from bot.commands.registry import Command
from bot.commands.rights import RIGHTS, SEARCHES, Act, Effect, Where, Who

_MAY = {
    None: "nobody",
    Who.MEMBER: "everybody there",
    Who.CHAT_ADMIN: "its admins and operators",
    Who.OPERATOR: "operators",
}
_RESERVED = {
    Effect.STEERS_CHAT: " (in groups: admins)",
    Effect.STEERS_ALL: " (those in `chat.admins`)",
}


def command_table(commands: Sequence[Command], platform: str = "") -> str:
    """Return a row for each command: how it is called, other names, what it does.

    A platform is named where its own names are wanted.
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
    """Return a row for each effect: who may cause it in each kind of place."""
    rows = [_row(effect, *(_MAY[RIGHTS[effect, where]] for where in Where)) for effect in Effect]
    return "\n".join([_row("what", *Where), _row(*["---"] * (len(Where) + 1)), *rows])


def acts_table(commands: Sequence[Command]) -> str:
    """Return a row for each act of each command and button: its effect, whether it is counted."""
    plain = ("text that is no command", SEARCHES)
    acts = [plain, *(row for command in commands for row in _acts(command))]
    rows = [_row(name, act.effect, "yes" if act.counted else "no") for name, act in acts]
    return "\n".join([_row("command or button", "what", "counted"), _row(*["---"] * 3), *rows])


def _acts(command: Command) -> Iterator[tuple[str, Act]]:
    """Yield what a command does by itself, with its words, and by its buttons."""
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
