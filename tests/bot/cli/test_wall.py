"""`presagio wall` decides what of the page's votes everybody may see."""

import pytest

from db.chat.answers import Answers
from db.chat.chats import Chats
from db.pool import Database
from engine.chat import Answer
from tests.bot.conftest import Invoke
from tests.bot.prophecies import NOW, make_hit, make_prophecy
from tests.database import wait_for

HEADLINE = "Coffee \x1b[31msoars"


async def _voted(url: str, platform: str = "web", chat: str = "page") -> str:
    """Have somebody vote for a hit, and return its id."""
    database = await Database.open(url)
    known = await Chats(database).meet(platform, chat, private=False, title=None)
    answers, prophecy = Answers(database), make_prophecy(make_hit(), text=HEADLINE)
    answer = Answer(prophecy=prophecy, asked_at=NOW, first=0, last=1)
    kept = await answers.keep(known, None, answer)
    stored = await answers.get(known, kept)
    assert stored
    await answers.vote(stored, 1, "web:somebody", 1, now=NOW)
    await database.close()
    return f"{kept}.1"


def test_empty_wall_is_reported_on_stderr(invoke: Invoke, database: str) -> None:
    done = invoke("wall")
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("Nobody has voted on the page yet.\n")


def test_pending_prophecy_is_listed_approved_and_removed(invoke: Invoke, database: str) -> None:
    known = wait_for(_voted(database))
    [check] = [row for row in invoke("doctor", "--json").json_lines if row["check"] == "wall"]
    assert check["detail"] == "prophecies of visitors that wait for approval: 1"
    for command, state in (
        (("approve", known), "approved"),
        (("remove", known), "removed"),
        (("approve", known, known), "approved"),
    ):
        done = invoke("wall", *command)
        assert (done.code, done.out) == (0, f"{known} is {state}.\n" * (len(command) - 1))
        (listed,) = invoke("wall", "list", "--json").json_lines
        assert (listed["id"], listed["state"], listed["corpus"]) == (known, state, "demo")
        assert (listed["headline"], listed["up"], listed["down"]) == (HEADLINE, 1, 0)
    assert all(row["check"] != "wall" for row in invoke("doctor", "--json").json_lines)
    table = invoke("wall").out
    assert "Coffee \ufffd[31msoars" in table
    assert "\x1b" not in table


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("12", 2, "'12' is no id."),
        ("12.", 2, "'12.' is no id."),
        ("x.1", 2, "'x.1' is no id."),
        ("-1.1", 2, "No such option: -1"),
        ("9" * 30 + ".1", 2, "is no id."),
        ("99999.1", 1, "Nobody voted for 99999.1. See: presagio wall list"),
    ],
)
def test_invalid_id_is_refused(
    invoke: Invoke, database: str, name: str, code: int, said: str
) -> None:
    wait_for(_voted(database))
    done = invoke("wall", "approve", name)
    assert (done.code, said in done.err) == (code, True), done


def test_votes_of_a_chat_are_listed_only_if_the_settings_name_it(
    invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = wait_for(_voted(database, "slack", "C1"))
    assert invoke("wall", "--json").out == ""
    assert invoke("wall", "approve", known).code == 1
    monkeypatch.setenv("PRESAGIO_WEB__WALL", '["slack:C1"]')
    (listed,) = invoke("wall", "--json").json_lines
    assert (listed["id"], listed["state"]) == (known, "shown")
    assert invoke("wall", "remove", known).code == 0
    (listed,) = invoke("wall", "--json").json_lines
    assert listed["state"] == "removed"
