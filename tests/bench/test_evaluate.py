"""`python -m bench.evaluate` says what its figures are of."""

from pathlib import Path

import pytest

from tests.bench.conftest import RunBench
from tests.fakes.writer import Writer

WITHOUT_MODEL = "No language model is set up: these are the figures of the search alone."


@pytest.mark.parametrize(("options", "said"), [((), True), (("--no-llm",), False)])
async def test_without_a_model_the_figures_are_of_the_search_alone(
    run_bench: RunBench, demo: str, tmp_path: Path, options: tuple[str, ...], said: bool
) -> None:
    headlines, qrels, run = (tmp_path / name for name in ("headlines.jsonl", "qrels.tsv", "run"))
    headlines.write_text('{"qid": "h1", "headline": "Bees vanish from orchards"}\n')
    qrels.write_text("h1\t1\t0\n")
    given = ("--headlines", str(headlines), "--qrels", str(qrels), "--run-out", str(run))
    done = await run_bench("evaluate", "--corpus", "demo", *given, *options)
    assert done.code == 0, done
    assert "nDCG" in done.out
    assert (WITHOUT_MODEL in done.err) is said
    assert "Looking into" not in done.err  # progress is for terminals
    assert run.read_text().startswith('{"qid":"h1","ids":[')


async def test_compositions_report_traceability_support_and_citation_precision(
    run_bench: RunBench, model: Writer, demo: str, tmp_path: Path
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"prompt": "coffee", "id": "a"}\n{"prompt": "the ferry", "thread": true}\n')
    done = await run_bench("evaluate", "compose", "--cases", str(cases), "--json")
    assert done.code == 0, done.err
    got = done.json
    assert got["traceability"] == 1.0 and got["untraced"] == [] and got["statements"] > 6
    assert got["guard"]["precision"] == 1.0 and got["guard"]["sentences"] >= 80
    assert got["support"] == 1.0 and got["judged_sentences"] >= 2
    assert got["citation_precision"] == 1.0 and got["judged_citations"] >= 2
    assert [row["id"] for row in got["rows"]] == ["a", "2"]
    shown = (await run_bench("evaluate", "compose", "--cases", str(cases))).out
    assert "traceability: 1.000" in shown and "support: 1.000" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name --corpus, --headlines and --qrels."),
        (("compose", "--cases", "{cases}"), "line 1 is not a request"),
        (("compose", "--cases", "/no/such"), "/no/such cannot be read"),
        (("compose", "--cases", "{right}"), "No language model is set up"),
    ],
)
async def test_figures_need_files_and_a_model(
    run_bench: RunBench, demo: str, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    cases, right = tmp_path / "cases.jsonl", tmp_path / "right.jsonl"
    cases.write_text('{"id": 3}\n')
    right.write_text('{"prompt": "coffee"}\n')
    done = await run_bench(
        "evaluate", *(each.format(cases=cases, right=right) for each in arguments)
    )
    assert (done.code, done.out) == (1, "") and said in done.err
    assert done.err.count("\n") == 1
