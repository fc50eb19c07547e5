"""Conversations with ChatGPT."""

from pathlib import Path

import orjson
import pytest

from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records


def node(
    name: str, parent: str | None, role: str, *parts: object, **message: object
) -> dict[str, object]:
    content = {"content_type": "text", "parts": list(parts)}
    said = {"id": f"m-{name}", "author": {"role": role}, "create_time": 1700000000.25,
            "content": content, "recipient": "all", "metadata": {}}  # fmt: skip
    return {"id": name, "parent": parent, "children": [], "message": said | message}


def conversation(*nodes: dict[str, object], current: str, name: str = "c1") -> dict[str, object]:
    return {
        "title": "Storms",
        "create_time": 1699999999.0,
        "conversation_id": name,
        "current_node": current,
        "mapping": {str(each["id"]): each for each in nodes},
    }


BRANCHED = conversation(
    {"id": "root", "message": None, "parent": None, "children": ["s"]},
    node("s", "root", "system", ""),
    node("q", "s", "user", "Will it rain?"),
    node("a1", "q", "assistant", "No."),
    node("a2", "q", "assistant", "Yes, soon.", metadata={"model_slug": "gpt-4o"}),
    node("q2", "a2", "user", "When?"),
    current="q2",
)


def test_only_the_current_branch_of_a_conversation_is_read_in_order() -> None:
    stored = accepted(orjson.dumps([BRANCHED]))
    assert [(d.role, d.author, d.text) for d in stored] == [
        ("user", None, "Will it rain?"),
        ("assistant", "ChatGPT", "Yes, soon."),
        ("user", None, "When?"),
    ]
    assert [d.reply_to for d in stored] == [None, "m-q", "m-a2"]
    assert {d.thread for d in stored} == {"c1"}
    answer = stored[1]
    assert (answer.external_id, answer.title) == ("m-a2", "Storms")
    assert (answer.platform, answer.url) == ("chatgpt", "https://chatgpt.com/c/c1")
    assert answer.attribution == "standard input#m-a2"
    assert moment_of(answer).isoformat() == "2023-11-14T22:13:20.250000+00:00"
    assert answer.meta == {"app": "chatgpt", "model": "gpt-4o"}


def test_tools_and_what_the_page_hides_are_left_out() -> None:
    chat = conversation(
        node("q", None, "user", "Draw rain"),
        node("c", "q", "assistant", "{}", recipient="dalle.text2im"),
        node("t", "c", "tool", "done"),
        node("h", "t", "user", "hidden",
             metadata={"is_visually_hidden_from_conversation": True}),
        node("e", "h", "assistant", ""),
        node("k", "e", "assistant", content={"content_type": "code", "text": "x"}),
        node("a", "k", "assistant", "Here it is"),
        current="a",
    )  # fmt: skip
    stored, rejects = documents(orjson.dumps([chat]))
    assert [document.text for document in stored] == ["Draw rain", "Here it is"]
    assert rejects == []


def test_images_and_transcribed_speech_are_kept_with_the_text() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    parts = [picture, {"content_type": "audio_transcription", "text": "Hello"}, "What is this?"]
    shows = {"content_type": "multimodal_text"}
    named = {"attachments": [{"name": "sky.png"}]}
    chat = conversation(
        node("q", None, "user", content=shows | {"parts": parts}, metadata=named),
        node("p", "q", "user", content=shows | {"parts": [picture]}),
        current="p",
    )
    worded, bare = documents(orjson.dumps([chat]))[0]
    assert (worded.text, worded.flags) == ("Hello\n\nWhat is this?", Flag.MEDIA)
    assert worded.meta["attachments"] == ["sky.png"]
    assert (bare.text, bare.search_text) == ("[image]", "")


def test_a_message_without_a_time_has_that_of_its_conversation() -> None:
    chat = conversation(node("q", None, "user", "x", create_time=None), current="q")
    (document,), _ = documents(orjson.dumps([chat]))
    assert moment_of(document).isoformat() == "2023-11-14T22:13:19+00:00"


def test_a_circular_conversation_tree_does_not_loop() -> None:
    chat = conversation(node("a", "b", "user", "x"), node("b", "a", "user", "y"), current="a")
    stored, _ = documents(orjson.dumps([chat]))
    assert [document.external_id for document in stored] == ["m-b", "m-a"]


@pytest.mark.parametrize("odd", [[1], {"x": 1}])
def test_a_damaged_message_does_not_hide_the_others(odd: object) -> None:
    for each in (
        node("b", "a", "user", "y", author={"role": odd}),
        node("b", "a", "user", "y", content={"content_type": odd, "parts": ["y"]}),
        node("b", "a", "user", "y") | {"parent": odd},
    ):
        documents(orjson.dumps([conversation(node("a", None, "user", "x"), each, current="")]))
        whole = conversation(node("a", "b", "user", "x"), each, current="a")
        assert "m-a" in {document.external_id for document in documents(orjson.dumps([whole]))[0]}


def test_only_the_record_that_is_no_conversation_is_rejected() -> None:
    stored, rejects = documents(orjson.dumps([BRANCHED, {"uuid": "x", "chat_messages": []}]))
    assert len(stored) == 3
    assert [reject.reason for reject in rejects] == [
        "record 2: no conversation of ChatGPT: it has no mapping"
    ]


def test_a_long_conversation_is_read(tmp_path: Path) -> None:
    long = conversation(node("q", None, "user", "x" * 90_000), current="q")
    nodes = [node(f"n{i}", None, "user", "y" * 90_000) for i in range(40)]
    long["mapping"] = {**long["mapping"], **{str(n["id"]): n for n in nodes}}  # type: ignore[dict-item]  # of the test's own making
    (tmp_path / "conversations.json").write_bytes(orjson.dumps([long, BRANCHED]))
    for path in (tmp_path, tmp_path / "conversations.json"):
        good, rejects = records(path)
        assert [record.format for record in good] == ["chatgpt"] * 4
        assert rejects == []


def test_an_export_in_parts_is_read_whole(tmp_path: Path) -> None:
    for part in range(2):
        chat = conversation(node(f"q{part}", None, "user", "x"), current=f"q{part}")
        (tmp_path / f"conversations-00{part}.json").write_bytes(orjson.dumps([chat]))
    assert len(records(tmp_path)[0]) == 2


def test_own_text_consists_of_the_questions() -> None:
    good, _ = records(orjson.dumps([BRANCHED]), defaults=Defaults(only_mine=True, author="ana"))
    assert [record.external_id for record in good] == ["m-q", "m-q2"]
    stored, _ = documents(orjson.dumps([BRANCHED]), defaults=Defaults(author="ana"))
    assert [document.author for document in stored] == ["ana", "ChatGPT", "ana"]


def test_a_renamed_conversation_updates_its_messages() -> None:
    first, again, renamed = (
        [r.digest for r in records(orjson.dumps([BRANCHED | {"title": title}]))[0]]
        for title in ("Storms", "Storms", "Rain")
    )
    assert first == again
    assert not set(first) & set(renamed)


def node_of_deepseek(name: str, parent: str, second: str, **said: str) -> dict[str, object]:
    message = {
        "inserted_at": f"2025-02-01T10:00:{second}.000000+08:00",
        "fragments": [{"type": kind, "content": words} for kind, words in said.items()],
    }
    return {"id": name, "parent": parent, "children": [], "message": message}


OF_DEEPSEEK = {
    "id": "d1",
    "title": "Storms",
    "inserted_at": "2025-02-01T10:00:00.000000+08:00",
    "mapping": {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": node_of_deepseek("1", "root", "05", REQUEST="Will it rain?"),
        "2": node_of_deepseek("2", "1", "09", THINK="He asks.", RESPONSE="Yes, soon."),
    },
}


def test_conversations_with_deepseek_are_read() -> None:
    stored = accepted(orjson.dumps([OF_DEEPSEEK]))
    assert [(d.role, d.author, d.text) for d in stored] == [
        ("user", None, "Will it rain?"),
        ("assistant", "DeepSeek", "Yes, soon."),
    ]
    assert stored[1].reply_to == stored[0].external_id == "deepseek/d1/1"
    assert moment_of(stored[0]).isoformat() == "2025-02-01T02:00:05+00:00"


@pytest.mark.parametrize("current", [None, "gone"])
def test_the_newest_branch_counts_where_none_is_named(current: object) -> None:
    stored, _ = documents(orjson.dumps([BRANCHED | {"current_node": current}]))
    assert [d.text for d in stored] == ["Will it rain?", "Yes, soon.", "When?"]
    without = {name: value for name, value in BRANCHED.items() if name != "current_node"}
    assert [d.text for d in documents(orjson.dumps([without]))[0]] == [d.text for d in stored]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("In 1932.\ue200cite\ue202turn0search1\ue201 Long.", "In 1932. Long."),
        ("In 1932 【4†source】.", "In 1932."),
        ("In 1932. citeturn0search1turn2view3", "In 1932."),
        ('To \ue200entity\ue202["place","Porto"]\ue201 by sea', "To Porto by sea"),
        ("In 1932 [citation:1].", "In 1932."),
    ],
)
def test_marks_of_citations_are_no_words(said: str, text: str) -> None:
    talk = conversation(node("a", None, "assistant", said), current="a")
    assert documents(orjson.dumps([talk]))[0][0].text == text


def test_the_documents_of_a_canvas_are_read() -> None:
    written = orjson.dumps({"name": "Plan", "type": "document", "content": "Build a dam"}).decode()
    canvas = node("a", None, "assistant", recipient="canmore.create_textdoc")
    canvas["message"] |= {"content": {"content_type": "code", "text": written}}  # type: ignore[operator]
    stored, _ = documents(orjson.dumps([conversation(canvas, current="a")]))
    assert [d.text for d in stored] == ["Plan\n\nBuild a dam"]


# Conversations with Claude

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
