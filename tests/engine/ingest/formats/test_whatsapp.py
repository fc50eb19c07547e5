"""Chats that WhatsApp exported, as phones of many countries write them."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

ANDROID = """31/12/2020, 23:58 - Messages and calls are end-to-end encrypted.
31/12/2020, 23:58 - Bob created group "Weather"
31/12/2020, 23:59 - Ana: The storm
is coming: soon

now
31/12/2020, 23:59 - Bob: Rain
31/12/2020, 23:59 - Bob: Rain
01/01/2021, 00:10 - Ana: <Media omitted>
01/01/2021, 00:11 - Ana: map.jpg (file attached)
the way home
"""
IOS = """\ufeff[31/12/2020, 23:58:01] Weather: \u200eMessages and calls are end-to-end encrypted.
[31/12/2020, 23:59:59] Ana: The storm
is coming: soon

now
\u200e[01/01/2021, 00:10:05] Bob: \u200eimage omitted
\u200e[01/01/2021, 00:10:06] Bob: \u200e<attached: 00000012-PHOTO.jpg>
[01/01/2021, 00:10:06] Bob: The map \u200e<attached: 00000013-map.pdf>
[01/01/2021, 00:10:07] \u202a+1 (555) 010-0000\u202c: Hello \u200e<This message was edited>
[01/01/2021, 00:10:08] Bob: \u200eThis message was deleted.
"""


def lines(*chat: str) -> bytes:
    return "\n".join(chat).encode()


def test_an_android_export_is_read() -> None:
    stored = accepted(ANDROID.encode())
    assert [(d.author, d.text) for d in stored] == [
        ("Ana", "The storm\nis coming: soon\n\nnow"),
        ("Bob", "Rain"),
        ("Bob", "Rain"),
        ("Ana", "<Media omitted>"),
        ("Ana", "map.jpg (file attached)\nthe way home"),
    ]
    assert moment_of(stored[0]).isoformat() == "2020-12-31T23:59:00+00:00"
    assert len({d.external_id for d in stored}) == 5
    assert [d.search_text for d in stored[3:]] == ["", "the way home"]
    assert [d.flags for d in stored] == [Flag.NONE] * 3 + [Flag.MEDIA] * 2
    assert stored[4].meta["attachments"] == ["map.jpg"]


def test_an_ios_export_is_read() -> None:
    stored = accepted(IOS.encode())
    assert [(d.author, d.text, d.search_text) for d in stored] == [
        ("Ana", "The storm\nis coming: soon\n\nnow", "The storm is coming: soon now"),
        ("Bob", "image omitted", ""),
        ("Bob", "<attached: 00000012-PHOTO.jpg>", ""),
        ("Bob", "The map <attached: 00000013-map.pdf>", "The map"),
        ("+1 (555) 010-0000", "Hello", "Hello"),
    ]
    assert moment_of(stored[0]).isoformat() == "2020-12-31T23:59:59+00:00"
    assert stored[2].meta["attachments"] == ["00000012-PHOTO.jpg"]


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("12/31/20, 11:59 PM - Ana: x", "2020-12-31T23:59:00"),
        ("12/31/20, 11:59\u202fPM - Ana: x", "2020-12-31T23:59:00"),
        ("31/12/20, 12:05 a. m. - Ana: x", "2020-12-31T00:05:00"),
        ("31/12/20, 12:05 p.\u00a0m. - Ana: x", "2020-12-31T12:05:00"),
        ("31/12/2020 à 23:59 - Ana: x", "2020-12-31T23:59:00"),
        ("2020-12-31, 23:59 - Ana: x", "2020-12-31T23:59:00"),
        ("[2020-12-31, 11:59:59 PM] Ana: x", "2020-12-31T23:59:59"),
        ("[31.12.2020 klo 23.59.59] Ana: x", "2020-12-31T23:59:59"),
        ("2023. 3. 12. 오후 8:11 - Ana: x", "2023-03-12T20:11:00"),
        ("2023. 03. 12. du. 8:11 - Ana: x", "2023-03-12T20:11:00"),
        ("2023年3月12日 午後8:11 - Ana: x", "2023-03-12T20:11:00"),
        ("[2020/3/12 下午8:11:05] Ana: x", "2020-03-12T20:11:05"),
        ("12/03/2023, 8:11 CH - Ana: x", "2023-03-12T20:11:00"),
        ("13.03.2023 ÖÖ 12:30 - Ana: x", "2023-03-13T00:30:00"),
        ("12.03.2023 ÖS 8:11 - Ana: x", "2023-03-12T20:11:00"),
        ("13/3/23, 8:11 μ.μ. - Ana: x", "2023-03-13T20:11:00"),
        ("\u200f١٣\u200f/٣\u200f/٢٠٢٣، ٨:١١ م - Ana: x", "2023-03-13T20:11:00"),
        ("13/03/23, 8:11 अपराह्न - Ana: x", "2023-03-13T20:11:00"),
        ("13/3/2566 20:11 - Ana: x", "2023-03-13T20:11:00"),
        ("[2023-03-12 20 h 11 min 05 s] Ana: x", "2023-03-12T20:11:05"),
        ("2023-03-12 8:11 em - Ana: x", "2023-03-12T20:11:00"),
        ("12.3.2023 klo 8.11 ip. - Ana: x", "2023-03-12T20:11:00"),
        ("12.03.23, 8:11 дп - Ana: x", "2023-03-12T08:11:00"),
        ("۱۴۰۱/۱۲/۲۱،\u200f ۲۰:۱۱ - Ana: x", "2023-03-12T20:11:00"),
        ("1403/12/30، 20:11 - Ana: x", "2025-03-20T20:11:00"),
        ("13/12/2012 17:03:48: Ana: x", "2012-12-13T17:03:48"),
        ("12 March 2013 8:11 pm - Ana: x", "2013-03-12T20:11:00"),
        ("8:11pm, Mar 12, 2013 - Ana: x", "2013-03-12T20:11:00"),
        ("3/6/2023, 6:12 p. m. - Ana: x", "2023-06-03T18:12:00"),
        # Both orders are possible: the day, unless it looks American.
        ("03/04/20, 23:59 - Ana: x", "2020-04-03T23:59:00"),
        ("3/4/20, 11:59 PM - Ana: x", "2020-03-04T23:59:00"),
    ],
)
def test_date_formats_of_many_countries_are_read(line: str, moment: str) -> None:
    (document,) = accepted(line.encode())
    assert (document.text, moment_of(document).isoformat()) == ("x", f"{moment}+00:00")


def test_a_later_date_settles_the_day_month_order_of_earlier_ones() -> None:
    first, _ = documents(lines("3/4/20, 10:00 PM - Ana: x", "13/4/20, 10:00 PM - Ana: y"))[0]
    assert moment_of(first).day == 3
    # Both exist either way, but time does not run backwards.
    first, _ = documents(lines("03/04/20, 22:00 - Ana: x", "01/05/20, 22:00 - Ana: y"))[0]
    assert moment_of(first).month == 4
    first, _ = documents(lines("01/12/20, 22:00 - Ana: x", "02/01/20, 22:00 - Ana: y"))[0]
    assert (moment_of(first).month, moment_of(first).day) == (1, 12)


def test_only_the_message_with_an_impossible_date_is_rejected() -> None:
    stored, rejects = documents(lines("31/12/20, 22:00 - Ana: x", "31/13/20, 22:00 - Ana: y"))
    assert [document.text for document in stored] == ["x"]
    assert [(reject.line, reject.reason) for reject in rejects] == [
        (2, "the time 31/13/20 22:00 does not exist, read with the day first")
    ]


@pytest.mark.parametrize(
    ("name", "chat"),
    [
        ("WhatsApp Chat with Ana Paz.txt", "Ana Paz"),
        ("Chat de WhatsApp con Ana.txt", "Ana"),
        ("WhatsApp Chat - Weather.txt", "Weather"),
        ("notes.txt", "notes"),
    ],
)
def test_the_chat_is_called_like_its_file(tmp_path: Path, name: str, chat: str) -> None:
    (tmp_path / name).write_text(ANDROID, encoding="utf-8")
    document = documents(tmp_path / name)[0][0]
    assert (document.thread, document.title) == (chat, chat)
    assert document.attribution == f"{name}#{document.external_id}"


def test_a_zip_of_ios_is_called_like_the_chat(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "WhatsApp Chat - Weather.zip", "w") as archive:
        archive.writestr("_chat.txt", IOS)
        archive.writestr("00000012-PHOTO.jpg", b"x")
    stored, _ = documents(tmp_path / "WhatsApp Chat - Weather.zip")
    assert {document.thread for document in stored} == {"Weather"}
    assert len(stored) == 5


def test_messages_keep_their_ids_in_a_longer_export_of_the_chat() -> None:
    short, _ = records(ANDROID.encode())
    longer, _ = records(ANDROID.encode() + b"02/01/2021, 08:00 - Bob: Sun\n")
    assert [(r.external_id, r.digest) for r in longer][: len(short)] == [
        (r.external_id, r.digest) for r in short
    ]
    assert len(longer) == len(short) + 1


def test_own_messages_are_distinguished_from_those_of_others() -> None:
    stored, _ = documents(ANDROID.encode(), defaults=Defaults(author="ana"))
    assert [d.role for d in stored] == ["me", "others", "others", "me", "me"]
    own, _ = records(ANDROID.encode(), defaults=Defaults(author="ana", only_mine=True))
    assert {record.payload["author"] for record in own} == {"Ana"}


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp", "Zs")),
                min_size=1, max_size=9)  # fmt: skip


SAID = st.tuples(st.sampled_from(["Ana", "Bob"]), st.lists(WORDS, min_size=1))


@given(st.lists(SAID, min_size=1))
def test_every_message_of_any_chat_is_read(chat: list[tuple[str, list[str]]]) -> None:
    # "m" keeps a line from being taken for the beginning of another message.
    said = [(author, "\n".join(f"m {word} &" for word in words)) for author, words in chat]
    content = "".join(f"31/12/2020, 23:59 - {author}: {text}\n" for author, text in said)
    found, rejects = records(content.encode())
    assert [(r.payload["author"], r.payload["text"]) for r in found] == said
    assert len({record.external_id for record in found}) == len(said)
    assert rejects == []


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
def test_letters_are_kept_in_the_encodings_of_editors(encoding: str) -> None:
    chat = "Un título\n\n12/03/2023, 20:11 - Núñez: El río subirá\n12/03/2023, 20:12 - Ana: sí\n"
    stored, _ = documents(chat.encode(encoding))
    assert [(d.author, d.text) for d in stored] == [("Núñez", "El río subirá"), ("Ana", "sí")]


def test_the_command_may_say_whether_the_day_comes_first() -> None:
    chat = lines("3/4/20, 10:00 - Ana: x")
    found = {
        order: moment_of(documents(chat, defaults=Defaults(is_day_first=order))[0][0]).month
        for order in (True, False)
    }
    assert found == {True: 4, False: 3}


@pytest.mark.parametrize(
    "written",
    [
        '12/03/2023, 20:10 - Ana created group "Sailing: summer"',
        "12/03/2023, 20:10 - Ana cambió el asunto de «Mar: verano» a «Mar: invierno»",
        "12/03/2023, 20:10 - Bob: This message was deleted",
        "12/03/2023, 20:10 - Bob: Diese Nachricht wurde gelöscht.",
        "12/03/2023, 20:10 - Bob: Це повідомлення видалено",
        "12/03/2023, 20:10 - Disappearing messages were turned on: 24 hours",
        "[12/03/2023, 20:10:00] Bob: Bob created group “Harbour”",
        "[12/03/2023, 20:10:00] Harbour: Messages and calls are end-to-end encrypted. No one"
        " outside of this chat, not even WhatsApp, can read them.",
    ],
)
def test_what_whatsapp_wrote_is_nobodys_words(written: str) -> None:
    stored, rejects = documents(lines(written, "12/03/2023, 20:11 - Ana: Hello"))
    assert [(d.author, d.text) for d in stored] == [("Ana", "Hello")]
    assert rejects == []


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("12/03/2023, 20:10 - Ana: In May <This message was edited>", "In May"),
        ("12/03/2023, 20:10 - Ana: write <tag>", "write <tag>"),
        (
            "[12/03/2023, 20:10:00] Ana: \u200ePOLL:\nWhen?\n\u200eOPTION: now",
            "POLL:\nWhen?\nOPTION: now",
        ),
        (
            "[12/03/2023, 20:10:00] Ana: \u200eLocation: https://x.example/1",
            "Location: https://x.example/1",
        ),
        ("12/03/2023, 20:10 - ~\u202fAna: hello", "hello"),
    ],
)
def test_marks_are_no_words_and_polls_are(written: str, text: str) -> None:
    (document,), _ = documents(written.encode())
    assert (document.author, document.text) == ("Ana", text)


def test_the_same_chat_has_the_same_ids_on_every_phone(tmp_path: Path) -> None:
    android = tmp_path / "WhatsApp Chat with Harbour.txt"
    android.write_text(
        "12/03/2023, 20:11 - Ana: the dam will break\n12/03/2023, 20:12 - Bob: no\n"
        "12/03/2023, 20:12 - Bob: <Media omitted>\n",
        encoding="utf-8",
    )
    ios = tmp_path / "chat of my old phone.txt"
    ios.write_text(
        "[12.03.23, 20:11:05] Ana: the dam will break\n[12.03.23, 20:12:09] Bob: no\n"
        "[12.03.23, 20:12:30] Bob: \u200eimage omitted\n",
        encoding="utf-8",
    )
    ids = [[document.external_id for document in documents(path)[0]] for path in (android, ios)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 3
