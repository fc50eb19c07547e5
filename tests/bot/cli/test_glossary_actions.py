"""`presagio glossary`: what is approved in one process holds in another, what is rejected stays
away, and files go in and out."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.app import open_app
from bot.queries.find import find
from bot.settings import load_settings
from tests.bot.command_line import Done
from tests.bot.forking import forked
from tests.database import Clones, wait_for
from tests.db.loading import document, load_at
from tests.fakes.model import Asked, ModelServer, answer

TEXTS = [
    *["Cars are dear this year", "An automobile is dear this year", "Trains are cheap"] * 4,
    *["The Federal Reserve raises rates", "The Fed raises rates"] * 3,
    "Authentication is broken",
]

pytestmark = pytest.mark.usefixtures("corpus")


@pytest.fixture(scope="module")
def _filled(_clones: Clones) -> Iterator[Clones]:
    documents = [document(str(n), f"{text} {n}", day=n) for n, text in enumerate(TEXTS)]
    with _clones.filled(lambda url: load_at(url, "one", documents, "english")) as ready:
        yield ready


@pytest.fixture
def corpus(_filled: Clones, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A database whose corpus "one" holds the texts, for one test."""
    with _filled.lend() as url:
        monkeypatch.setenv("DATABASE_URL", url)
        yield


def found(query: str) -> Any:
    return forked("find", query, "--json").json


def groups(*arguments: str) -> list[Any]:
    return forked("glossary", *(arguments or ("list",)), "--json").json_lines


def test_an_alias_approved_in_one_process_fires_at_once_in_another_that_runs() -> None:
    waiting = b"corpus,status,terms\none,pending,auth | authentication\n"

    async def other(*arguments: str, stdin: bytes = b"") -> str:
        done = await asyncio.to_thread(forked, "glossary", *arguments, stdin=stdin)
        assert done.code == 0, done
        return done.out

    async def running() -> None:
        async with open_app(load_settings(), progress=print) as app:

            async def finds() -> int:
                return (await find(app, "auth")).counts.returned

            assert await finds() == 0
            await other("import", "-", "--format", "csv", stdin=waiting)
            assert await finds() == 0
            assert await other("approve", "1") == "Approved 1: auth | authentication\n"
            assert await finds() == 1
            await other("remove", "1")
            assert await finds() == 0
            again = await other("import", "-", "--format", "csv", stdin=waiting)
            assert again.startswith("0 approved, 0 pending, 0 rejected; 1 left out")
            await other("add", "auth", "authentication")
            assert await finds() == 1

    wait_for(running())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "FBI", "bureau"),
         '"FBI" is protected. An acronym in capitals matches exactly and has no alias.'),
        (("add", "car"), "A group has 2 to 20 different terms."),
        (("approve", "9"), "There is no group 9."),
        (("add", "a1", "b1", "--corpus", "nope"), "There is no corpus 'nope'. There are: one."),
        (("import", "nowhere.yaml"), "nowhere.yaml cannot be read: No such file or directory."),
    ],
)  # fmt: skip
def test_refused_glossary_commands_fail_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert forked("glossary", *arguments).complaint() == said
    assert groups() == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("FBI, bureau", 'Group 2: "FBI" is protected.'),
        ("no, nope", "Group 2 has terms that are no"),
    ],
)
def test_a_file_with_one_wrong_group_changes_nothing(tmp_path: Path, wrong: str, said: str) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(f"groups:\n- terms: [car, automobile]\n- terms: [{wrong}]\n")
    assert forked("glossary", "import", str(path)).complaint().startswith(said)
    assert groups() == []


def test_export_and_import_round_trip_without_rejected_groups() -> None:
    forked("glossary", "add", "car", "automobile")
    forked("glossary", "add", "train", "railway", "--corpus", "one")
    exported = forked("glossary", "export").out
    forked("glossary", "remove", "1", "2")
    done = forked("glossary", "import", "-", "--format", "yaml", stdin=exported.encode())
    assert done.out.startswith("0 approved, 0 pending, 0 rejected; 2 left out")
    assert "status: rejected" in forked("glossary", "export").out
    assert forked("glossary", "add", "AUTOMOBILE's", "car").code == 1  # a name, says its capital
    assert forked("glossary", "add", "Automobile", "car").code == 0
    assert [group["terms"] for group in groups()] == [["Automobile", "car"]]


def numbers(asked: Asked) -> dict[str, int]:
    lines = [json.loads(line) for line in asked.prompt.split("\n")]
    return {line["term"].casefold(): line["i"] for line in lines}


def pairing(*wanted: tuple[str, str, bool]) -> Callable[..., Awaitable[Any]]:
    """Answer with these pairs, by the numbers that the terms have in the question."""

    async def step(asked: Asked, request: Any) -> Any:
        known = numbers(asked)
        entries = [{"a": known[a], "b": known[b], "sure": sure} for a, b, sure in wanted]
        content = json.dumps({"n": len(known), "pairs": entries})
        return await answer(content)(asked, request)

    return step


@pytest.fixture
def suggesting(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., tuple[Done, ModelServer]]]:
    """Run `glossary suggest` beside a stand-in model that answers with these pairs."""

    def run(
        *wanted: tuple[str, str, bool], env: dict[str, str] | None = None
    ) -> tuple[Done, ModelServer]:
        async def beside() -> tuple[Done, ModelServer]:
            async with ModelServer() as server:
                server.script = [pairing(*wanted)]
                monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", server.base_url)
                for name, value in (env or {}).items():
                    monkeypatch.setenv(name, value)
                done = await asyncio.to_thread(forked, "glossary", "suggest", "--json")
                return done, server

        return wait_for(beside())

    yield run


Suggest = Callable[..., tuple[Done, ModelServer]]


def test_suggestions_are_pending_by_default(suggesting: Suggest) -> None:
    done, server = suggesting(("cars", "automobile", True), ("dear", "cheap", False))
    assert done.json["pending"] == [
        {"terms": ["Cars", "automobile"], "sure": True},
        {"terms": ["dear", "cheap"], "sure": False},
    ]
    assert done.json["usage"]["prompt_tokens"]
    assert server.calls == 1
    assert "are" not in numbers(server.requests[0])  # a stop word
    assert found("cars")["expanded"] == "cars"
    assert [group["status"] for group in groups("pending")] == ["pending", "pending"]


def test_approve_sure_setting_approves_sure_pairs_at_once(suggesting: Suggest) -> None:
    suggesting(
        ("cars", "automobile", True),
        ("dear", "cheap", False),
        env={"PRESAGIO_GLOSSARY__APPROVE_SURE": "true"},
    )
    assert [(g["terms"][0], g["status"]) for g in groups()] == [
        ("Cars", "approved"),
        ("dear", "pending"),
    ]
    assert found("cars")["expanded"] == "(cars | automobile)"


def test_terms_searched_in_vain_are_suggested_first(suggesting: Suggest) -> None:
    assert found("lorry")["counts"]["passing"] == 0
    done, server = suggesting(("lorry", "cars", False))
    first = json.loads(server.requests[0].prompt.split("\n")[0])
    assert first == {"i": 1, "term": "lorry", "asked": True}
    assert done.json["pending"][0]["terms"] == ["lorry", "Cars"]


def test_without_a_model_that_is_said() -> None:
    assert forked("glossary", "suggest").complaint(2) == (
        "No language model is set up. Set OPENROUTER_API_KEY, or llm.base_url."
    )
