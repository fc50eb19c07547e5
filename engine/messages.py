"""Messages for users: a template and its values, so that they can be translated.

    Message("The answer of {host} is longer than {limit:g} MB.", host=host, limit=2)

A message is a str: its English text. A value may be a message itself. Text from elsewhere (a
server's words, a name) is always a value and never a template.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, LiteralString, overload

Value = str | int | float

# Stored messages are told by it.
_TWO_AUDIENCES = "{for_operators}"
_FIRST_SENTENCE = "{sentence0} "


class Message(str):
    """An English text that keeps its template and its values. Immutable, like any str.

    As a str it goes into logs, JSON and terminals as it is. Methods that derive a text from it,
    such as `strip` or `join`, return a plain str. Numbered codes would hide from the source what
    people read; patterns over the English text failed at values with a full stop.
    """

    __slots__ = ("_template", "_values")

    _template: str
    _values: Mapping[str, Value]

    def __new__(cls, template: LiteralString, /, **values: object) -> "Message":
        return cls._build_message(template, values)

    @classmethod
    def _build_message(cls, template: str, values: Mapping[str, object]) -> "Message":
        message = super().__new__(cls, template.format(**values) if values else template)
        message._template = template
        bounded = {name: _keep_value(value) for name, value in values.items()}
        message._values = MappingProxyType(bounded)
        return message

    @property
    def template(self) -> str:
        """The English template, which is the key in translation catalogues."""
        return self._template

    @property
    def values(self) -> Mapping[str, Value]:
        """The values for the placeholders of the template."""
        return self._values

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._build_message, (self._template, dict(self._values))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - only needed for storing

        return core_schema.no_info_plain_validator_function(
            _read_message,
            serialization=core_schema.plain_serializer_function_ser_schema(_plain_value),
        )


class _Sentences(Message):
    """Several messages, one after the other."""

    __slots__ = ()


def _keep_value(value: object) -> Value:
    return value if isinstance(value, str | int | float) else str(value)


def as_message(text: str) -> Message:
    """Return a message unchanged, and any other text as a message that is not translated."""
    return text if isinstance(text, Message) else Message("{text}", text=text)


@overload
def join_messages(first: Message, /, *more: str | None) -> Message: ...
@overload
def join_messages(*messages: str | None) -> Message | None: ...
def join_messages(*messages: str | None) -> Message | None:
    """Return the texts as one message, in order, or None if there are none."""
    present = [message for message in messages if message]
    if not present:
        return None
    if len(present) == 1 and isinstance(present[0], Message):
        return present[0]
    return _Sentences._build_message(
        " ".join(f"{{sentence{number}}}" for number in range(len(present))),
        {f"sentence{number}": message for number, message in enumerate(present)},
    )


def split_messages(message: str | None) -> tuple[str, ...]:
    """Return the messages that `join_messages` joined, or the single message itself."""
    if isinstance(message, _Sentences) or (
        isinstance(message, Message) and message.template.startswith(_FIRST_SENTENCE)
    ):
        return tuple(value for value in message.values.values() if isinstance(value, str))
    return (message,) if message else ()


def for_operators(technical: str, plain: str | None = None) -> Message:
    """Return a message for whoever runs the program; its English text is that of `technical`.

    People in chats and on pages are told `plain` in its place, or nothing.
    """
    values = {"for_operators": as_message(technical), "plain": as_message(plain or "")}
    return Message._build_message(_TWO_AUDIENCES, values)


def list_wordings(message: Message) -> tuple[Message, Message] | None:
    """Return the texts for operators and for people, or None if both get the same."""
    if message.template != _TWO_AUDIENCES:
        return None
    technical, plain = message.values["for_operators"], message.values["plain"]
    return _as_it_is(technical), _as_it_is(plain)


def _as_it_is(value: Value) -> Message:
    return value if isinstance(value, Message) else as_message(str(value))


def message_json(message: Message) -> str:
    """Return a message as JSON that can be translated later; `message_from_json` reads it."""
    return json.dumps(_plain_value(message), ensure_ascii=False)


def message_from_json(stored: str) -> Message:
    """Return a stored message. Text that is not such JSON comes from an earlier version."""
    try:
        return _read_message(json.loads(stored))
    except ValueError:
        return as_message(stored)


def _plain_value(value: Value) -> object:
    if not isinstance(value, Message):
        return value
    values = {name: _plain_value(inner) for name, inner in value.values.items()}
    return {"template": value.template, "values": values}


def _read_message(stored: Any) -> Message:
    """Return a message from JSON. Raises ValueError."""
    match stored:
        case str():
            return as_message(stored)
        case {"template": str(template), "values": dict(values)}:
            return Message._build_message(
                template, {name: _read_value(value) for name, value in values.items()}
            )
        case _:
            raise ValueError("no message")


def _read_value(stored: Any) -> Value:
    return _read_message(stored) if isinstance(stored, dict) else _keep_value(stored)
