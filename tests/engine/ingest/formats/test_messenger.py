"""Messages of Messenger and Instagram."""

from pathlib import Path

import orjson

from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents

CHAT = {
    "participants": [{"name": "Ana Paz"}, {"name": "Bob Boat"}],
    "messages": [
        {
            "sender_name": "Ana Paz",
            "timestamp_ms": 1650001200000,
            "content": "ma\u00c3\u00b1ana salimos",
            "reactions": [{"reaction": "x", "actor": "Bob Boat"}],
        },
        {
            "sender_name": "Bob Boat",
            "timestamp_ms": 1650001100000,
            "content": "see this",
            "share": {"link": "https://example.org/dam", "share_text": "The dam breaks"},
        },
        {"sender_name": "Bob Boat", "timestamp_ms": 1650001000000, "photos": [{"uri": "m/a.jpg"}]},
        {"sender_name": "Bob Boat", "timestamp_ms": 1650000900000, "is_unsent": True},
        {"sender_name": "Bob Boat", "timestamp_ms": 1650000800000, "type": "Subscribe"},
    ],
    "title": "Bob Boat",
    "thread_path": "inbox/bob_1",
}
ENCRYPTED = {
    "participants": ["Ana Paz", "Bob Boat"],
    "threadName": "Bob Boat",
    "messages": [
        {"senderName": "Bob Boat", "timestamp": 1650001300000, "text": "at the quay", "media": []}
    ],
}


def test_a_chat_is_read_with_its_senders() -> None:
    stored = accepted(orjson.dumps(CHAT), defaults=Defaults(author="Ana Paz"))
    assert [(d.text, d.author, d.role) for d in stored] == [
        ("mañana salimos", "Ana Paz", "me"),
        ("see this", "Bob Boat", "others"),
        ("[photo]", "Bob Boat", "others"),
    ]
    assert "dam breaks" in stored[1].search_text
    assert (stored[2].flags, stored[2].meta["attachments"]) == (Flag.MEDIA, ["a.jpg"])
    assert {d.thread for d in stored} == {"bob_1"}


def test_an_encrypted_chat_is_read() -> None:
    (message,), _ = documents(orjson.dumps(ENCRYPTED))
    assert (message.text, message.author) == ("at the quay", "Bob Boat")


def test_a_download_of_encrypted_chats_is_read_without_notices(tmp_path: Path) -> None:
    notice = {"senderName": "Bob Boat", "timestamp": 1, "text": "Reacted ❤ to your message "}
    chat = ENCRYPTED | {"messages": [*ENCRYPTED["messages"], notice]}
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "Bob Boat_7.json").write_bytes(orjson.dumps(chat))
    assert [d.text for d in documents(tmp_path)[0]] == ["at the quay"]


def test_chats_of_both_places_lie_in_one_download(tmp_path: Path) -> None:
    for place in ("your_facebook_activity", "your_instagram_activity"):
        folder = tmp_path / place / "messages" / "inbox" / "bob_1"
        folder.mkdir(parents=True)
        (folder / "message_1.json").write_bytes(orjson.dumps(ENCRYPTED | {"title": place}))
    stored, _ = documents(tmp_path)
    assert {d.platform for d in stored} == {"messenger", "instagram"}
