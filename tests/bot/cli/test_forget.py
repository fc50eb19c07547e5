"""`presagio forget` deletes what is stored about somebody who is named."""

import pytest

from tests.bot.conftest import Invoke
from tests.database import execute, wait_for


def test_a_person_is_forgotten_and_unknown_the_next_time(invoke: Invoke, database: str) -> None:
    wait_for(
        execute(
            database,
            "INSERT INTO chat (platform, external_id, private) VALUES ('telegram', '42', true)",
        )
    )
    [row] = invoke("forget", "telegram:42", "--yes", "--json").json_lines
    assert row == {"name": "telegram:42", "chats": 1, "votes": 0, "compositions": 0, "searches": 0}
    assert invoke("forget", "telegram:42", "--yes").out == (
        "Nothing was stored about telegram:42.\n"
    )


def test_forget_prints_what_was_deleted(invoke: Invoke, database: str) -> None:
    wait_for(
        execute(
            database,
            "INSERT INTO chat (platform, external_id, private) VALUES ('slack', 'D1', true)",
        )
    )
    assert invoke("forget", "slack:D1", "--yes").out == (
        "Deleted of slack:D1: 1 chats, 0 votes, 0 compositions, 0 searches\n"
    )


@pytest.mark.parametrize("name", ["ana", "telegram:", ":42"])
def test_a_name_has_a_platform(invoke: Invoke, database: str, name: str) -> None:
    done = invoke("forget", name, "--yes")
    assert done.code == 2
    assert "Write it as telegram:42 or slack:U0123." in done.err


def test_forget_without_a_terminal_requires_yes(invoke: Invoke, database: str) -> None:
    done = invoke("forget", "telegram:42")
    assert (done.code, "Pass --yes." in done.err) == (2, True)
