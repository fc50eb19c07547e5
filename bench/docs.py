"""Renews the parts of the docs that are taken from the code: `make docs`.

A table that is kept by hand is wrong a week later. Such a part stands between the comments
<!-- NAME --> and <!-- /NAME -->. PARTS says who writes it; config.example.toml is written as a
whole.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from pydantic_core import PydanticUndefined

from bench.house import listing
from bench.scale import Figures, Prices, tables
from bot.commands import standard_commands
from bot.commands.registry import Command
from bot.commands.rights import RIGHTS, SEARCHES, Act, Effect, Where, Who, may_act
from bot.settings.model import Sections
from bot.settings.writing import example_toml, toml_value
from engine.settings import Section

ROOT = Path(__file__).resolve().parents[1]
_PART = re.compile(r"(?<=<!-- )([\w /-]+)( -->).*?(?=\n<!-- /\1 -->)", re.DOTALL)
_TITLE = re.compile(r"# (\d+)\. (.+)\n\n(.+)\n")
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def renew_docs(root: Path) -> dict[Path, str]:
    """Return the text of each file that holds something taken from the code, as it has to be."""
    texts = {root / "config.example.toml": example_toml()}
    for page in (root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if _PART.search(text):
            texts[page] = _PART.sub(
                lambda part: f"{part[1]}{part[2]}\n{_render_part(part[1])}", text
            )
    return texts


def _render_part(name: str) -> str:
    kind, _, argument = name.partition(" ")
    return PARTS[kind](argument)


def tabulate(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def draw_tree(_: str) -> str:
    """Return the tree of the packages, each module and folder with its own first line."""
    return "\n".join(["```", *listing(ROOT), "```"])


def tabulate_decisions(_: str) -> str:
    """Return the index of the decisions, from the title and the third line of each page."""
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    return tabulate(("number", "decision", "status"), [_read_decision(page) for page in pages])


def _read_decision(page: Path) -> tuple[str, str, str]:
    found = _TITLE.match(page.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{page} begins with no '# NUMBER. TITLE' and a line of its status")
    number, title, status = found.groups()
    return number, f"[{title}]({page.name})", _LINK.sub(r"\1", status).rstrip(".")


def tabulate_settings(section: str) -> str:
    """Return what a section of config.toml is for, and its keys with default and description."""
    model = _section_model(section)
    rows = [
        (f"`{key}`", _render_default(field.get_default()), _escape(field.description or ""))
        for key, field in model.model_fields.items()
    ]
    is_list = Sections.model_fields[section].get_default() == ()
    name = f"`[[{section}]]`" if is_list else f"`[{section}]`"
    return f"{_explain(section)}\n\n{tabulate((name, 'default', 'meaning'), rows)}"


def _explain(section: str) -> str:
    return " ".join((_section_model(section).__doc__ or "").split())


def _section_model(name: str) -> type[Section]:
    default = Sections.model_fields[name].get_default()
    if isinstance(default, Section):
        return type(default)
    (item, _) = get_args(Sections.model_fields[name].annotation)
    assert isinstance(item, type)
    assert issubclass(item, Section)
    return item


def _render_default(value: object) -> str:
    return "" if value is PydanticUndefined else f"`{toml_value(value)}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


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
# The buttons as people see them.
BUTTONS = {
    "more": "**More**, **Nearest** below an answer",
    "whole": "**1. More** below an answer to several headlines",
    "found": "**More** below what `/find` found",
    "write": "**Write about it** below an answer, **Draft** below `/preview`",
    "next_tweet": "**Next variant** below a draft",
    "as_thread": "**Thread** below a draft",
    "tweet_sources": "**Sources** below a draft",
    "tweet_reasons": "**Why?** below a draft",
    "stop_tweet": "**Stop** while a draft is written",
    "why": "**Why?** below an answer",
    "up": "👍",
    "down": "👎",
    "votes": "**2 … 3: 👍 👎**, which opens the votes on the others",
    "back": "**Back**",
    "share": "**Share**",
    "picture": "**Picture**",
    "subscribe": "**Every day at 9:00**, **At once**, **Off** and so on, below `/subscribe`",
    "feed": "**1. TITLE** where a page names several feeds",
    "set": "a value, below `/settings`",
    "corpus": "an archive, below `/corpus`; **Search it here**",
    "archive": "an archive, where a question could go to several",
    "add": "**Add it**, below an archive that was sent",
    "leave": "**No**, below an archive that was sent",
    "unload": "**Remove it for good**, below `/corpus remove NAME`",
    "alias": "**Approve 1**, **Reject 1**",
    "setup": "**Set me up**, **Change**, and the answers that follow",
    "follow": "a feed, within **Set me up**",
    "forget": "**Delete it for good**",
    "access": "**Allow**, **Refuse**",
}
_RESERVED = {
    Effect.STEERS_CHAT: " (in groups: admins)",
    Effect.STEERS_ALL: " (those in `chat.admins`)",
    Effect.OWNS: " (the owner, in private)",
}


def tabulate_commands(platform: str) -> str:
    """Return the usage, aliases and summary of each command, as they are on the platform."""
    rows = [
        (_render_usage(command, platform), _render_summary(command))
        for command in standard_commands().commands
    ]
    return tabulate(("command", "does"), rows)


def _render_summary(command: Command) -> str:
    return command.summary + _RESERVED.get(command.act_on("").effect, "")


def _render_usage(command: Command, platform: str) -> str:
    aliases = "".join(f", `/{alias}`" for alias in command.names_on(platform)[1:])
    return f"`{standard_commands().write_as_typed(platform, command.usage)}`{aliases}"


def tabulate_rights(_: str) -> str:
    """Return who may cause each effect in each kind of place."""
    rows = [(effect, *(_MAY[RIGHTS[effect, where]] for where in Where)) for effect in Effect]
    return tabulate(("what", *Where), rows)


def tabulate_people(_: str) -> str:
    """Return what each person may do in each place."""
    rows = [
        (name, *(_list_effects(at_home if own else elsewhere, where) for _, where, own in _PLACES))
        for name, at_home, elsewhere in _PEOPLE
    ]
    return tabulate(("who", *(title for title, _, _ in _PLACES)), rows)


def _list_effects(who: Who, where: Where) -> str:
    return "; ".join(effect for effect in Effect if may_act(who, effect, where))


def tabulate_acts(_: str) -> str:
    """Return the acts of all commands and buttons: the effect, and whether quotas count it."""
    found = [("text that is no command", SEARCHES)]
    for command in standard_commands().commands:
        found += _each_act(command)
    rows = [(name, act.effect, "yes" if act.counted else "no") for name, act in found]
    return tabulate(("command or button", "what", "counted"), rows)


def _each_act(command: Command) -> Iterator[tuple[str, Act]]:
    """Yield the acts of a command: without argument, with each first word, and of its buttons."""
    own = {word: act for word, act in command.acts.items() if word}
    yield f"`/{command.name}`", command.act_on("")
    for word, act in own.items():
        yield f"`/{command.name} {word}`", act
    if command.act != command.act_on("") or own:
        yield f"`/{command.name}` and anything else", command.act
    for action in command.actions:
        yield f"button {BUTTONS[action]}", command.act_of(action)


def tabulate_scale(name: str) -> str:
    """Return a table of docs/scale.md."""
    return tables(Figures(), Prices())[name]


def tabulate_sections(_: str) -> str:
    """Return the sections of config.toml, and the page that lists the settings of each."""
    pages = {
        section: page
        for page in sorted((ROOT / "docs").glob("*.md"))
        for section in re.findall(r"^<!-- settings (\w+) -->$", page.read_text("utf-8"), re.M)
    }
    for section in Sections.model_fields:
        if section not in pages:
            lines = f"<!-- settings {section} --> and <!-- /settings {section} -->"
            raise LookupError(f"[{section}] is on no page of docs: put the lines {lines} on one")
    rows = [
        (f"`[{section}]`", _explain(section).split(". ")[0].rstrip("."), f"[{page}]({page})")
        for section, page in ((name, pages[name].name) for name in Sections.model_fields)
    ]
    return tabulate(("section", "what it sets", "page"), rows)


PARTS: Mapping[str, Callable[[str], str]] = {
    "acts": tabulate_acts,
    "commands": tabulate_commands,
    "decisions": tabulate_decisions,
    "people": tabulate_people,
    "rights": tabulate_rights,
    "scale": tabulate_scale,
    "sections": tabulate_sections,
    "settings": tabulate_settings,
    "tree": draw_tree,
}

if __name__ == "__main__":
    for path, written in renew_docs(ROOT).items():
        path.write_text(written, encoding="utf-8")
