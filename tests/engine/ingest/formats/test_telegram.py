"""Telegram's export, of one chat and of the whole account."""

import orjson
import pytest

from engine.corpora import Document
from engine.errors import UsageError
from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

MESSAGE = {
    "id": 5,
    "type": "message",
    "date": "2021-01-31T21:02:29",
    "date_unixtime": "1612126949",
    "from": "Ana",
    "from_id": "user7",
    "text": "The storm is coming",
    "text_entities": [{"type": "plain", "text": "The storm is coming"}],
}
JOINED = {"id": 4, "type": "service", "date": "2021-01-31T21:02:29", "action": "invite_members"}


def chat(*messages: object, name: str = "Weather", identity: int = 99) -> dict[str, object]:
    return {"name": name, "type": "private_group", "id": identity, "messages": list(messages)}


def account(*chats: object) -> dict[str, object]:
    return {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 7, "first_name": "Ana", "username": "@ana"},
        "contacts": {"about": "x", "list": [{"first_name": "B", "date": "2020-01-01"}]},
        "chats": {"about": "y", "list": list(chats)},
        "left_chats": {"about": "z", "list": []},
    }


def one(message: object) -> Document:
    (document,) = accepted(orjson.dumps(chat(message)))
    return document


def test_a_message_says_what_the_export_says() -> None:
    document = one(MESSAGE)
    assert (document.external_id, document.text) == ("99/5", "The storm is coming")
    assert moment_of(document).isoformat() == "2021-01-31T21:02:29+00:00"
    assert (document.author, document.role) == ("Ana", None)
    assert (document.platform, document.thread, document.title) == ("telegram", "99", "Weather")
    assert document.attribution == "standard input#5"
    assert document.meta == {"channel": "Weather"}


def test_both_layouts_give_the_same_messages() -> None:
    single, _ = documents(orjson.dumps(chat(JOINED, MESSAGE)))
    whole = accepted(orjson.dumps(account(chat(MESSAGE), chat(MESSAGE, identity=98))))
    assert [document.external_id for document in whole] == ["99/5", "98/5"]
    assert whole[0].text == single[0].text
    pretty = orjson.dumps(account(chat(MESSAGE)), option=orjson.OPT_INDENT_2)
    assert [d.external_id for d in documents(pretty)[0]] == ["99/5"]


def test_an_account_knows_its_owner() -> None:
    other = MESSAGE | {"id": 6, "from": "Bob", "from_id": "user8"}
    mine, theirs = documents(orjson.dumps(account(chat(MESSAGE, other))))[0]
    assert (mine.role, theirs.role) == ("me", "others")
    own, _ = records(orjson.dumps(account(chat(MESSAGE, other))), defaults=Defaults(only_mine=True))
    assert [record.external_id for record in own] == ["99/5"]


def test_only_mine_needs_an_author_for_a_single_chat() -> None:
    content = orjson.dumps(chat(MESSAGE, MESSAGE | {"id": 6, "from": "Bob", "from_id": "user8"}))
    with pytest.raises(UsageError, match=r"does not say whose it is.*--author"):
        records(content, defaults=Defaults(only_mine=True))
    for name in ("ana", "@Ana", "user7"):
        own, _ = records(content, defaults=Defaults(only_mine=True, author=name))
        assert [record.external_id for record in own] == ["99/5"]


def test_an_older_message_has_a_time_in_utc_and_a_number_for_its_author() -> None:
    old = {k: v for k, v in MESSAGE.items() if k not in ("date_unixtime", "text_entities")}
    document = one(old | {"from_id": 10083966286, "from": None})
    assert moment_of(document).isoformat() == "2021-01-31T21:02:29+00:00"
    assert document.author == "10083966286"


def test_pieces_of_a_text_are_joined_and_tell_tags_and_mentions() -> None:
    pieces = [
        "See ",
        {"type": "text_link", "text": "this", "href": "https://a.example/"},
        " ",
        {"type": "hashtag", "text": "#Storm"},
        {"type": "mention", "text": "@bob"},
        {"type": "link", "text": "https://b.example/"},
    ]
    document = one(MESSAGE | {"text": pieces})
    assert document.text == "See this (https://a.example/) #Storm@bobhttps://b.example/"
    assert (document.tags, document.mentions) == (("storm",), ("bob",))


def test_an_answer_names_the_message_of_its_chat() -> None:
    document = one(MESSAGE | {"reply_to_message_id": 3})
    assert (document.reply_to, document.flags) == ("99/3", Flag.REPLY)
    elsewhere = MESSAGE | {"reply_to_message_id": 3, "reply_to_peer_id": "channel1"}
    assert one(elsewhere).reply_to is None


def test_a_forwarded_message_is_not_own_text() -> None:
    message = MESSAGE | {"forwarded_from": "News"}
    assert one(message).flags == Flag.REPOST
    own = Defaults(only_mine=True, author="Ana")
    assert records(orjson.dumps(chat(message)), defaults=own)[0] == []


@pytest.mark.parametrize(
    ("fields", "text", "files"),
    [
        ({"photo": "photos/a.jpg"}, "[photo]", ["a.jpg"]),
        ({"file": "(File not included. Change data exporting settings to download.)",
          "media_type": "voice_message"}, "[voice_message]", []),
        ({"file": "files/x.pdf", "file_name": "x.pdf"}, "[file]", ["x.pdf"]),
        ({"media_type": "sticker", "sticker_emoji": "🙂"}, "[🙂]", []),
        ({"location_information": {"latitude": 1.0}}, "[location]", []),
    ],
)  # fmt: skip
def test_a_message_without_words_is_shown_and_not_searched(
    fields: dict[str, object], text: str, files: list[str]
) -> None:
    document = one(MESSAGE | {"text": "", "text_entities": []} | fields)
    assert (document.text, document.search_text) == (text, "")
    assert document.meta.get("attachments", []) == files


def test_a_poll_is_searched() -> None:
    poll = {"question": "Rain?", "answers": [{"text": "Yes"}, {"text": "No"}]}
    assert (
        one(MESSAGE | {"text": "", "text_entities": [], "poll": poll}).search_text == "Rain? Yes No"
    )


def test_reactions_count_as_engagement() -> None:
    reactions = [{"type": "emoji", "count": 3}, {"type": "emoji", "count": 2}]
    assert one(MESSAGE | {"reactions": reactions}).engagement == 5


def test_one_bad_message_hides_no_other_chat() -> None:
    odd = chat({"id": 1, "type": "message", "text": "x"}, "y", name='a "{" b: [messages]')
    stored, rejects = documents(orjson.dumps(account(odd, chat(MESSAGE, identity=1))))
    assert [document.external_id for document in stored] == ["1/5"]
    assert [reject.reason for reject in rejects] == ["record 2: not an object", "record 1: no date"]


def test_the_name_of_a_chat_may_hold_brackets() -> None:
    (document,), _ = documents(orjson.dumps(chat(MESSAGE, name='{"id": 1')))
    assert (document.title, document.thread) == ('{"id": 1', "99")


def test_the_owner_is_known_however_many_contacts_stand_before_the_chats() -> None:
    whole = account(chat(MESSAGE)) | {
        "contacts": {"list": [{"first_name": "B" * 100, "user_id": n} for n in range(2_000)]}
    }
    # The order of the keys is that of the export: contacts come second.
    ordered = {key: whole[key] for key in ("personal_information", "contacts", "chats")}
    assert [document.role for document in documents(orjson.dumps(ordered))[0]] == ["me"]
