"""`presagio demo` and `chat`: the bundled corpus answers, without a key, a server or a question."""

import re
from pathlib import Path

import orjson
import pytest

from bench.measures import read_headlines, read_qrels
from bot.cli.demo import RecordedJudge, bundled_file
from engine.prophecy.prophecy import NO_MODEL
from engine.search import Headline
from tests.bot.command_line import ROOT, presagio
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.engine.prophecy.test_prophecy import CORPUS, NOW

# The headlines of the demo are the first of those whose best answers are known.
_LINES = (ROOT / "examples" / "acceptance.jsonl").read_bytes().splitlines()
EXPECTED = {row["headline"]: row["top3_any"] for row in map(orjson.loads, _LINES)}
HEADLINES = [
    orjson.loads(line)["headline"]
    for line in (ROOT / "examples" / "headlines.jsonl").read_bytes().splitlines()
]


def answers(out: str) -> list[str]:
    """Return the id of the first tweet of each answer."""
    return re.findall(
        r"^1\. .*\n(?:   .*\n)+?   https://example\.org/CapNereoPike/(\d+)$", out, re.M
    )


def assert_answered(out: str) -> None:
    *first, _, last = answers(out)
    assert len(HEADLINES) == 5
    for headline, found in zip(HEADLINES, [*first, last], strict=True):
        assert " ".join(headline.split()) in " ".join(out.split())
        assert found in EXPECTED[headline]


def test_demo_answers_the_same_headlines_on_every_run(invoke: Invoke, database: str) -> None:
    first = invoke("demo")
    assert first.code == 0
    assert_answered(first.out)
    assert "demo: 416 read, 416 inserted" in first.err
    second = invoke("demo")
    assert second.out == first.out
    assert "demo: 416 read, 0 inserted, 0 updated, 416 unchanged" in second.err
    [corpus] = invoke("corpora", "list", "--json").json_lines
    assert corpus["author"] == "CapNereoPike"


def test_every_answer_is_one_that_people_judged_to_be_good(
    invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A model that is set up is not asked: nothing answers there.
    monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", "http://127.0.0.1:1/v1")
    out = invoke("demo").out
    assert out.count("Judged by people, for this demo.") == len(HEADLINES)
    assert out.count("Not judged: no language model is set up.") == 1
    qids = {one.headline: one.qid for one in read_headlines(bundled_file("judged.headlines.jsonl"))}
    labels = read_qrels(bundled_file("judged.qrels.tsv"))
    *first, _, last = re.split(r"^The headline is of .*$", out, flags=re.M)[1:]
    for headline, said in zip(HEADLINES, [*first, last], strict=True):
        found = re.findall(r"/CapNereoPike/(\d+)$", said, re.M)
        judged = [labels[qids[headline]][one] for one in found]
        assert len(judged) in (2, 3)
        assert min(judged) >= 4
        assert judged[0] >= 5
        assert " · foretold" in said
        assert " · close" not in said


async def test_recorded_judge_does_not_judge_an_unknown_headline() -> None:
    judge = RecordedJudge({"Coffee is cheap": {}}, {})
    headline = Headline(text="Coffee is dear", original="Coffee is dear")
    verdict = await judge.judge(CORPUS, headline, [], now=NOW)
    assert (verdict.scores, verdict.notice) == ({}, NO_MODEL)


def test_demo_runs_in_an_empty_home(server_folder: Path) -> None:
    home = server_folder / "h"
    home.mkdir()
    # Where root runs it, its data would lie in a folder of the system's.
    environment = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    done = presagio("demo", env=environment, cwd=home)
    assert done.code == 0, done.err
    assert_answered(done.out)
    assert "Creating the database (only the first time)." in done.err
    assert "No UTF-8 locale" not in done.err


class TestChat:
    def test_converses_until_the_input_ends(self, database: str) -> None:
        said = f"{HEADLINES[0]}\n/why 1\n/more\n/help\n/nonsense\n\n{HEADLINES[2]}".encode()
        done = forked("demo", "--chat", stdin=said)
        assert done.code == 0
        assert [
            found in EXPECTED[HEADLINES[i]]
            for i, found in zip((0, 2), answers(done.out), strict=True)
        ]
        assert "Words in common: " in done.out
        assert re.search(r"^4\. ", done.out, re.M)
        assert "The last answer: /why" in done.out
        assert "I know no command /nonsense." in done.out
        assert "\x1b" not in done.out

    def test_takes_the_only_corpus(self, demo: str) -> None:
        done = forked("chat", stdin=HEADLINES[0].encode())
        assert answers(done.out)[0] in EXPECTED[HEADLINES[0]]

    def test_chat_continues_after_an_error(self, database: str) -> None:
        done = forked("chat", stdin=b"Coffee prices hit a record\n/help\n")
        assert done.code == 0
        assert "There is no corpus yet." in done.out
        assert "The last answer: /why" in done.out
