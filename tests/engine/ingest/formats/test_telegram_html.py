"""Chats that Telegram exported as pages."""

from pathlib import Path

from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of

PAGE = """<!DOCTYPE html><html><head><title>Exported Data</title></head><body>
<div class="page_wrap"><div class="page_header"><div class="content">
<div class="text bold">Bob Boat</div></div></div>
<div class="page_body chat_page"><div class="history">{messages}</div></div></div></body></html>"""
SERVICE = '<div class="message service" id="message-1"><div class="body details">3 May</div></div>'


def message(number: int, body: str, *, joined: bool = False, date: str = "20:11:05") -> str:
    return (
        f'<div class="message default clearfix{" joined" * joined}" id="message{number}">'
        f'<div class="body"><div class="pull_right date details"'
        f' title="31.01.2023 {date} UTC+01:00">20:11</div>{body}</div></div>'
    )


def page(*messages: str) -> bytes:
    return PAGE.format(messages="\n".join((SERVICE, *messages))).encode()


def name(who: str) -> str:
    return f'<div class="from_name">{who}</div>'


def text(words: str) -> str:
    return f'<div class="text">{words}</div>'


WORDS = message(10, name("Ana") + text("The harbour<br>will flood"))


def test_messages_have_their_sender_and_time() -> None:
    stored = accepted(page(WORDS, message(11, text("I said so"), joined=True)))
    assert [(d.author, d.text) for d in stored] == [
        ("Ana", "The harbour\nwill flood"),
        ("Ana", "I said so"),
    ]
    assert moment_of(stored[0]).isoformat() == "2023-01-31T19:11:05+00:00"
    assert {(d.title, d.platform) for d in stored} == {("Bob Boat", "telegram")}


def test_what_is_passed_on_is_nobody_s_own() -> None:
    forwarded = f'<div class="forwarded body">{name("Port News")}{text("The bridge is up")}</div>'
    (document,), _ = documents(page(message(12, name("Ana") + forwarded)))
    assert (document.author, document.text) == ("Ana", "The bridge is up")
    assert Flag.REPOST in document.flags


def test_a_picture_has_a_stand_in_and_an_answer_names_its_question() -> None:
    answer = (
        '<div class="reply_to details">In reply to <a href="#go_to_message10">this</a></div>'
        '<div class="media_wrap"><a class="photo_wrap" href="photos/a.jpg"></a></div>'
    )
    stored, _ = documents(page(WORDS, message(11, name("Bob") + answer)))
    assert stored[1].reply_to == stored[0].external_id
    assert (stored[1].text, stored[1].flags) == ("[photo]", Flag.MEDIA | Flag.REPLY)


def test_pages_are_read_in_their_order(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        file = tmp_path / f"messages{number if number > 1 else ''}.html"
        file.write_bytes(page(message(number, name("Ana") + text(f"page {number}"))))
    stored, _ = documents(tmp_path)
    assert [d.text for d in stored] == ["page 1", "page 2", "page 10"]


def test_only_a_message_with_an_impossible_time_is_rejected() -> None:
    stored, rejects = documents(page(WORDS, message(11, text("no"), date="99:99:99")))
    assert (len(stored), len(rejects)) == (1, 1)
