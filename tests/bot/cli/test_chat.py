"""`presagio chat`, wired to a real database and standard input."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TextIO

import pytest

from bot.app import App
from bot.cli.chat import converse, terminal_language
from bot.settings import load_settings
from db.pool import Database
from tests.bot.apps import app_parts
from tests.db.loading import load_texts

Type = Callable[[str], None]


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    storage = await Database.open(database_url)
    await load_texts(storage, "storms", ["a storm is coming to the coast"])
    await load_texts(storage, "coffees", ["coffee will be dear one day"])
    yield App(**app_parts(storage, settings=load_settings()))
    await storage.close()


@pytest.fixture
def type_(monkeypatch: pytest.MonkeyPatch) -> Iterator[Type]:
    """Put text on the standard input of this process."""
    opened: list[TextIO] = []

    def put(text: str) -> None:
        reading, writing = os.pipe()
        os.write(writing, text.encode())
        os.close(writing)
        opened.append(os.fdopen(reading))
        monkeypatch.setattr("sys.stdin", opened[-1])

    yield put
    for stream in opened:
        stream.close()


async def test_the_corpus_that_is_named_is_searched_for_that_session(
    app: App, type_: Type, capsys: pytest.CaptureFixture[str]
) -> None:
    type_("/settings language en\nStorm hits the coast\n")
    await converse(app, corpus="storms")
    assert "a storm is coming" in capsys.readouterr().out
    type_("Storm hits the coast\n")
    await converse(app, corpus="")
    assert "Whose texts shall I search?" in capsys.readouterr().out


async def test_corpus_chosen_in_a_session_persists_to_the_next(
    app: App, type_: Type, capsys: pytest.CaptureFixture[str]
) -> None:
    type_("/corpus coffees\n")
    await converse(app, corpus="storms")
    type_("/settings language en\nStorm hits the coast\n")
    await converse(app, corpus="storms")
    assert "a storm is coming" in capsys.readouterr().out
    type_("Coffee prices soar\n")
    await converse(app, corpus="")
    assert "coffee will be dear" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "es_AR.UTF-8"}, "es"),
        ({"LANG": "C.UTF-8"}, "C.UTF-8"),
        ({"LANG": "en_US", "LC_MESSAGES": "es"}, "es"),
        ({"LANG": "en_US", "LC_MESSAGES": "fr", "LC_ALL": "es_ES"}, "es"),
        ({"LC_ALL": "", "LANG": "es_ES"}, "es"),
    ],
)
def test_the_language_is_that_of_the_environment(
    environment: dict[str, str], expected: str
) -> None:
    assert terminal_language(environment) == expected
