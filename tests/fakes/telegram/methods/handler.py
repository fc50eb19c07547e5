"""What a method is to the server, and how methods read the parameters they share."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.fakes.telegram import html
from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.text import Entity, Formatted, clean, finished, units
from tests.fakes.telegram.world import World

Parameters = Mapping[str, Any]
# Returns the `result` of the answer, or raises Refusal.
Handler = Callable[[World, Parameters], object | Awaitable[object]]

TEXT_UNITS = 4096
CAPTION_UNITS = 1024


def text_of(p: Parameters) -> Formatted:
    """The text to send; refused when it is empty or too long, counted after its markup is read."""
    if not p.get("text"):
        raise bad_request("message text is empty")
    body = formatted(p["text"], p.get("parse_mode"), p.get("entities"))
    if not body.text:
        raise bad_request("text must be non-empty")
    if units(body.text) > TEXT_UNITS:
        raise bad_request("message is too long")
    return body


def caption_of(p: Parameters) -> Formatted:
    """The caption to send; may be empty."""
    body = formatted(p.get("caption", ""), p.get("parse_mode"), p.get("caption_entities"))
    if units(body.text) > CAPTION_UNITS:
        raise bad_request("message caption is too long")
    return body


def formatted(
    text: str, parse_mode: str | None, entities: list[dict[str, Any]] | None
) -> Formatted:
    """Text and entities of a text in HTML, with entities beside it, or plain."""
    if parse_mode and parse_mode.lower() != "html":
        raise bad_request(f"unsupported parse_mode: the stand-in reads HTML, not {parse_mode}")
    if parse_mode:
        plain, found = html.parse(clean(text))
        return finished(plain, found)
    return finished(clean(text), [_entity(one) for one in entities or ()])


def _entity(raw: Mapping[str, Any]) -> Entity:
    names = ("type", "offset", "length", "url", "language")
    return Entity(**{name: raw[name] for name in names if name in raw})
