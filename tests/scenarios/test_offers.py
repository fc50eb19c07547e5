"""An archive that the owner sends in private is offered for loading; nobody else's is."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from bot.cli.ingest import open_sources
from tests.fakes.documents import word
from tests.fakes.slack import App, SlackServer
from tests.fakes.telegram import Chat, Message, User
from tests.scenarios import stage as stages
from tests.scenarios.slack.stage import own_workspace, slack_staged
from tests.scenarios.stage import Stage

POSTS = [
    {"id": str(number), "created_at": f"201{number}-05-01T12:00:00Z", "text": text}
    for number, text in enumerate(("Trains will fly.", "Bridges will sing.", "Rivers will wait."))
]
EXPORT = "\n".join(map(json.dumps, POSTS)).encode()
UNREAD = "I read text, links and captions."


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def owned(stage: Stage, data_dir: Path) -> Stage:
    stage.environment |= {"PRESAGIO_CHAT__ACCESS": "owner", "PRESAGIO_DATA_DIR": str(data_dir)}
    data_dir.mkdir()
    return stage


async def own(stage: Stage) -> tuple[User, Chat]:
    alice = stage.telegram.user("Alice")
    return alice, await stages.own(stage, alice)


async def test_the_owner_s_archive_is_loaded_when_wanted(
    owned: Stage, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(wraps=open_sources)
    monkeypatch.setattr("bot.cli.serve.open_sources", opened)
    async with owned.serving():
        alice, home = await own(owned)
        offer = await (await alice.sends_file(home, "My tweets 2024.jsonl", EXPORT)).answer()
        holds = "My tweets 2024.jsonl (1 KB) holds tweets."
        assert offer.text == f"{holds} Shall I add it as the archive tweets?"
        assert offer.labels == ["Add it", "No"]
        await (await alice.presses(offer, "Add it")).answered()
        await owned.telegram.until_acknowledged()
        assert offer.text.startswith("Added. tweets holds 3 texts now.")
        assert opened.call_count == 2, "to offer it and to load it"
        assert not list((data_dir / "offered").glob("*")), "the file is not kept"
        await (await alice.presses(offer, "Search it here")).answered()
        await owned.telegram.until_acknowledged()
        answer = await (await alice.says(home, "Bridges sing in the storm at last")).answer()
        assert "Bridges will sing." in answer.text
        again = await (await alice.sends_file(home, "export (1).json", EXPORT)).answer()
        assert again.text.endswith("holds tweets. Shall I add it to my archive tweets?")
        others = EXPORT.replace(b"will", b"shall")
        another = await (await alice.sends_file(home, "My tweets 2024.jsonl", others)).answer()
        assert another.text == f"{holds} Shall I add it as the archive my-tweets-2024?"


async def test_the_owner_names_describes_and_removes_an_archive(owned: Stage) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        bob = owned.telegram.user("Bob")
        group = owned.telegram.group("Friends", members=[alice, bob])

        async def says(text: str) -> Message:
            return await (await alice.says(home, text)).answer()

        offer = await (await alice.sends_file(home, "tweets.jsonl", EXPORT)).answer()
        await (await alice.presses(offer, "Add it")).answered()
        await owned.telegram.until_acknowledged()
        assert "such as: /corpus name tweets @ana Ana Ruiz" in offer.text.replace("\u2060", "")
        named = await says("/corpus name tweets @ana Ana Ruiz")
        assert named.text == "The texts of tweets are those of Ana Ruiz."
        described = await says("/corpus describir tweets Tuits de una senadora")
        assert described.text == "From now on models are told of tweets: Tuits de una senadora"
        rows = await owned.rows("SELECT author, display_name, description FROM corpus WHERE id > 1")
        assert rows == [("ana", "Ana Ruiz", "Tuits de una senadora")]
        assert "There is no archive nothing." in (await says("/corpus remove nothing")).text
        for typed, example in (
            ("name", "name demo @ana Ana Ruiz"),
            ("describir", "describir demo Tweets of a senator"),
            ("delete", "delete demo"),
        ):
            shown = (await says(f"/corpus {typed}")).text.replace("\u2060", "")
            assert shown == f"For example: /corpus {example}"
        elsewhere = await (await alice.says(group, "/corpus remove tweets")).answer()
        assert "works in a private chat with me alone" in elsewhere.text
        asked = await says("/corpus quitar tweets")
        assert asked.text.startswith("tweets holds 3 texts.")
        assert await owned.rows("SELECT count(*) FROM corpus") == [(2,)]
        await (await alice.presses(asked, "Remove it for good")).answered()
        await owned.telegram.until_acknowledged()
        assert asked.text == "tweets is removed."
        assert await owned.rows("SELECT name FROM corpus") == [("demo",)]


X_EXPORT = (
    b'window.YTD.tweets.part0 = [{"tweet": {"id_str": "1", "full_text": "Bridges will sing.",'
    b' "created_at": "Wed Mar 14 12:00:00 +0000 2012"}}]'
)
_zip = io.BytesIO()
with zipfile.ZipFile(_zip, "w") as written:
    written.writestr("xl/workbook.xml", "<workbook/>")
WORKBOOK = _zip.getvalue()
WHATSAPP = (
    "14/03/12, 12:00 - Ana: Los puentes van a cantar.\n14/03/12, 12:01 - Bea: ¿Tú crees?\n"
    "14/03/12, 12:02 - Ana: Claro que sí, ya verás.\n"
).encode()


@pytest.mark.parametrize(
    ("name", "content", "holds"),
    [
        ("tweets.js", X_EXPORT, "holds tweets."),
        ("tweets (1).js", X_EXPORT, "holds tweets."),
        ("Chat de WhatsApp con Bea.txt", WHATSAPP, "holds private messages."),
        ("Memorias.docx", word("Los puentes van a cantar, ya verás."), "holds documents."),
    ],
)
async def test_files_are_taken_whatever_their_name(
    owned: Stage, name: str, content: bytes, holds: str
) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        offer = await (await alice.sends_file(home, name, content)).answer()
        assert holds in offer.text
        assert offer.labels == ["Add it", "No"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tuits.xlsx", WORKBOOK, "is a workbook of a spreadsheet. Save each sheet as CSV"),
        ("notes.dat", b"\x00\x01\x02", "is neither text nor an archive that can be opened."),
        ("table.csv", b"a;b\n1;2\n", "Call its columns text and created_at, and send it again."),
    ],
)
async def test_what_is_not_taken_says_which_files_are(
    owned: Stage, name: str, content: bytes, said: str
) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        refused = await (await alice.sends_file(home, name, content)).answer()
        assert said in refused.text
        assert "Files that I take: .zip, .json, .jsonl, .js, .csv, .txt" in refused.text
        assert "--" not in refused.text
        assert refused.buttons == []


async def test_the_guessed_table_layout_is_shown_before_loading(owned: Stage) -> None:
    table = b"Fecha;Tweet\n13/05/2012 23:30;Bridges will sing.\n14/05/2012 09:00;Rivers wait.\n"
    async with owned.serving():
        alice, home = await own(owned)
        await (await alice.says(home, "/settings timezone Madrid")).answer()
        offer = await (await alice.sends_file(home, "old tweets.csv", table)).answer()
        lines = offer.text.splitlines()
        assert lines[1] == "It is a table; I read these columns: created_at = Fecha, text = Tweet"
        assert "In its dates the day comes first." in lines
        assert any("those of Europe/Madrid" in line for line in lines)
        assert "2012-05-13 23:30 · Bridges will sing." in lines
        await (await alice.says(home, "/settings timezone UTC")).answer()
        await (await alice.presses(offer, "Add it")).answered()
        await owned.telegram.until_acknowledged()
        written = await owned.rows("SELECT min(created_at) FROM document WHERE text LIKE '%sing.'")
    assert written[0][0].isoformat() == "2012-05-13T21:30:00+00:00"


async def test_an_export_becomes_an_archive_in_the_language_of_its_texts(owned: Stage) -> None:
    spanish = [
        "No hay que esperar más para bajar el precio del pan.",
        "Los trenes van a volar, y nadie me quiere creer todavía.",
    ]
    export = "\n".join(
        json.dumps({**POSTS[number], "text": text}) for number, text in enumerate(spanish)
    ).encode()
    async with owned.serving():
        alice, home = await own(owned)
        others = export.replace(b"pan.", b"vino.").replace(b"volar", b"nadar")
        for content in (others, export):
            offer = await (await alice.sends_file(home, "tuits.json", content)).answer()
            await (await alice.presses(offer, "Add it")).answered()
            await owned.telegram.until_acknowledged()
            assert "another language" not in offer.text
        languages = await owned.rows("SELECT name, language FROM corpus ORDER BY name")
        await owned.rows("UPDATE corpus SET language = 'english' WHERE name = 'tuits'")
        offer = await (await alice.sends_file(home, "tuits.json", export)).answer()
        await (await alice.presses(offer, "Add it")).answered()
        await owned.telegram.until_acknowledged()
    assert languages[1:] == [("tuits", "spanish"), ("tweets", "spanish")]
    assert "another language than english, in which tuits reads them." in offer.text
    assert offer.text.endswith("presagio ingest FILE --corpus NAME --language spanish")


async def test_a_file_that_is_not_wanted_is_deleted_and_cannot_be_added_later(
    owned: Stage, data_dir: Path
) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        offer = await (await alice.sends_file(home, "posts.json", EXPORT)).answer()
        for button in ("No", "Add it"):
            await (await alice.presses(offer, button)).answered()
        await owned.telegram.until_acknowledged()
        assert offer.text == "I have deleted the file."
        assert not list((data_dir / "offered").glob("*"))
        assert await owned.rows("SELECT name FROM corpus") == [("demo",)]


async def test_unsupported_and_oversized_files_are_reported(owned: Stage) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        nothing = await (await alice.sends_file(home, "odd.zip", b"PK no zip")).answer()
        assert nothing.text.startswith("odd.zip: ")
        assert "/" not in nothing.text.split("presagio")[0], "no folder of this machine"
        assert not nothing.buttons
        large = await (await alice.sends_file(home, "all.zip", b"PK", size=31_000_000)).answer()
        assert large.text.startswith("all.zip has 31 MB; I can fetch files of 20 MB at most.")
        assert not owned.telegram.called("getFile")[1:]
        picture = await (await alice.sends_file(home, "cat.heic", b"...")).answer()
        assert picture.text.startswith(f"{UNREAD} Files that I take: .zip, .json,")


async def test_another_member_s_file_is_not_read(owned: Stage) -> None:
    owned.environment["PRESAGIO_CHAT__ACCESS"] = "open"
    async with owned.serving():
        bob, home = owned.telegram.alone("Bob")
        said = await (await bob.sends_file(home, "tweets.zip", EXPORT)).answer()
        assert (said.text, said.buttons) == (UNREAD, [])
        await bob.sends_file(home, "tweets.zip", EXPORT)
        await owned.telegram.until_acknowledged()
        assert len(home.bot_messages) == 1, "once a day"
        assert owned.telegram.called("getFile") == []


@pytest.mark.parametrize("granted", [True, False])
async def test_loading_files_on_slack_needs_the_files_read_scope(
    coffee_url: str, installed: App, tmp_path: Path, granted: bool
) -> None:
    scopes = (installed.scopes or frozenset()) - (set() if granted else {"files:read"})
    async with slack_staged(coffee_url, SlackServer(replace(installed, scopes=scopes))) as stage:
        stage.environment |= {
            "PRESAGIO_CHAT__ACCESS": "owner",
            "PRESAGIO_DATA_DIR": str(tmp_path),
        }
        alice = stage.alice
        async with stage.serving():
            home = await own_workspace(stage)
            await alice.shares_file(home, "posts.json", content=EXPORT)
            await stage.slack.until(lambda: len(stage.slack.bot_messages) == 2)
            offer = stage.slack.bot_messages[-1]
            if granted:
                assert offer.visible.startswith("posts.json (1 KB) holds tweets.")
                await alice.clicks(offer, "Add it")
                added = "Added. tweets holds 3 texts now."
                await stage.slack.until(lambda: offer.visible.startswith(added))
            else:
                assert "files:read" in offer.visible
