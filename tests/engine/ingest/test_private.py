"""What holds messages and is not read never becomes a document that all may read."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from engine.errors import InputError, UnknownFormat
from engine.ingest.chat_lines import looks_like_chat
from engine.ingest.exports import list_exports
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, SourceRequest
from engine.values import Kind
from tests.engine.ingest.reading import documents

IMESSAGE = """Apr 08, 2023  4:31:12 PM (Read by you after 1 minute, 20 seconds)
+15551234567
How is the harbour

Apr 08, 2023  4:33:00 PM
Me
Flooded
"""
CHATS = {
    "imessage": IMESSAGE,
    "line": "2023/03/12(Sun)\n20:11\tAna\tthe harbour\n20:12\tBob\tno\n",
    "kakao": "[민수] [오후 8:11] 항구\n[지은] [오후 8:12] 네\n",
    "discord": "Ana — Today at 8:11 PM\nthe harbour\nBob — Today at 8:12 PM\nno\n",
    "irc": "[20:11] <ana> the harbour\n[20:12] <bob> no\n",
    "zoom": "20:11:05 From Ana to Everyone: the harbour\n20:12:00 From Bob to Everyone: no\n",
    "wechat": "Ana 2023-03-12 20:11:05\nthe harbour\nBob 2023-03-12 20:12:05\nno\n",
    "swedish": "12.3. kl. 20.11: Ana skrev: hamnen\n12.3. kl. 20.12: Bo skrev: nej\n",
    "without a year": "Mar 12 20:11 Ana the harbour\nMar 13 20:12 Bob no\n",
    "talk": "Ana: the harbour\nBob: no\nAna: yes\nBob: no\n",
    "assistant": "User: will the harbour flood?\n\nAssistant: It may.\n",
    "headings": "# Dams\n\n## 👤 User\n\nwill it flood?\n\n## ChatGPT\n\nIt may.\n",
    "bold": "**User:** will it flood?\n\n**Assistant:** It may.\n",
    "line of a group": "2023.03.12 Sunday\n20:11 Ana the harbour\n20:12 Bob no\n20:13 Ana yes\n",
    "line of two": "[LINE] Chat history with Ana\n\n2023.03.12 Sunday\n20:11 Ana the harbour\n",
    "threema": ">>> Me (12.03.23, 20:11): the harbour\n<<< Ana (12.03.23, 20:12): no\n",
    "icq": "Ana (20:11:05 12/03/2009)\nthe harbour\n\nBob (20:12:05 12/03/2009)\nno\n",
    "matrix": "Sun, Mar 12 2023 20:11 - Ana: the dam\nSun, Mar 12 2023 20:12 - Bob: no\n",
    "messenger": "You sent\nthe harbour\nAna\nno\nYou sent\nyes\n",
    "long messages": "".join(
        f"Mar 12, 2023 8:{n}:05 PM\nAna\n" + "The harbour.\n" * 20 for n in range(10, 15)
    ),
    "dashes": "Ana - the harbour\nBob - no\nAna - yes\nBob - no\n",
    "three lines": "Ana: the harbour\nBob: no\nAna: yes\n",
    "french": "Ana, 20h11\nle port\nBob, 20h12\nnon\n",
    "chatgpt in german": "Du hast gesagt:\nder Damm\nChatGPT hat gesagt:\nEr hält.\n",
    "korean mail": "보낸 사람: 아나\n받는 사람: 보\n\n항구\n",
    "chinese mail": "发件人：安娜\n收件人：阿宝\n\n港口\n",
    "mail": "From: Ana\nTo: Bob\nSubject: the harbour\n\nIt floods.\n",
}
BUBBLES = (
    "<html><body>"
    + "".join(f'<div class="chat-message"><p>word {n}</p></div>' for n in range(4))
    + "</body></html>"
)


@pytest.mark.parametrize("chat", CHATS.values(), ids=CHATS)
def test_a_text_that_looks_like_a_chat_is_refused(tmp_path: Path, chat: str) -> None:
    for name, content in (
        ("chat.txt", chat.encode()),
        ("chat16.txt", chat.encode("utf-16")),
        ("chat.md", chat.encode()),
        ("chat.html", f"<html><body><pre>{chat}</pre></body></html>".encode()),
        ("page.html", f"<html><p>{chat.replace(chr(10), '</p><p>')}</p></html>".encode()),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UnknownFormat):
            open_source(SourceRequest(str(tmp_path / name)))


def test_a_page_of_bubbles_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(BUBBLES)
    with pytest.raises(UnknownFormat, match="looks like a chat"):
        open_source(SourceRequest(str(tmp_path / "a.html")))


def test_who_says_what_it_is_may_store_it(tmp_path: Path) -> None:
    (tmp_path / "play.txt").write_text(CHATS["talk"])
    for kind in (Kind.LIBRARY, Kind.PERSONAL):
        stored, rejects = documents(tmp_path / "play.txt", defaults=Defaults(kind=kind))
        assert (len(stored), rejects) == (1, [])


@pytest.mark.parametrize(
    "text",
    [
        "The harbour was built in 1932.\n\nIt opened at 10:00 on 3 May.\nThe mayor spoke.\nMore.",
        "Ingredients: salt\nTime: 3 h\nServes: 4\n",
        "Published 12 March 2023, 20:11\n" + "A paragraph of an article.\n" * 20,
        "Chapter 1\n\nIt was late. She said: no.\nHe said: yes.\n\nThen it rained.",
        "# Guide\n\n## User\n\nThe table of users.\n\n## Prompt\n\nA text.\n",
    ],
)
def test_a_text_without_messages_is_a_document(tmp_path: Path, text: str) -> None:
    assert not looks_like_chat(text)
    (tmp_path / "a.txt").write_text(text)
    with open_source(SourceRequest(str(tmp_path / "a.txt"))) as stream:
        assert (stream.opened.format, stream.opened.kinds[0]) == ("documents", Kind.LIBRARY)
        assert "--kind personal" in stream.opened.guesses[0]


def test_in_a_folder_of_documents_the_chat_alone_is_left_out(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"report{number}.txt").write_text("The harbour of the north cost a lot.")
    (tmp_path / "imessage.txt").write_text(IMESSAGE)
    stored, rejects = documents(tmp_path)
    assert len(stored) == 3
    assert [reject.file.rpartition("/")[2] for reject in rejects] == ["imessage.txt"]
    assert "would become public" in rejects[0].reason


FOREIGN: dict[str, Callable[[], bytes]] = {
    "Discord": lambda: orjson.dumps({"guild": {"id": "1"}, "channel": {}, "messages": []}),
    "of Discord": lambda: b"AuthorID,Author,Date,Content,Attachments,Reactions\n1,a,2020,x,,\n",
    "export of Discord": lambda: orjson.dumps(
        [{"ID": 1, "Timestamp": "2020-01-01", "Contents": "x"}]
    ),
    "Google Chat": lambda: orjson.dumps(
        {"messages": [{"creator": {"name": "Ana"}, "created_date": "x", "text": "y"}]}
    ),
    "Gemini": lambda: orjson.dumps([{"header": "Gemini Apps", "title": "Prompted", "time": "x"}]),
    "Grok": lambda: orjson.dumps(
        {"conversations": [{"conversation": {"id": "1"}, "responses": []}]}
    ),
    "conversations": lambda: orjson.dumps(
        [{"title": "A", "created": "2024-01-01", "turns": [{"role": "user", "text": "hi"}]}]
    ),
    "holds conversations": lambda: orjson.dumps(
        {"export": {"log": [{"sender": "Ana", "body": "hi"}]}}, option=orjson.OPT_INDENT_2
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_messages_that_are_not_read_are_refused_by_name(tmp_path: Path, what: str) -> None:
    content = FOREIGN[what]()
    for name in ("export.json", "export.txt", "export.csv"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=what):
            open_source(SourceRequest(str(tmp_path / name)))
    (tmp_path / "export.txt").unlink()
    with pytest.raises(InputError):
        list_exports(SourceRequest(str(tmp_path)))


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("sender,date,message\nAna,2020-01-01 10:00,hi\n", Kind.PERSONAL),
        ("timestamp,role,content\n2020-01-01 10:00,user,hi\n", Kind.PERSONAL),
        ("Fecha,Remitente,Mensaje\n2020-01-01 10:00,Ana,hola\n", Kind.PERSONAL),
        ("channel,created_at,text\nx,2020-01-01 10:00,hi\n", Kind.PERSONAL),
        ("Chat Session,Message Date,Sender Name,Text\na,2020-01-01 10:00,Ana,hi\n", Kind.PERSONAL),
        ("permalink,date,from,to,body\nhttps://x.org/1,2020-01-01 10:00,a,b,hi\n", Kind.PERSONAL),
        ("2020-01-01 10:00,Ana,hi there\n2020-01-01 10:01,Bob,no\n", Kind.PERSONAL),
        ("2020-01-01 10:00,hi there\n2020-01-01 10:01,no\n", Kind.TWEETS),
        ("id,created_at,text,visibility\n1,2020-01-01 10:00,hi,direct\n", Kind.PERSONAL),
        ("id,conversation_id,created_at,text\n1,1,2020-01-01 10:00,hi\n", Kind.TWEETS),
        ("id,created_at,text,likes\n1,2020-01-01 10:00,hi,4\n", Kind.TWEETS),
    ],
)
def test_a_table_of_messages_is_personal(tmp_path: Path, table: str, kind: Kind) -> None:
    (tmp_path / "a.csv").write_text(table)
    with open_source(SourceRequest(str(tmp_path / "a.csv"))) as stream:
        assert stream.opened.kinds[0] is kind
