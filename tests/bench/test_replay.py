"""A recorded run, repeated without anything that it was made of."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench.replay import RunRecord, read_record, record_composer, replay_composer, save_record
from engine.compose.composition import Composition
from engine.errors import InputError
from engine.web.results import WebPage
from tests.bench.conftest import RunBench
from tests.engine.compose.bench import NOW, Bench, MemoryWeb, Preferring
from tests.fakes.model import ModelServer, failure
from tests.fakes.writer import Writer, drafting

REQUEST = "Write a tweet about coffee"
PAGES = (
    WebPage(url="https://news.example/tea", title="Tea", text="Tea is dear in 2024, they say."),
    WebPage(
        url="https://news.example/frost",
        title="Frost",
        text="Frost came to Brazil in 2021.",
        query="frost in Brazil",
    ),
)


def outcome(composition: Composition) -> Composition:
    """The composition without what a clock measured and a bill said."""
    steps = tuple(replace(step, elapsed_ms=0.0) for step in composition.steps)
    return replace(composition, steps=steps)


@pytest.mark.parametrize("fault", [None, "evidence", "check", "gaps", "rerank"])
async def test_a_replay_gives_the_same(tmp_path: Path, fault: str | None) -> None:
    async with ModelServer() as server:
        bench = Bench(server)
        bench.web = MemoryWeb(pages=PAGES)
        bench.reranker = Preferring("Tea", fails=fault == "rerank")
        if fault:
            bench.writer.says[fault] = failure(401)
        composer = bench.composer()
        record = RunRecord(request=bench.request(thread=True), now=NOW, settings=composer.settings)
        made = await record_composer(composer, record).compose(record.request, now=NOW)
        await bench.close()
    save_record(record, tmp_path / "run.json")
    read = read_record(tmp_path / "run.json")
    again = await replay_composer(read, clock=time.monotonic).compose(read.request, now=NOW)
    assert outcome(again) == outcome(made)
    assert bool(made.variants) is (fault != "evidence")


async def test_a_prompt_that_has_changed_finds_no_answer() -> None:
    async with ModelServer() as server:
        bench = Bench(server)
        composer = bench.composer()
        record = RunRecord(request=bench.request(), now=NOW, settings=composer.settings)
        await record_composer(composer, record).compose(record.request, now=NOW)
        await bench.close()
    other = replace(record.request, prompt="Something else")
    again = await replay_composer(record, clock=time.monotonic).compose(other, now=NOW)
    assert again.variants == () and "holds no answer to this prompt" in str(again.notice)


@pytest.mark.parametrize("content", [None, "{}", "not JSON"])
def test_an_invalid_record_is_rejected(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError):
        read_record(tmp_path / "run.json")


async def test_a_run_is_repeated_with_its_failure(
    run_bench: RunBench, model: Writer, demo: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "run.json")
    model.says["evidence"] = failure(400, "no such parameter")
    assert (await run_bench("replay", REQUEST, "--record", file)).code == 1
    again = await run_bench("replay", "--replay", file)
    assert again.code == 1 and "no such parameter" in again.err


async def test_a_run_is_recorded_and_repeated(
    run_bench: RunBench,
    model: Writer,
    demo: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = str(tmp_path / "run.json")
    Path(file).touch(mode=0o644)  # an earlier version made it
    model.says["draft"] = drafting("Coffee is the best drink [1].")
    made = (await run_bench("replay", REQUEST, "--record", file, "--json")).json
    assert json.loads(Path(file).read_text())["request"]["prompt"] == REQUEST
    assert Path(file).stat().st_mode & 0o777 == 0o600  # it quotes what may be private
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/x")
    again = (await run_bench("replay", "--replay", file, "--json")).json
    for one in (made, again):
        for name in ("elapsed_ms", "steps"):
            one.pop(name)
    assert again == made
    assert made["removed"] == [
        {"text": "Coffee is the best drink. [1]", "why": "No cited source says “best”."}
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Give a prompt and --record FILE, or --replay FILE."),
        (("x",), "Give a prompt and --record FILE, or --replay FILE."),
        (("x", "--replay", "y"), "Give a prompt and --record FILE, or --replay FILE."),
        (("--replay", "absent.json"), "absent.json cannot be read"),
    ],
)
async def test_conflicting_arguments_are_refused_with_a_message(
    run_bench: RunBench, arguments: tuple[str, ...], said: str
) -> None:
    done = await run_bench("replay", *arguments)
    assert (done.code, done.out) == (1, "") and said in done.err
    assert done.err.count("\n") == 1
