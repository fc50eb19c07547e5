"""`presagio forget` deletes what is stored about somebody who is named."""

import pytest

from tests.bot.conftest import Invoke
from tests.database import execute, wait_for

pytestmark = pytest.mark.usefixtures("database")


def test_a_person_is_forgotten_and_unknown_the_next_time(invoke: Invoke, database: str) -> None:
    store = "INSERT INTO chat (platform, external_id, private) VALUES ('telegram', '42', true)"
    command = ("forget", "telegram:42", "--yes")
    wait_for(execute(database, store))
    [row] = invoke(*command, "--json").json_lines
    assert row == {"name": "telegram:42", "chats": 1, "votes": 0, "compositions": 0, "searches": 0}
    assert invoke(*command).out == "Nothing was stored about telegram:42.\n"
    wait_for(execute(database, store))
    assert invoke(*command).out == (
        "Deleted of telegram:42: 1 chats, 0 votes, 0 compositions, 0 searches\n"
    )


@pytest.mark.parametrize("name", ["ana", "telegram:", ":42"])
def test_a_name_has_a_platform(invoke: Invoke, name: str) -> None:
    done = invoke("forget", name, "--yes")
    assert done.code == 2
    assert "Write it as telegram:42 or slack:U0123." in done.err


def test_forget_without_a_terminal_requires_yes(invoke: Invoke) -> None:
    done = invoke("forget", "telegram:42")
    assert (done.code, "Pass --yes." in done.err) == (2, True)
