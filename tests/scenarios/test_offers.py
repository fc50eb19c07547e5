"""An archive that the owner sends in private is offered for loading; nobody else's is."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from bot.cli.ingest import open_sources
from tests.fakes.slack import App, SlackServer
from tests.fakes.telegram import Chat, Message, User
from tests.scenarios.slack.stage import slack_staged
from tests.scenarios.stage import Stage
from tests.scenarios.test_owner import code

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
    home = stage.telegram.private_chat(alice)
    await (await alice.says(home, f"/start {await code(stage, 'telegram')}")).answer()
    return alice, home


def labels(message: Message) -> list[str]:
    return [button.text for button in message.buttons]


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
        assert labels(offer) == ["Add it", "No"]
        await (await alice.presses(offer, "Add it")).answered()
        await owned.telegram.until_acknowledged()
        assert offer.text.startswith("Added. tweets holds 3 texts now.")
        assert opened.call_count == 2, "to offer it and to load it"
        assert not list((data_dir / "offered").glob("*")), "the file is not kept"
        await (await alice.presses(offer, "Search it here")).answered()
        await owned.telegram.until_acknowledged()
        answer = await (await alice.says(home, "Bridges sing in the storm at last")).answer()
        assert "Bridges will sing." in answer.text
        another = await (await alice.sends_file(home, "My tweets 2024.jsonl", EXPORT)).answer()
        assert another.text == f"{holds} Shall I add it as the archive my-tweets-2024?"


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


async def test_a_table_becomes_an_archive_in_the_language_of_its_texts(owned: Stage) -> None:
    rows = [
        "2012-05-13,No hay que esperar más para bajar el precio del pan.",
        "2012-05-14,Ya está.",
    ]
    async with owned.serving():
        alice, home = await own(owned)
        table = "\n".join(["fecha,texto", *rows]).encode()
        offer = await (await alice.sends_file(home, "tuits.csv", table)).answer()
        await (await alice.presses(offer, "Add it")).answered()
        await owned.telegram.until_acknowledged()
        languages = await owned.rows("SELECT language FROM corpus WHERE name = 'tweets'")
    assert languages == [("spanish",)]


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
        for name in ("tuits.json", "tuits.json"):
            offer = await (await alice.sends_file(home, name, export)).answer()
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


async def test_a_file_that_is_not_wanted_is_deleted(owned: Stage, data_dir: Path) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        offer = await (await alice.sends_file(home, "posts.json", EXPORT)).answer()
        await (await alice.presses(offer, "No")).answered()
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
        assert picture.text == UNREAD


async def test_another_member_s_file_is_not_read(owned: Stage) -> None:
    owned.environment["PRESAGIO_CHAT__ACCESS"] = "open"
    async with owned.serving():
        bob = owned.telegram.user("Bob")
        home = owned.telegram.private_chat(bob)
        said = await (await bob.sends_file(home, "tweets.zip", EXPORT)).answer()
        assert (said.text, said.buttons) == (UNREAD, [])
        await bob.sends_file(home, "tweets.zip", EXPORT)
        await owned.telegram.until_acknowledged()
        assert len(home.bot_messages) == 1, "once a day"
        assert owned.telegram.called("getFile") == []


async def test_a_declined_file_cannot_be_added_later(owned: Stage) -> None:
    async with owned.serving():
        alice, home = await own(owned)
        offer = await (await alice.sends_file(home, "posts.json", EXPORT)).answer()
        for button in ("No", "Add it"):
            await (await alice.presses(offer, button)).answered()
        assert await owned.rows("SELECT name FROM corpus") == [("demo",)]


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
        alice, home = stage.alice, stage.slack.im(stage.alice)
        async with stage.serving():
            await alice.commands(home, "/presagio", f"start {await code(stage, 'slack')}")
            await stage.slack.until(lambda: stage.slack.bot_messages)
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
