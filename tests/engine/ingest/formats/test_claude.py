"""Conversations with Claude."""

import orjson
import pytest

from tests.engine.ingest.reading import accepted, documents

TALK = {
    "uuid": "c1",
    "name": "Harbour talk",
    "created_at": "2024-05-01T08:00:00.000000Z",
    "account": {"uuid": "a1"},
    "chat_messages": [
        {
            "uuid": "m1",
            "text": "Will the dam hold?",
            "content": [{"type": "text", "text": "Will the dam hold?"}],
            "sender": "human",
            "created_at": "2024-05-01T08:00:05.000000Z",
            "attachments": [{"file_name": "dam.txt", "extracted_content": "a crack in the wall"}],
            "files": [{"file_name": "dam.png"}],
        },
        {
            "uuid": "m2",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "He asks for a dam."},
                {"type": "text", "text": "It may not."},
                {"type": "tool_use", "name": "artifacts", "input": {"content": "# A dam"}},
            ],
            "sender": "assistant",
            "created_at": "2024-05-01T08:00:09.000000Z",
        },
    ],
}


def test_a_conversation_is_read_as_it_was_said() -> None:
    stored = accepted(orjson.dumps([TALK]))
    question, answer = stored
    assert (question.text, question.role, question.author) == ("Will the dam hold?", "user", None)
    assert (answer.text, answer.role, answer.author) == ("It may not.", "assistant", "Claude")
    assert answer.reply_to == question.external_id
    assert {d.thread for d in stored} == {"c1"}
    assert question.meta["attachments"] == ["dam.txt", "dam.png"]
    assert "crack in the wall" in question.search_text
    assert answer.meta["beside"] == ["document: # A dam"]


@pytest.mark.parametrize("shape", [[TALK], TALK])
def test_it_is_recognised_before_tables_are(shape: object) -> None:
    for content in (orjson.dumps(shape), orjson.dumps(shape, option=orjson.OPT_INDENT_2)):
        assert len(documents(content)[0]) == 2
