"""Requests are read as the Bot API documents them."""

import json
from typing import Any

import pytest

from tests.fakes.telegram.methods import HANDLERS
from tests.fakes.telegram.schema import METHODS, Upload, read


def problems(method: str, **raw: Any) -> list[str]:
    return read(method, raw, {})[1]


def test_the_table_describes_exactly_the_methods_that_are_there() -> None:
    assert HANDLERS.keys() == METHODS


def test_strings_off_the_wire_become_what_the_method_declares() -> None:
    markup = {"inline_keyboard": [[{"text": "Up", "callback_data": "up"}]]}
    raw = {
        "chat_id": "-100",
        "text": "12",
        "disable_notification": "true",
        "reply_markup": json.dumps(markup),
        "message_thread_id": "7",
    }
    parameters, wrong = read("sendMessage", raw, {})
    assert wrong == []
    assert parameters == {
        "chat_id": -100,
        "text": "12",
        "disable_notification": True,
        "reply_markup": markup,
        "message_thread_id": 7,
    }


def test_json_values_and_json_in_strings_are_read_alike() -> None:
    for reply in ({"message_id": 3}, '{"message_id": 3}'):
        parameters, wrong = read(
            "sendMessage", {"chat_id": 1, "text": "x", "reply_parameters": reply}, {}
        )
        assert (parameters["reply_parameters"], wrong) == ({"message_id": 3}, [])


def test_a_chat_may_be_named() -> None:
    assert read("getChat", {"chat_id": "@news"}, {}) == ({"chat_id": "@news"}, [])


def test_files_come_directly_or_attached() -> None:
    file = Upload("a.png", b"x")
    assert read("sendPhoto", {"chat_id": "1"}, {"photo": file})[1] == []
    assert read("sendPhoto", {"chat_id": "1", "photo": "attach://p"}, {"p": file})[1] == []
    assert read("sendPhoto", {"chat_id": "1", "photo": "id"}, {"stray": file})[1] == [
        "sendPhoto: unknown parameter stray"
    ]


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ({"text": "x"}, "missing parameter chat_id"),
        ({"chat_id": "1", "text": "x", "colour": "red"}, "unknown parameter colour"),
        # Deprecated: reply_parameters took its place.
        ({"chat_id": "1", "text": "x", "reply_to_message_id": "3"}, "unknown parameter reply_to"),
        ({"chat_id": "1", "text": "x", "message_thread_id": "x"}, "message_thread_id is not int"),
        ({"chat_id": 1.5, "text": "x"}, "chat_id is not"),
        ({"chat_id": "1", "text": "x", "disable_notification": "1"}, "disable_notification is not"),
        ({"chat_id": "1", "text": 5}, "text is not str"),
        (
            {"chat_id": "1", "text": "x", "reply_parameters": '{"message_id": "3"}'},
            "reply_parameters.message_id is not int",
        ),
        (
            {"chat_id": "1", "text": "x", "reply_markup": '{"inline_keyboard": [{"text": "a"}]}'},
            "reply_markup.inline_keyboard.0 is not a list",
        ),
        (
            {"chat_id": "1", "text": "x", "reply_markup": '{"inline_keyboard": [[{"txt": "a"}]]}'},
            "reply_markup.inline_keyboard.0.0.txt is unknown in InlineKeyboardButton",
        ),
    ],
)
def test_invalid_parameters_are_named(raw: dict[str, Any], complaint: str) -> None:
    (found,) = problems("sendMessage", **raw)
    assert complaint in found


def test_the_type_of_an_object_chooses_among_alternatives() -> None:
    article = {"type": "article", "id": "1", "title": "t"}
    text = {"input_message_content": {"message_text": "x"}}
    raw = {"inline_query_id": "1", "results": json.dumps([article | text])}
    assert problems("answerInlineQuery", **raw) == []
    raw["results"] = json.dumps([article])
    (found,) = problems("answerInlineQuery", **raw)
    assert "results.0" in found
