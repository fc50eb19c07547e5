"""`presagio eval` says what its figures are of."""

from pathlib import Path

import pytest

from tests.bot.conftest import Invoke

WITHOUT_MODEL = "No language model is set up: these are the figures of the search alone."


@pytest.mark.parametrize(("options", "said"), [((), True), (("--no-llm",), False)])
def test_without_a_model_the_figures_are_of_the_search_alone(
    invoke: Invoke, demo: str, tmp_path: Path, options: tuple[str, ...], said: bool
) -> None:
    headlines, qrels = tmp_path / "headlines.jsonl", tmp_path / "qrels.tsv"
    headlines.write_text('{"qid": "h1", "headline": "Bees vanish from orchards"}\n')
    qrels.write_text("h1\t1\t0\n")
    given = ("--headlines", str(headlines), "--qrels", str(qrels))
    done = invoke("eval", "--corpus", "demo", *given, *options)
    assert done.code == 0, done
    assert "nDCG" in done.out
    assert (WITHOUT_MODEL in done.err) is said
