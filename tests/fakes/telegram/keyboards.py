"""Inline keyboards: what Telegram accepts, and what a person can press."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.telegram.errors import bad_request

MAX_BUTTONS = 100
WIDEST_ROW = 8
DATA_BYTES = 64


@dataclass(frozen=True, slots=True)
class Button:
    """One button as a person sees it."""

    text: str
    data: str | None = None
    url: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False)


Keyboard = tuple[tuple[Button, ...], ...]


def inline_keyboard(markup: Mapping[str, Any] | None) -> Keyboard:
    """The rows of an InlineKeyboardMarkup; other markups have none. Refusal 400 if malformed."""
    rows = tuple(
        tuple(_button(one) for one in row) for row in (markup or {}).get("inline_keyboard", ())
    )
    if sum(map(len, rows)) > MAX_BUTTONS or any(len(row) > WIDEST_ROW for row in rows):
        raise bad_request("reply markup is too long")
    return tuple(row for row in rows if row)


def payload(keyboard: Keyboard) -> dict[str, object]:
    return {"inline_keyboard": [[dict(button.raw) for button in row] for row in keyboard]}


def _button(raw: Mapping[str, Any]) -> Button:
    if not raw["text"].strip():
        raise bad_request("can't parse inline keyboard button: text must be non-empty")
    actions = raw.keys() - {"text", "style", "icon_custom_emoji_id"}
    if not actions:
        raise bad_request(
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
        )
    if len(actions) > 1:
        raise bad_request("can't parse inline keyboard button: exactly one action must be used")
    data, url = raw.get("callback_data"), raw.get("url")
    if data is not None and not 1 <= len(data.encode()) <= DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")
    if url is not None and urlsplit(url).scheme not in ("http", "https", "tg"):
        raise bad_request(
            f"inline keyboard button URL '{url}' is invalid: unsupported URL protocol"
        )
    return Button(raw["text"], data, url, raw)
