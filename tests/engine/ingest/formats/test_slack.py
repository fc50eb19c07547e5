"""A Slack export as folder, zip and single file."""

import zipfile
from pathlib import Path

import orjson
import pytest

from engine.corpora import Document
from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

USERS = [
    {"id": "U1", "name": "ana", "profile": {"display_name": "Ana", "real_name": "Ana Paz"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Roe", "profile": {"display_name": ""}},
]
CHANNELS = [{"id": "C1", "name": "general", "creator": "U1", "members": ["U1", "U2"]}]
DIRECT = [{"id": "D1", "members": ["U1", "U2"]}]
MESSAGE = {"type": "message", "user": "U1", "ts": "1577880000.000100", "text": "Storm &amp; rain"}


def export(folder: Path, **days: list[object]) -> Path:
    """Write an export; `general__2020` is a day of the channel "general"."""
    folder.mkdir(exist_ok=True)
    for name, content in (("users", USERS), ("channels", CHANNELS), ("dms", DIRECT)):
        (folder / f"{name}.json").write_bytes(orjson.dumps(content))
    for day, messages in days.items():
        channel, _, number = day.partition("__")
        (folder / channel).mkdir(exist_ok=True)
        (folder / channel / f"2020-01-{number}.json").write_bytes(
            orjson.dumps(messages, option=orjson.OPT_INDENT_2)
        )
    return folder


def one(folder: Path, **fields: object) -> Document:
    (document,) = accepted(export(folder, general__01=[MESSAGE | fields]))
    return document


def test_a_message_says_what_the_export_says(tmp_path: Path) -> None:
    document = one(tmp_path)
    assert (document.external_id, document.text) == ("C1/1577880000.000100", "Storm & rain")
    assert moment_of(document).isoformat() == "2020-01-01T12:00:00.000100+00:00"
    assert (document.author, document.role) == ("Ana", None)
    assert (document.platform, document.thread, document.title) == ("slack", "general", "#general")
    assert document.attribution == f"{tmp_path.name}/general/2020-01-01.json#1577880000.000100"
    assert document.meta["channel"] == "general"


def test_channels_are_read_whole_and_day_by_day(tmp_path: Path) -> None:
    later = MESSAGE | {"ts": "1577966400.000000"}
    export(tmp_path, random__01=[MESSAGE], general__02=[later], general__01=[MESSAGE])
    good, rejects = records(tmp_path)
    assert [record.external_id for record in good] == [
        "C1/1577880000.000100",
        "C1/1577966400.000000",
        "random/1577880000.000100",
    ]
    assert rejects == []


def test_a_zip_gives_the_same_as_its_folder(tmp_path: Path) -> None:
    folder = export(tmp_path / "export", general__01=[MESSAGE], D1__01=[MESSAGE])
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(tmp_path))  # in a folder of its own
    first, second = records(folder)[0], records(tmp_path / "export.zip")[0]
    assert [(r.external_id, r.digest) for r in first] == [(r.external_id, r.digest) for r in second]
    assert len(first) == 2


def test_a_single_day_is_read_without_the_names_of_people(tmp_path: Path) -> None:
    export(tmp_path, general__01=[MESSAGE])
    (document,), _ = documents(tmp_path / "general" / "2020-01-01.json")
    assert (document.author, document.thread) == ("U1", "general")
    (document,), _ = documents((tmp_path / "general" / "2020-01-01.json").read_bytes())
    assert (document.title, document.thread) == ("#standard input", "standard input")


def test_people_are_named_by_their_display_names(tmp_path: Path) -> None:
    assert one(tmp_path, user="U2").author == "Bob Roe"
    assert one(tmp_path, user="U9").author == "U9"
    assert one(tmp_path, user=None, subtype="bot_message", username="Deploy").author == "Deploy"
    profile = {"display_name": "", "real_name": "Eve"}
    assert one(tmp_path, user="U9", user_profile=profile).author == "Eve"


def test_references_are_replaced_by_readable_text(tmp_path: Path) -> None:
    text = (
        "<@U2> and <@U9|eve> in <#C2|random>: <https://a.example/b|the map> "
        "<https://a.example> <!here> <!subteam^S1|@team> <mailto:a@b.example|a@b.example> 2 &lt; 3"
    )
    document = one(tmp_path, text=text)
    assert document.text == (
        "@Bob Roe and @eve in #random: the map (https://a.example/b) "
        "https://a.example @here @team a@b.example 2 < 3"
    )
    assert (document.mentions, document.tags) == (("bob roe", "eve"), ())


def test_answers_files_and_reactions_are_read(tmp_path: Path) -> None:
    document = one(tmp_path, thread_ts="1577870000.000100")
    assert (document.reply_to, document.flags) == ("C1/1577870000.000100", Flag.REPLY)
    first = one(tmp_path, thread_ts=MESSAGE["ts"])
    assert (first.reply_to, first.flags) == (None, Flag.NONE)
    document = one(tmp_path, text="", subtype="file_share", files=[{"name": "map.png"}])
    assert (document.text, document.search_text) == ("[map.png]", "")
    assert (document.flags, document.meta["attachments"]) == (Flag.MEDIA, ["map.png"])
    assert (
        one(tmp_path, reactions=[{"name": "a", "count": 2}, {"name": "b", "count": 1}]).engagement
        == 3
    )


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "tombstone", "channel_name"])
def test_system_messages_are_left_out(tmp_path: Path, subtype: str) -> None:
    export(tmp_path, general__01=[MESSAGE | {"subtype": subtype}, MESSAGE])
    assert [len(found) for found in records(tmp_path)] == [1, 0]


def test_text_in_attachments_of_a_bot_is_read(tmp_path: Path) -> None:
    attachments = [{"text": "Build failed", "fallback": "x"}, {"fallback": "See the log"}]
    assert one(tmp_path, text="", attachments=attachments).text == "Build failed\n\nSee the log"


def test_a_conversation_knows_its_people(tmp_path: Path) -> None:
    (document,), _ = documents(export(tmp_path, D1__01=[MESSAGE]))
    assert document.meta["participants"] == ["Ana", "Bob Roe"]
    assert document.external_id == "D1/1577880000.000100"


@pytest.mark.parametrize("name", ["Ana", "ana paz", "@ana", "U1"])
def test_ones_own_words_are_known_by_any_of_ones_names(tmp_path: Path, name: str) -> None:
    export(tmp_path, general__01=[MESSAGE, MESSAGE | {"user": "U2", "ts": "1577880001.000000"}])
    mine, theirs = documents(tmp_path, defaults=Defaults(author=name))[0]
    assert (mine.role, theirs.role) == ("me", "others")
    own, _ = records(tmp_path, defaults=Defaults(author=name, only_mine=True))
    assert [record.external_id for record in own] == [mine.external_id]


def test_only_the_message_without_a_time_is_rejected(tmp_path: Path) -> None:
    bad = {key: value for key, value in MESSAGE.items() if key != "ts"}
    stored, rejects = documents(export(tmp_path, general__01=[bad, MESSAGE]))
    assert len(stored) == 1
    assert [reject.reason for reject in rejects] == ["record 1: no id"]


SHARED = {"is_share": True, "author_name": "Bob", "text": "I predict the flood"}


def test_what_others_wrote_is_passed_on_as_theirs(tmp_path: Path) -> None:
    alone = MESSAGE | {"text": "", "attachments": [SHARED], "ts": "1714550401.1"}
    beside = MESSAGE | {"text": "look at this", "attachments": [SHARED], "ts": "1714550402.2"}
    where = export(tmp_path, general__01=[alone, beside])
    first, second = documents(where)[0]
    assert (first.text, Flag.REPOST in first.flags) == ("I predict the flood", True)
    assert (second.text, second.meta["beside"]) == ("look at this", ["shared: I predict the flood"])
    author = second.author
    (own,) = documents(where, defaults=Defaults(author=author, only_mine=True))[0]
    assert (own.text, "predict" in own.search_text) == ("look at this", False)


def test_bots_say_all_that_is_in_their_blocks_and_attachments(tmp_path: Path) -> None:
    rich = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": "only "}, {"type": "text", "text": "rich words"}],
    }
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Storm warning"}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "Level: high"}]},
        {"type": "rich_text", "elements": [rich]},
        {"type": "image", "alt_text": "A map of the quay", "image_url": "x"},
    ]
    fields = [{"title": "Opened by", "value": "carla"}]
    attached = {"pretext": "New", "title": "Bridge is low", "text": "", "fields": fields}
    of_bot = {"subtype": "bot_message", "ts": "1714550401.1", "bot_id": "B1"}
    said = MESSAGE | of_bot | {"text": "This content can't be displayed.", "blocks": blocks}
    short = MESSAGE | of_bot | {"text": "An issue", "attachments": [attached], "ts": "1714550402.2"}
    texts = [d.text for d in documents(export(tmp_path, general__01=[said, short]))[0]]
    assert texts == [
        "Storm warning\nLevel: high\nonly rich words\nA map of the quay",
        "An issue\n\nNew\nBridge is low\nOpened by: carla",
    ]


def test_people_of_an_organisation_are_known(tmp_path: Path) -> None:
    where = export(tmp_path, general__01=[MESSAGE])
    names = documents(where)[0][0].author
    next(where.rglob("users.json")).rename(where / "org_users.json")
    assert documents(where)[0][0].author == names
    team = where / "teams" / "T1"
    team.mkdir(parents=True)
    (where / "general").rename(team / "general")
    assert documents(where)[0][0].author == names
