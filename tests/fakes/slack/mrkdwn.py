"""What a person sees of a message: text, mentions that call somebody, links that can be clicked.

Errs on the careful side: whatever might become a mention or a link at Slack is reported as one.
Marks such as *bold* stay in the text as they are.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.fakes.slack.wire import Json

_CONTROL = re.compile(r"<([^<>]+)>")
_BARE_URL = re.compile(r"https?://[^\s<>|]+")
_BARE_BROADCAST = re.compile(r"(?<!\w)@(here|channel|everyone)\b")
_MARKDOWN_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")

Kind = Literal["text", "user", "channel", "broadcast", "usergroup", "link"]


@dataclass(frozen=True, slots=True)
class Token:
    """A run of plain text, or one control sequence such as <@U1>, <!here>, <https://x|label>."""

    kind: Kind
    value: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a click leads, and what is shown for it."""

    url: str
    label: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as a person sees it."""

    text: str = ""
    broadcasts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


def together(parts: Iterable[Seen]) -> Seen:
    """One after the other."""
    seen = list(parts)
    return Seen(
        "".join(one.text for one in seen),
        tuple(name for one in seen for name in one.broadcasts),
        tuple(name for one in seen for name in one.users),
        tuple(name for one in seen for name in one.channels),
        tuple(link for one in seen for link in one.links),
    )


def escaped(text: str) -> str:
    """As Slack writes what somebody typed: only three characters are replaced."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def typed(text: str) -> str:
    """The wire form of what somebody typed: escaped, with addresses in angle brackets."""
    return _BARE_URL.sub(lambda url: f"<{url.group()}>", escaped(text))


def tokens(text: str) -> Iterator[Token]:
    """Split the wire form of mrkdwn."""
    end = 0
    for match in _CONTROL.finditer(text):
        if match.start() > end:
            yield Token("text", unescaped(text[end : match.start()]))
        yield _control(match.group(1))
        end = match.end()
    if end < len(text):
        yield Token("text", unescaped(text[end:]))


def _control(inside: str) -> Token:
    value, _, label = inside.partition("|")
    label = unescaped(label)
    if value.startswith("@"):
        return Token("user", value[1:], label)
    if value.startswith("#"):
        return Token("channel", value[1:], label)
    if value.startswith("!date^"):
        link = value.split("^", 3)[3:]
        return Token("link", unescaped(link[0]), label) if link else Token("text", label)
    if value.startswith("!subteam^"):
        return Token("usergroup", value[9:], label)
    if value.startswith("!"):
        return Token("broadcast", value[1:], label)
    return Token("link", unescaped(value), label)


def read(text: str, *, verbatim: bool = False, mentions: bool = False) -> Seen:
    """Read mrkdwn. Unless `verbatim`, bare addresses become links; `mentions` also parses @here."""
    return together(
        part
        for token in tokens(text)
        for part in (_read_token(token), _read_bare(token, verbatim, mentions))
    )


def _read_bare(token: Token, verbatim: bool, mentions: bool) -> Seen:
    """What plain text becomes without being asked."""
    if verbatim or token.kind != "text":
        return Seen()
    called = tuple(_BARE_BROADCAST.findall(token.value)) if mentions else ()
    links = tuple(Link(url, url) for url in _BARE_URL.findall(token.value))
    return Seen(broadcasts=called, links=links)


def _read_token(token: Token) -> Seen:
    name = token.label or token.value
    match token.kind:
        case "text":
            return Seen(token.value)
        case "user":
            return Seen(f"@{name}", users=(token.value,))
        case "channel":
            return Seen(f"#{name}", channels=(token.value,))
        case "broadcast" | "usergroup":
            return Seen(f"@{name}", broadcasts=(token.value,))
        case "link":
            return Seen(name, links=(Link(token.value, name),))


def read_blocks(part: object) -> Seen:
    """Read blocks, or any part of them, top to bottom; a line for each text."""
    if isinstance(part, list):
        return _joined([read_blocks(inner) for inner in part])
    if not isinstance(part, dict):
        return Seen()
    if part.get("type") in _LEAVES:
        return _leaf(part)
    if part.get("type") == "rich_text_section":  # its parts stand in one line, unless they break it
        section = together(read_blocks(inner) for inner in part["elements"])
        return replace(section, text=section.text.strip("\n"))
    return _joined([read_blocks(value) for value in part.values()])


_TEXTS = {"mrkdwn", "plain_text", "markdown", "image"}
_RICH = {"text", "link", "user", "channel", "broadcast", "usergroup", "emoji"}
_LEAVES = _TEXTS | _RICH


def _leaf(part: dict[str, Any]) -> Seen:
    match part["type"]:
        case "mrkdwn":
            return read(part["text"], verbatim=part.get("verbatim") is True, mentions=True)
        case "markdown":
            marked = _MARKDOWN_LINK.findall(part["text"])
            links = tuple(Link(url, label) for label, url in marked)
            return together([read(part["text"], mentions=True), Seen(links=links)])
        case "plain_text" | "text":
            return Seen(part["text"])
        case "image":
            return Seen(part.get("alt_text", ""))
        case "emoji":
            return Seen(f":{part['name']}:")
        case "link":
            return _read_token(Token("link", part["url"], part.get("text", "")))
        case "broadcast":
            return _read_token(Token("broadcast", part["range"]))
        case kind:
            return _read_token(Token(kind, part[f"{kind}_id"]))


def _joined(parts: Iterable[Seen]) -> Seen:
    """Each on a line of its own; what shows nothing takes no line."""
    seen = list(parts)
    text = "\n".join(one.text for one in seen if one.text)
    return replace(together(seen), text=text)


def rich_text(text: str, block_id: str) -> list[Json]:
    """The block that Slack's own clients send along with the wire form of a typed text."""
    elements = [_element(token) for token in tokens(text)]
    section = {"type": "rich_text_section", "elements": elements}
    return [{"type": "rich_text", "block_id": block_id, "elements": [section]}]


def _element(token: Token) -> Json:
    match token.kind:
        case "text":
            return {"type": "text", "text": token.value}
        case "link":
            label = {"text": token.label} if token.label else {}
            return {"type": "link", "url": token.value, **label}
        case "broadcast":
            return {"type": "broadcast", "range": token.value}
        case kind:
            return {"type": kind, f"{kind}_id": token.value}
