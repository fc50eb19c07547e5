"""What is said to a person: a template and its values."""

import copy
import json
import pickle
from dataclasses import dataclass

import pytest
from pydantic import TypeAdapter

from engine.errors import CorpusNotFound, UsageError
from engine.messages import (
    Message,
    as_message,
    join_messages,
    message_from_json,
    message_json,
    split_messages,
)

LARGE = Message("The answer of {host} is longer than {limit:g} MB.", host="a.example", limit=2.5)
REASON = Message("Not judged: {reason}", reason=LARGE)


def test_a_message_equals_its_english_text_and_keeps_what_it_is_made_of() -> None:
    assert LARGE == "The answer of a.example is longer than 2.5 MB."
    assert f"Not judged: {LARGE}" == REASON
    assert f"{Message('{number:,} bytes', number=1234567)}" == "1,234,567 bytes"
    assert LARGE.template == "The answer of {host} is longer than {limit:g} MB."
    assert LARGE.values == {"host": "a.example", "limit": 2.5}
    assert REASON.values["reason"] is LARGE


def test_a_message_is_immutable() -> None:
    with pytest.raises(AttributeError):
        LARGE.template = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        LARGE.values["host"] = "x"  # type: ignore[index]


def test_a_value_is_text_and_never_a_template() -> None:
    assert Message("It said: {said}", said="{host} {0}") == "It said: {host} {0}"
    assert Message("No {braces} without values.") == "No {braces} without values."
    assert as_message("{host} of a stranger") == "{host} of a stranger"
    assert Message("{reason}", reason=OSError("gone")).values == {"reason": "gone"}


@pytest.mark.parametrize("message", [LARGE, REASON, join_messages(LARGE, "Try {again}.")])
def test_a_message_survives_copying_and_serialisation(message: Message) -> None:
    for same in (
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
        message_from_json(message_json(message)),
    ):
        assert (same, same.template, same.values) == (message, message.template, message.values)


@pytest.mark.parametrize(
    "stored", ["The server is gone.", "", "{", "3", "null", '["a"]', '{"template": 1}', '"quoted']
)
def test_plain_text_stored_by_an_older_version_is_read(stored: str) -> None:
    assert message_from_json(stored) == stored


def test_records_serialise_messages() -> None:
    @dataclass(frozen=True)
    class Record:
        notice: Message | None = None

    records = TypeAdapter(Record)
    written = records.dump_json(Record(REASON))
    assert json.loads(written)["notice"]["template"] == "Not judged: {reason}"
    read = records.validate_json(written).notice
    assert (read, read and read.values) == (REASON, REASON.values)
    assert records.validate_json('{"notice": "Half way."}').notice == "Half way."
    assert records.validate_json('{"notice": null}').notice is None


def test_sentences_are_joined_and_taken_apart() -> None:
    assert join_messages(None, "") is None
    assert join_messages(None, LARGE) is LARGE
    both = join_messages(LARGE, None, REASON)
    assert both == f"{LARGE} {REASON}"
    assert split_messages(both) == (LARGE, REASON)
    assert split_messages(LARGE) == (LARGE,)
    assert split_messages(None) == ()


def test_an_error_consists_of_its_message_and_fix() -> None:
    error = CorpusNotFound(Message("There is no corpus {name!r}.", name="x"), fix="See /corpus.")
    assert str(error) == error.full_message == "There is no corpus 'x'. See /corpus."
    assert error.message.values == {"name": "x"}
    assert UsageError("No.").full_message == "No."
