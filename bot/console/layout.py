"""A reply as lines, before anybody knows how wide or colourful the terminal is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bot.console.printable import printable
from bot.reply import HitView, Reply
from bot.words import Words

Style = Literal["plain", "headline", "facts", "notice", "link"]
_INDENT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line of harmless text; too long ones are wrapped below their own indent."""

    text: str
    style: Style = "plain"
    indent: int = 0


def layout(reply: Reply) -> Iterator[Line]:
    """Yield the lines of a reply, top to bottom."""
    if reply.headline:
        yield from _lines(reply.headline, "headline")
    if reply.text:
        yield from _lines(reply.text)
    if reply.notice:
        yield from _lines(reply.notice, "notice")
    for hit in reply.hits:
        yield Line("")
        yield from _hit(hit, reply.words)
    if reply.buttons:
        labels = (button.label for row in reply.buttons for button in row)
        numbered = (f":{number} {label}" for number, label in enumerate(labels, start=1))
        yield Line("")
        yield from _lines("   ".join(numbered))


def _hit(hit: HitView, words: Words) -> Iterator[Line]:
    facts = [hit.age, hit.date_text, *_author(hit), f"{hit.score:.2f}", *hit.marks(words)]
    yield from _lines(f"{hit.rank}. {' · '.join(facts)}", "facts")
    yield from _lines(hit.text, indent=_INDENT)
    if hit.url:
        yield from _lines(hit.url, "link", indent=_INDENT)


def _author(hit: HitView) -> tuple[str, ...]:
    return (f"@{hit.author.removeprefix('@')}",) if hit.author else ()


def _lines(text: str, style: Style = "plain", *, indent: int = 0) -> Iterator[Line]:
    for line in printable(text).split("\n"):
        yield Line(line, style, indent)
