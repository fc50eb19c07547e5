"""`presagio find`: its JSON as a contract, the corpus it asks, queries that look like options."""

import csv
import io
from typing import Any

import pytest

from tests.bot.conftest import Invoke
from tests.bot.forking import forked

FIELDS = {
    "query", "canonical", "expanded", "filters", "corpus", "plan", "counts", "elapsed_ms", "notice",
    "hits",
}  # fmt: skip
HIT_FIELDS = {
    "rank", "id", "created_at", "text", "context", "title", "url", "author", "role", "platform",
    "thread", "attribution", "lang", "tags", "mentions", "engagement", "flags", "score", "matched",
}  # fmt: skip
COUNTS = {"corpus", "matching", "passing", "fetched", "distinct", "returned"}
MATCH = {"term", "alias_of", "lexemes", "count", "fields", "score"}


def find(invoke: Invoke, *arguments: str) -> Any:
    return invoke("find", *arguments, "--json").json


@pytest.mark.usefixtures("demo")
class TestJson:
    def test_json_has_the_documented_fields(self, invoke: Invoke) -> None:
        found = find(invoke, "  canal OR River  ship -CapNereo foo:bar OR x")
        assert set(found) >= FIELDS
        assert found["canonical"] == "canal OR River ship foo:bar OR x -CapNereo"
        found = find(invoke, "canal OR river ship before:2020")
        assert set(found["counts"]) >= COUNTS
        assert (found["plan"], found["corpus"]) == ("ranked", "demo")
        assert found["filters"] == ["before:2020"]
        assert found["hits"]
        for hit in found["hits"]:
            assert set(hit) >= HIT_FIELDS
            assert "ship" in [match["term"] for match in hit["matched"]]
            assert all(set(match) >= MATCH for match in hit["matched"])
            assert hit["score"] == pytest.approx(
                sum(match["score"] for match in hit["matched"]), abs=1e-3
            )

    def test_empty_result_has_plan_and_notice(self, invoke: Invoke) -> None:
        found = find(invoke, "qwxzzy")
        assert (found["hits"], found["plan"]) == ([], "ranked")
        assert found["notice"] == 'No text says "qwxzzy".'

    @pytest.mark.parametrize("query", ["", "&|!()", "\x07", "\udcff"])
    def test_query_without_a_word_succeeds_with_a_notice(self, invoke: Invoke, query: str) -> None:
        found = find(invoke, query)
        assert (found["plan"], found["notice"]) == (
            "nothing",
            "There is no word in this to look for.",
        )


class TestQueriesLikeOptions:
    @pytest.mark.parametrize("query", ["-clinton", "-nixon", "-vote", "-hat", "-h"])
    def test_letters_of_an_excluded_word_are_not_read_as_options(
        self, invoke: Invoke, demo: str, query: str
    ) -> None:
        dashes = ["--"] if len(query) == 2 else []
        found = invoke("find", "-n", "1", "-c", "demo", "--json", *dashes, query).json
        assert (found["canonical"], found["corpus"]) == (query, "demo")
        assert len(found["hits"]) == 1

    @pytest.mark.parametrize("asked", ["--help", "-h"])
    def test_help_is_still_there(self, invoke: Invoke, asked: str) -> None:
        done = invoke("find", asked)
        assert done.code == 0
        assert "UTC" in done.out
        assert "Example: presagio find" in done.out


class TestCorpus:
    @pytest.mark.parametrize(
        ("query", "corpus", "notice"),
        [
            ("in:nowhere ship", "nowhere", "There is no corpus 'nowhere'. There are: demo."),
            ("-in:demo ship -c demo", "demo", "Corpus demo is left out by the query itself."),
            ("-in:demo ship", None, "There is no corpus yet."),
        ],
    )
    def test_a_corpus_that_the_query_leaves_none_of_gives_an_empty_answer(
        self, invoke: Invoke, demo: str, query: str, corpus: str | None, notice: str
    ) -> None:
        query, _, option = query.partition(" -c ")
        found = find(invoke, query, *(["-c", option] if option else []))
        assert (found["hits"], found["plan"]) == ([], "nothing")
        assert found["corpus"] == (corpus or found["corpus"])
        assert found["notice"].startswith(notice)

    def test_corpus_in_the_query_overrides_the_option(self, invoke: Invoke, demo: str) -> None:
        found = find(invoke, "in:demo in:other ship", "--corpus", "nowhere")
        assert found["corpus"] == "demo"
        assert found["notice"] == "One corpus is searched at a time; this is demo."


def test_text_output_shows_query_corpus_and_matched_terms(invoke: Invoke, demo: str) -> None:
    out = invoke("find", "ship canal", "--limit", "1").out
    assert "in demo: ship canal" in out
    assert "ship ×" in out


def test_csv_output_escapes_formulas(invoke: Invoke, demo: str) -> None:
    rows = list(csv.DictReader(invoke("find", "ship", "--csv").out.splitlines()))
    hits = invoke("find", "ship", "--json").json["hits"]
    assert [(row["rank"], row["id"]) for row in rows] == [(str(h["rank"]), h["id"]) for h in hits]
    mentions = csv.DictReader(io.StringIO(invoke("find", "is:reply", "--csv", "-n", "50").out))
    texts = [row["text"] for row in mentions]
    assert any(text.startswith("'@") for text in texts)
    assert not any(text.startswith(("=", "+", "-", "@")) for text in texts)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("search", "Container ship wedged across canal halts trade"), {"query", "rank", "text"}),
        (("corpora", "list"), {"name", "kind", "documents"}),
        (("posts", "--dry-run"), {"chat", "headline", "tweet"}),
    ],
)
def test_other_list_commands_support_csv(
    invoke: Invoke, demo: str, arguments: tuple[str, ...], names: set[str]
) -> None:
    rows = list(csv.reader(invoke(*arguments, "--csv").out.splitlines()))
    assert names <= set(rows[0])
    assert all(len(row) == len(rows[0]) for row in rows)
    assert bool(rows[1:]) is (arguments[0] != "posts")
    assert all("demo" in row for row in rows[1:]), "the corpus is named"


def test_as_a_process_with_a_query_that_begins_with_a_minus(demo: str) -> None:
    done = forked("find", "-hillary is:odd", "--limit", "1", env={"DATABASE_URL": demo})
    assert done.code == 0, done
    assert '"is:odd" is no filter' in done.out
