"""`presagio corpora`: list, show, set, describe, drop."""

import os
import pty
from pathlib import Path

import pytest

from tests.bot.command_line import Done, ask, finish, start, write_tweets
from tests.bot.conftest import Invoke
from tests.database import execute, wait_for


@pytest.fixture
def mine(invoke: Invoke, database: str, tmp_path: Path) -> str:
    """A database with the corpus "mine" of five tweets; its URL."""
    file = str(write_tweets(tmp_path / "a.jsonl", range(5)))
    command = ("ingest", file, "--corpus", "mine", "--author", "me", "--language", "spanish")
    assert invoke(*command).code == 0
    return database


SHORT = {"name": "mine", "kind": "tweets", "language": "spanish", "documents": 5, "author": "me",
         "outdated": False, "vectors": None}  # fmt: skip


class TestList:
    def test_prints_one_row_a_corpus(self, invoke: Invoke, mine: str, tmp_path: Path) -> None:
        invoke("ingest", str(tmp_path / "a.jsonl"), "--corpus", "also")
        assert invoke("corpora", "list").out.splitlines() == [
            "name  kind    language  documents  author  vectors",
            "also  tweets  english   5          -       -",
            "mine  tweets  spanish   5          me      -",
        ]
        rows = invoke("corpora", "list", "--json").json_lines
        assert [row["name"] for row in rows] == ["also", "mine"]
        assert rows[1] == SHORT

    def test_names_the_author_whom_all_texts_name(
        self, invoke: Invoke, database: str, tmp_path: Path
    ) -> None:
        table = tmp_path / "a.csv"
        table.write_text("id,text,created_at,author\n1,a,2019-05-23T02:54:59Z,ana\n")
        assert invoke("ingest", str(table), "--corpus", "hers").code == 0
        assert "author: ana" in invoke("corpora", "show", "hers").out.splitlines()

    def test_empty_list_is_reported_on_stderr(self, invoke: Invoke, database: str) -> None:
        assert invoke("corpora", "list") == Done(
            0, "", "There is no corpus yet. Load one with: presagio ingest FILE\n"
        )
        assert invoke("corpora", "list", "--json").out == ""


class TestShow:
    def test_show_prints_all_fields(self, invoke: Invoke, mine: str) -> None:
        shown = invoke("corpora", "show", "mine", "--json").json
        assert shown == SHORT | {
            "display_name": None,
            "avatar": False,
            "languages": ["spanish"],
            "average_length": shown["average_length"],
            "oldest": "2010-03-05T12:00:00+00:00",
            "newest": "2014-03-05T12:00:00+00:00",
            "url_template": None,
            "description": None,
        }
        assert shown["average_length"] == 6.0  # Spanish stops none of these English words
        lines = dict(
            line.split(": ", 1) for line in invoke("corpora", "show", "mine").out.splitlines()
        )
        assert lines.keys() == shown.keys()
        assert (lines["languages"], lines["author"]) == ("spanish", "me")
        assert (lines["description"], lines["avatar"]) == ("-", "no")

    def test_unknown_corpus_is_refused_with_the_known_names(
        self, invoke: Invoke, mine: str
    ) -> None:
        complaint = invoke("corpora", "show", "yours").complaint()
        assert complaint == "There is no corpus 'yours'. There are: mine."


class TestSet:
    def test_set_changes_only_the_given_fields(self, invoke: Invoke, mine: str) -> None:
        template = "https://example.org/{id}"
        changed = invoke("corpora", "set", "mine", "--url-template", template, "--json").json
        assert (changed["url_template"], changed["author"]) == (template, "me")
        changed = invoke("corpora", "set", "mine", "--author", "@you", "--json").json
        assert (changed["url_template"], changed["author"]) == (template, "you")


class TestDescribe:
    def test_describe_changes_only_the_description(self, invoke: Invoke, mine: str) -> None:
        said = "The mayor of a small port; blunt, fond of boats"
        described = invoke("corpora", "describe", "mine", "--description", said, "--json").json
        assert (described["description"], described["author"]) == (said, "me")
        assert f"description: {said}" in invoke("corpora", "show", "mine").out
        taken = invoke("corpora", "describe", "mine", "--description", "", "--json").json
        assert taken["description"] is None


class TestDrop:
    def test_removes_a_corpus_with_what_it_holds(self, invoke: Invoke, mine: str) -> None:
        assert invoke("corpora", "drop", "mine", "--yes").out == "Dropped mine with 5 documents.\n"
        assert ask(mine, "SELECT count(*) FROM document") == 0
        assert ask(mine, "SELECT count(*) FROM lexeme") == 0
        assert invoke("corpora", "drop", "mine", "--yes").code == 1

    def test_drop_reports_the_corpus_and_documents_as_json(self, invoke: Invoke, mine: str) -> None:
        dropped = invoke("corpora", "drop", "mine", "--yes", "--json").json
        assert dropped == {"dropped": "mine", "documents": 5}

    @pytest.mark.parametrize(
        ("said", "code", "left"), [(b"y\n", 0, 0), (b"\n", 1, 1), (b"\x04", 1, 1)]
    )
    def test_on_a_terminal_asks_first(self, mine: str, said: bytes, code: int, left: int) -> None:
        ours, theirs = pty.openpty()
        process = start("corpora", "drop", "mine", stdin=theirs)
        os.close(theirs)
        os.write(ours, said)
        done = finish(process)
        os.close(ours)
        assert done.code == code
        assert done.out == ("" if left else "Dropped mine with 5 documents.\n")
        remark = "presagio: Nothing was changed.\n" if left else ""
        assert done.err == f"Remove 'mine' and all it holds? [y/N] {remark}"
        assert ask(mine, "SELECT count(*) FROM corpus") == left


class TestPlace:
    @pytest.mark.parametrize(
        ("place", "said"),
        [
            ("spread", "Below ten million texts that would answer no sooner"),
            ("spread", "Use --on worker, which moves it as a whole"),
            ("moon", "'moon' is neither 'worker' nor 'here'"),
        ],
    )
    def test_unsupported_place_is_refused_with_a_reason(
        self, invoke: Invoke, place: str, said: str
    ) -> None:
        done = invoke("corpora", "place", "mine", "--on", place)
        assert (done.code, done.out) == (2, "")
        assert said in done.err

    def test_help_lists_only_supported_places(self, invoke: Invoke) -> None:
        shown = invoke("corpora", "place", "--help").out
        assert "--on [worker|here]" in shown
        assert "spread" not in shown

    def test_place_on_a_worker_fails_on_a_server_without_workers(
        self, invoke: Invoke, mine: str
    ) -> None:
        done = invoke("corpora", "place", "mine", "--on", "worker")
        assert done.code != 0
        assert "it has no workers" in done.err
        assert invoke("corpora", "place", "mine", "--on", "here", "--json").json == {
            "corpus": "mine", "worker": None, "documents": 5,
        }  # fmt: skip


class TestReindex:
    @pytest.fixture(autouse=True)
    def _old(self, mine: str) -> None:
        wait_for(execute(mine, "UPDATE corpus SET index_version = 1"))

    def test_reindex_updates_texts_indexed_by_an_older_version(self, invoke: Invoke) -> None:
        done = invoke("corpora", "reindex", "mine")
        assert done == Done(0, "mine: 5 texts indexed anew, 0 changed.\n", "")
        assert invoke("corpora", "reindex").out == "mine is up to date.\n"
        assert invoke("corpora", "reindex", "--json").json == {
            "corpus": "mine", "documents": 0, "changed": 0, "postings": 0,
        }  # fmt: skip

    def test_stores_postings_that_are_missing(
        self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("db.corpus.corpora.LONG", 1)
        assert invoke("corpora", "reindex").out == (
            "mine: 5 texts indexed anew, 0 changed.\nmine: postings stored for 5 texts.\n"
        )
        assert invoke("corpora", "reindex").out == "mine is up to date.\n"

    def test_outdated_corpus_is_announced_by_other_commands(
        self, invoke: Invoke, tmp_path: Path
    ) -> None:
        said = "presagio corpora reindex mine"
        assert said in invoke("corpora", "list").err
        assert invoke("corpora", "list", "--json").json["outdated"] is True
        assert said in invoke("ingest", str(tmp_path / "a.jsonl"), "--corpus", "mine").err
        rows = {row["check"]: row for row in invoke("doctor", "--json").json_lines}
        assert said in rows["index of mine"]["fix"]
        notice = "Corpus mine is not indexed anew yet"
        found = invoke("search", "an unheard-of headline", "--no-llm", "--json").json
        assert found["notice"].count(notice) == 1
        assert notice in invoke("find", "word", "--json").json["notice"]
        invoke("corpora", "reindex")
        assert notice not in (invoke("find", "word", "--json").json["notice"] or "")
