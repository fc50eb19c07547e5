"""Whose texts a corpus holds is asked for or warned of, and can be mended later."""

import sys
from pathlib import Path

import pytest

from db.corpus.corpora import Corpora
from db.pool import Database
from engine.values import Kind
from tests.bot.command_line import write_tweets
from tests.bot.conftest import Invoke
from tests.database import wait_for
from tests.png import make_png

WARNING = "Nothing says whose posts me holds, so answers name nobody."


def picture(path: Path) -> Path:
    path.write_bytes(make_png(40, 40, (255, 0, 0)))
    return path


@pytest.mark.usefixtures("database")
def test_without_an_author_ingest_warns_and_describe_mends_it(
    invoke: Invoke, tmp_path: Path
) -> None:
    archive = str(write_tweets(tmp_path / "a.jsonl", range(3)))
    assert WARNING in invoke("ingest", archive, "--corpus", "me", "--kind", "tweets").err
    assert "author: ana\n" not in invoke("corpora", "show", "me").out
    done = invoke(
        *("corpora", "describe", "me", "--author", "@ana", "--name", "Ana Ruiz"),
        *("--avatar", str(picture(tmp_path / "ana.png"))),
    )
    assert "author: ana" in done.out
    assert "display_name: Ana Ruiz" in done.out
    assert "avatar: yes" in done.out
    assert WARNING not in invoke("ingest", archive, "--corpus", "me").err
    assert "Ana Ruiz" in invoke("search", "Thought of rust and rain", "--corpus", "me").out
    assert "avatar: no" in invoke("corpora", "describe", "me", "--avatar", "").out
    assert "display_name: -" in invoke("corpora", "describe", "me", "--name", "").out


@pytest.mark.usefixtures("database")
def test_a_person_is_told_how_to_ask_a_new_corpus(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = str(write_tweets(tmp_path / "a.jsonl", range(3)))
    load = ("ingest", archive, "--author", "ana", "--corpus")
    assert "Next" not in invoke(*load, "quiet").err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert 'Next: presagio search "A headline" --corpus me' in invoke(*load, "me").err
    assert "Next" not in invoke(*load, "me").err
    assert 'ask "A question?" --corpus own' in invoke(*load, "own", "--kind", "personal").err


@pytest.mark.usefixtures("database")
def test_what_is_no_picture_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    invoke("ingest", str(write_tweets(tmp_path / "a.jsonl", range(3))), "--corpus", "me")
    (tmp_path / "b.gif").write_bytes(b"GIF89a")
    describe = ("corpora", "describe", "me")
    said = invoke(*describe, "--avatar", str(tmp_path / "b.gif")).complaint()
    assert "is no PNG or JPEG picture." in said
    assert "cannot be read" in invoke(*describe, "--avatar", str(tmp_path / "gone")).complaint()
    assert "There is nothing to change." in invoke(*describe).complaint(2)


def test_the_avatar_comes_back_as_it_was(database_url: str, tmp_path: Path) -> None:
    file = picture(tmp_path / "ana.png")

    async def kept() -> tuple[bytes | None, bytes | None]:
        database = await Database.open(database_url)
        corpora = Corpora(database)
        await corpora.ensure("me", kind=Kind.TWEETS, language="english", author=None)
        before = await corpora.avatar("me")
        await corpora.change("me", avatar=file.read_bytes())
        after = await corpora.avatar("me")
        await database.close()
        return before, after

    assert wait_for(kept()) == (None, file.read_bytes())
