"""`presagio ingest`: what goes in, what is counted, what is refused."""

import gzip
import re
from pathlib import Path

import orjson
import pytest

from engine.ingest.detect import READERS
from tests.bot.command_line import Terminal, ask, write_tweets
from tests.bot.conftest import Invoke
from tests.bot.forking import forked

COUNTS = ("read", "inserted", "updated", "unchanged", "rejected")
TWEET = {
    "id_str": "5",
    "full_text": "A ship &amp; a canal",
    "created_at": "Wed Mar 13 18:22:01 +0000 2013",
}
EXPORT = b"window.YTD.tweets.part0 = " + orjson.dumps([{"tweet": TWEET}])


def counts(*numbers: int, corpus: str = "tweets") -> dict[str, object]:
    return {"corpus": corpus, **dict(zip(COUNTS, numbers, strict=True))}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_tweets(tmp_path / "a.jsonl", range(5))


@pytest.mark.usefixtures("database")
class TestCounts:
    def test_a_second_run_changes_nothing_and_says_so(
        self, invoke: Invoke, database: str, file: Path
    ) -> None:
        first = invoke("ingest", str(file), "--json")
        assert first.json == counts(5, 5, 0, 0, 0)
        assert list(first.json) == ["corpus", *COUNTS]
        assert invoke("ingest", str(file), "--json").json == counts(5, 0, 0, 5, 0)
        assert ask(database, "SELECT documents FROM corpus") == 5

    def test_counts_are_printed_in_words_on_stdout(self, invoke: Invoke, file: Path) -> None:
        done = invoke("ingest", str(file), "--author", "ana")
        assert done.out == ("tweets: 5 read, 5 inserted, 0 updated, 0 unchanged, 0 rejected\n")
        assert done.err == ""

    def test_a_long_load_says_how_fast_it_was(
        self, invoke: Invoke, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.cli.ingest._LONG", 0.0)
        done = invoke("ingest", str(file), "--author", "ana")
        assert re.fullmatch(r"It took \d+ s: \d+ records a second\.\n", done.err)
        assert done.out.startswith("tweets: 5 read")


@pytest.mark.usefixtures("database")
class TestSources:
    @pytest.mark.parametrize("packed", [False, True])
    def test_standard_input_is_read_plain_or_gzipped(self, file: Path, packed: bool) -> None:
        content = file.read_bytes()
        done = forked("ingest", "-", "--json", stdin=gzip.compress(content) if packed else content)
        assert done.json == counts(5, 5, 0, 0, 0)

    def test_empty_standard_input_is_refused(self, database: str) -> None:
        assert forked("ingest", "-").complaint() == "standard input is empty. Check the path."
        assert ask(database, "SELECT count(*) FROM corpus") == 0

    def test_one_unusable_file_stops_the_whole_ingest(
        self, invoke: Invoke, database: str, file: Path
    ) -> None:
        assert "none does not exist" in invoke("ingest", str(file), "none").complaint()
        assert ask(database, "SELECT count(*) FROM corpus") == 0

    @pytest.mark.slow
    def test_records_before_the_damage_are_stored(
        self, invoke: Invoke, database: str, tmp_path: Path
    ) -> None:
        whole = gzip.compress(write_tweets(tmp_path / "a", range(20_000)).read_bytes())
        (tmp_path / "cut.gz").write_bytes(whole[: len(whole) * 3 // 4])
        done = invoke("ingest", str(tmp_path / "cut.gz"))
        assert done.complaint().endswith(
            "cut.gz is damaged or cut off. Get or make the file again."
        )
        stored = ask(database, "SELECT documents FROM corpus")
        assert stored % 10_000 > 100
        assert f"Before that: tweets: {stored:,} read, {stored:,} inserted" in done.err
        (tmp_path / "cut.gz").write_bytes(whole)
        again = invoke("ingest", str(tmp_path / "cut.gz"), "--json")
        assert again.json == counts(20_000, 20_000 - stored, 0, stored, 0)
        assert_exact(invoke)

    @pytest.mark.slow
    def test_ingest_stops_at_the_size_limit_and_the_next_run_continues(
        self, invoke: Invoke, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PRESAGIO_INGEST__TOTAL_MEGABYTES", "1")
        file = str(write_tweets(tmp_path / "a.jsonl", range(25_000)))
        assert 2_000_000 < Path(file).stat().st_size < 3_000_000
        first = invoke("ingest", file)
        assert f"Reading stopped before the end of {file}: " in first.complaint()
        stored = ask(database, "SELECT documents FROM corpus")
        assert 0 < stored < 25_000
        assert f"Before that: tweets: {stored:,} read, {stored:,} inserted" in first.err
        for _ in range(2):
            again = invoke("ingest", file, "--json")
        assert again.json["read"] == 25_000
        assert ask(database, "SELECT documents FROM corpus") == 25_000
        assert_exact(invoke)


def assert_exact(invoke: Invoke) -> None:
    """The kept statistics are what a recount gives."""
    checks = {check["check"]: check for check in invoke("doctor", "--json").json_lines}
    [corpus] = [check for name, check in checks.items() if name.startswith("corpus ")]
    assert corpus["ok"] is True, corpus
    assert "statistics exact" in corpus["detail"]


TABLE = (
    "Fecha;Texto;Me gusta\r\n23/05/2019 14:05;«Pan» y café;1.234\r\n02/06/2019 9:00;Barcos;3\r\n"
)


SPANISH = (
    "La gente de este país no quiere más impuestos.",
    "Hoy hablé con los vecinos sobre el puente y la ruta.",
    "No hay que esperar más para bajar el precio del café.",
)


@pytest.mark.usefixtures("database")
class TestLanguages:
    @pytest.fixture
    def posts(self, tmp_path: Path) -> str:
        rows = [f"{n},2019-05-23T10:00:00Z,{text}" for n, text in enumerate(SPANISH)]
        file = tmp_path / "posts.csv"
        file.write_text("\n".join(["id,created_at,text", *rows]))
        return str(file)

    def test_texts_of_another_language_than_their_corpus_are_told(
        self, invoke: Invoke, posts: str, file: Path
    ) -> None:
        said = invoke("ingest", posts, "--author", "ana").err
        assert "look Spanish, but tweets reads them as English." in said
        assert "presagio corpora drop tweets --yes" in said
        assert "--language spanish\n" in said
        invoke("corpora", "drop", "tweets", "--yes")
        assert invoke("ingest", posts, "--author", "ana", "--language", "spanish").err == ""
        assert invoke("ingest", posts).err == ""
        invoke("ingest", str(file), "--corpus", "english", "--author", "ana")
        more = Path(posts).read_text().replace("\n0,", "\n7,")
        Path(posts).write_text(more)
        known = invoke("ingest", posts, "--corpus", "english").err
        assert "Give them a corpus of their own: --corpus NAME --language spanish" in known

    def test_explicit_language_suppresses_the_language_hint(
        self, invoke: Invoke, posts: str
    ) -> None:
        assert invoke("ingest", posts, "--author", "ana", "--language", "english").err == ""
        assert "look" not in invoke("ingest", posts, "--corpus", "x", "--language", "simple").err

    def test_table_language_is_reported_before_storing(self, invoke: Invoke, posts: str) -> None:
        Path(posts).write_text(Path(posts).read_text().replace("text", "texto"))
        hint = "Its texts look Spanish. A new corpus reads them as English, unless you tell"
        assert hint in invoke("ingest", posts).err
        assert hint not in invoke("ingest", posts, "--language", "spanish").err


@pytest.mark.usefixtures("database")
class TestTables:
    @pytest.fixture
    def table(self, tmp_path: Path) -> str:
        (tmp_path / "excel.csv").write_bytes(TABLE.encode("cp1252"))
        return str(tmp_path / "excel.csv")

    def test_what_is_guessed_is_shown_and_needs_consent(
        self, invoke: Invoke, database: str, table: str
    ) -> None:
        done = invoke("ingest", table)
        assert done.complaint(2).endswith("nobody can be asked here. Pass --yes.")
        for said in ("semicolons", "Windows-1252", "Me gusta", "day before month", "UTC", "Barcos"):
            assert said in done.err
        assert ask(database, "SELECT count(*) FROM corpus") == 0

    def test_explicit_columns_and_timezone_need_no_consent(
        self, invoke: Invoke, tmp_path: Path
    ) -> None:
        (tmp_path / "a.csv").write_text("n,when,what\n1,2019-05-23 10:00,Bread\n")
        columns = "id=n,created_at=when,text=what"
        said = ("ingest", str(tmp_path / "a.csv"), "--json", "--columns", columns)
        assert invoke(*said, "--timezone", "UTC").json == counts(1, 1, 0, 0, 0)
        assert invoke(*said).code == 2

    @pytest.mark.parametrize(
        ("option", "value", "complaint"),
        [
            ("--timezone", "Nowhere", "There is no time zone 'Nowhere'."),
            ("--columns", "text", "--columns 'text' names no column."),
            ("--columns", "text=Words", "has no column 'Words'. Its columns: Fecha, Texto"),
        ],
    )
    def test_options_that_fit_nothing_are_refused(
        self, invoke: Invoke, table: str, option: str, value: str, complaint: str
    ) -> None:
        assert complaint in invoke("ingest", table, option, value).complaint(2)

    @pytest.mark.parametrize(("answer", "stored"), [("y", 2), ("", None)])
    def test_terminal_asks_for_the_timezone_and_consent(
        self,
        invoke: Invoke,
        database: str,
        table: str,
        monkeypatch: pytest.MonkeyPatch,
        answer: str,
        stored: int | None,
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal(f"Nowhere\nMadrid\n{answer}\n"))
        done = invoke("ingest", table, "--json")
        assert "There is no time zone 'Nowhere'." in done.err
        assert ask(database, "SELECT documents FROM corpus") == stored
        if stored:
            first = "SELECT min(created_at)::text FROM document"
            assert ask(database, first) == "2019-05-23 12:05:00+00"


@pytest.mark.usefixtures("database")
class TestRejects:
    def test_are_reported_with_file_line_and_reason_and_the_rest_goes_in(
        self, invoke: Invoke, tmp_path: Path
    ) -> None:
        good = write_tweets(tmp_path / "a", range(2)).read_bytes().splitlines()
        bad = [
            b'{"id": "9", "text": "no zone", "created_at": "2012-03-04T10:00:00"}',
            b'{"id": 1e300, "text": "no id", "created_at": "2012-03-04T10:00:00Z"}',
            b"[1, 2]",
            b"{broken",
            b'{"id": "8", "text": "bad byte \xff", "created_at": "2012-03-04T10:00:00Z"}',
            b'{"id": "7", "text": " ", "created_at": "2012-03-04T10:00:00Z"}',
            b'{"id": "6", "created_at": "2012-03-04T10:00:00Z"}',
        ]
        file = tmp_path / "mixed.jsonl"
        file.write_bytes(b"\n".join([good[0], *bad, b"", good[1]]))
        done = invoke("ingest", str(file), "--json", "--author", "ana")
        assert done.json == counts(9, 2, 0, 0, 7)
        report = Path(ask_report(done.err))
        rejects = [orjson.loads(line) for line in report.read_bytes().splitlines()]
        assert {reject["line"] for reject in rejects} == set(range(2, 9))
        assert {reject["file"] for reject in rejects} == {str(file)}
        for reject in rejects:
            assert f"{file}:{reject['line']}: {reject['reason']}\n" in done.err
        reasons = {reject["line"]: reject["reason"] for reject in rejects}
        assert "zone" in reasons[2]
        assert reasons[4] == "not an object"
        assert reasons[6] == "invalid UTF-8"

    def test_other_texts_of_the_same_id_are_told(self, invoke: Invoke, tmp_path: Path) -> None:
        good = write_tweets(tmp_path / "a", range(1)).read_bytes()
        (tmp_path / "a").write_bytes(good + good)
        assert "gave way" not in invoke("ingest", str(tmp_path / "a")).err
        (tmp_path / "a").write_bytes(good + good.replace(b"2010", b"2011"))
        told = invoke("ingest", str(tmp_path / "a"), "--corpus", "b").err
        assert "1 record gave way to a later one of the same id." in told

    def test_only_the_first_rejects_are_printed(self, invoke: Invoke, tmp_path: Path) -> None:
        good = write_tweets(tmp_path / "a", range(1)).read_bytes()
        (tmp_path / "a").write_bytes(good + b"x\n" * 500)
        done = invoke("ingest", str(tmp_path / "a"), "--author", "ana")
        assert len(done.err.splitlines()) == 11
        assert "500 records rejected; all of them: " in done.err
        assert len(Path(ask_report(done.err)).read_bytes().splitlines()) == 500

    def test_the_report_of_an_earlier_run_does_not_stay(
        self, invoke: Invoke, tmp_path: Path, file: Path
    ) -> None:
        content = file.read_bytes()
        file.write_bytes(content + b"x\n")
        report = Path(ask_report(invoke("ingest", str(file), "--author", "ana").err))
        assert list(report.parent.iterdir()) == [report]
        file.write_bytes(content)
        assert invoke("ingest", str(file)).err == ""
        assert list(report.parent.iterdir()) == []

    def test_file_with_only_rejects_fails_and_creates_no_corpus(
        self, invoke: Invoke, database: str, tmp_path: Path, file: Path
    ) -> None:
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(b'{"id": "1", "text": "x", "created_at": "never"}\n' * 2)
        complaint = invoke("ingest", str(bad), "--language", "spanish").complaint()
        assert complaint.startswith("Nothing could be stored: 2 records read.")
        assert ask(database, "SELECT count(*) FROM corpus") == 0
        bad.write_bytes(b"date,text\n")
        assert "Export it again" in invoke("ingest", str(bad), "--yes").complaint()
        bad.write_bytes(b'{"id": "1", "text": "x", "created_at": "never"}\n' * 2)
        invoke("ingest", str(file))
        assert invoke("ingest", str(bad)).code == 1
        assert ask(database, "SELECT documents FROM corpus") == 5

    def test_unwritable_data_folder_fails_only_if_there_are_rejects(
        self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, file: Path
    ) -> None:
        monkeypatch.setenv("PRESAGIO_DATA_DIR", "/dev/null/folder")
        assert invoke("ingest", str(file), "--json").json == counts(5, 5, 0, 0, 0)
        file.write_bytes(file.read_bytes() + b"x\n")
        complaint = invoke("ingest", str(file)).complaint()
        assert complaint.startswith("The report /dev/null/folder/rejects/tweets.jsonl cannot be")


def ask_report(said: str) -> str:
    return said.rpartition("all of them: ")[2].strip()


class TestChats:
    def test_a_chat_that_was_stored_with_older_ids_does_not_double(
        self, invoke: Invoke, database: str, tmp_path: Path
    ) -> None:
        lines = ("Ana: the dam", "Bob: no", "Bob: no", "Bob: This message was deleted")
        chat = "".join(f"12/03/2023, 20:1{n // 2} - {line}\n" for n, line in enumerate(lines))
        for name in ("WhatsApp Chat with Bob.txt", "an other name.txt"):
            (tmp_path / name).write_text(chat, encoding="utf-8")
        invoke("ingest", str(tmp_path / "WhatsApp Chat with Bob.txt"))
        assert ask(database, "SELECT count(*) FROM document") == 3
        ask(database, "UPDATE document SET external_id = md5(external_id) RETURNING 1")
        again = invoke("ingest", str(tmp_path / "an other name.txt"), "--json").json
        assert (again["inserted"], again["updated"]) == (0, 3)
        assert ask(database, "SELECT count(*) FROM document") == 3
        assert ask(database, "SELECT bool_and(external_id LIKE 'wa-%') FROM document") is True
        assert (
            invoke("ingest", str(tmp_path / "an other name.txt"), "--json").json["unchanged"] == 3
        )

    def test_several_exports_go_where_they_belong(
        self, invoke: Invoke, database: str, tmp_path: Path
    ) -> None:
        folder = tmp_path / "mine"
        (folder / "x" / "data").mkdir(parents=True)
        (folder / "x" / "data" / "tweets.js").write_bytes(EXPORT)
        likes = b"window.YTD.like.part0 = " + orjson.dumps([{"like": {}}] * 3)
        (folder / "x" / "data" / "like.js").write_bytes(likes)
        chat = "12/03/2023, 20:11 - Ana: hi\n"
        (folder / "Chat with Bob.txt").write_text(chat, encoding="utf-8")
        done = invoke("ingest", str(folder))
        assert done.code == 0
        assert "Also there, not read: x/data/like.js (3)" in done.err
        found = "SELECT string_agg(kind || ' ' || documents, ', ' ORDER BY kind) FROM corpus"
        assert ask(database, found) == "personal 1, tweets 1"
        assert invoke("ingest", str(folder), "--corpus", "all-of-it").code == 0
        kind = ask(database, "SELECT kind || ' ' || documents FROM corpus WHERE name = 'all-of-it'")
        assert kind == "personal 2"


@pytest.mark.usefixtures("database")
class TestOptions:
    def test_author_option_fills_records_without_an_author(
        self, invoke: Invoke, database: str, tmp_path: Path, file: Path
    ) -> None:
        own = {**orjson.loads(file.read_bytes().splitlines()[0]), "id": "99", "author": "other"}
        file.write_bytes(file.read_bytes() + orjson.dumps(own))
        invoke("ingest", str(file), "--author", "@CapNereoPike")
        authors = ask(database, "SELECT array_agg(DISTINCT author ORDER BY author) FROM document")
        assert authors == ["CapNereoPike", "other"]
        assert ask(database, "SELECT author FROM corpus") == "CapNereoPike"

    def test_the_author_of_a_corpus_may_come_later(
        self, invoke: Invoke, database: str, file: Path
    ) -> None:
        invoke("ingest", str(file))
        assert invoke("ingest", str(file), "--author", "me", "--json").json == counts(5, 0, 5, 0, 0)
        assert ask(database, "SELECT author FROM corpus") == "me"

    def test_conflicting_kind_or_language_is_refused_for_an_existing_corpus(
        self, invoke: Invoke, database: str, file: Path
    ) -> None:
        command = ("ingest", str(file), "--corpus", "c")
        invoke(*command, "--kind", "social", "--language", "spanish")
        assert invoke(*command, "--json").json == counts(5, 0, 0, 5, 0, corpus="c")
        for conflict in (("--language", "english"), ("--kind", "tweets")):
            assert invoke(*command, *conflict).complaint() == (
                "Corpus 'c' already holds social in spanish."
                " Choose another --corpus name, or drop that one first."
            )
        assert ask(database, "SELECT url_template FROM corpus") is None

    def test_a_diary_in_the_plain_formats_gets_no_link(
        self, invoke: Invoke, tmp_path: Path
    ) -> None:
        noon, table = "2014-05-04T12:00:00Z", tmp_path / "diary.csv"
        table.write_text(f"id,text,created_at\n12,The ferry was late,{noon}\n")
        lines = [
            {"id": "13", "text": "The ferry sank", "created_at": noon},
            {"id": "14", "text": "A ferry", "created_at": noon, "url": "https://harbour.test/14"},
        ]
        (tmp_path / "diary.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
        invoke("ingest", str(table), str(tmp_path / "diary.jsonl"))
        found = invoke("search", "Ferry sinks, was late", "--no-llm", "--near", "--json").json
        urls = {one["id"]: one["url"] for one in (*found["hits"], *found["near"])}
        assert urls == {"12": None, "13": None, "14": "https://harbour.test/14"}
        assert "x.com" not in invoke("find", "ferry").out
        assert '"platform": "x"' not in invoke("find", "ferry", "--json").out

    def test_a_post_on_x_gets_its_link_from_whatever_format_knows_that_it_is_one(
        self, invoke: Invoke, tmp_path: Path
    ) -> None:
        (tmp_path / "tweets.js").write_bytes(EXPORT)
        plain = {"text": "A ship sank", "created_at": "2015-11-10T14:59:27Z", "author": "ana"}
        named = plain | {"id": "7", "text": "No ship here", "platform": "Twitter"}
        lines = [plain | {"id": "664095025394614272", "is_retweet": False}, named]
        (tmp_path / "a.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
        invoke("ingest", str(tmp_path / "tweets.js"), str(tmp_path / "a.jsonl"))
        found = invoke("find", "ship", "--json").json
        assert {hit["id"]: hit["url"] for hit in found["hits"]} == {
            "5": "https://x.com/i/status/5",
            "7": "https://x.com/ana/status/7",
            "664095025394614272": "https://x.com/ana/status/664095025394614272",
        }

    def test_the_configured_corpus_is_filled(
        self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, file: Path
    ) -> None:
        monkeypatch.setenv("PRESAGIO_SEARCH__CORPUS", "mine")
        assert invoke("ingest", str(file), "--json").json["corpus"] == "mine"

    def test_format_option_overrides_detection(self, invoke: Invoke, file: Path) -> None:
        assert invoke("ingest", str(file), "--format", "jsonl").code == 0
        complaint = invoke("ingest", str(file), "--format", "trump-archive-csv").complaint()
        assert "does not begin with the columns of the archive" in complaint

    # Any text is Markdown, and a document. Each of the others has a process of its own.
    @pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=[] if name in ("jsonl", "slack") else pytest.mark.slow)
            for name in READERS
            if name not in ("markdown", "documents")
        ],
    )
    def test_a_wrong_format_that_is_insisted_on_is_told(
        self, invoke: Invoke, tmp_path: Path, name: str
    ) -> None:
        file = tmp_path / "noise"
        for noise in (
            b"\xee\r\x93\0",
            b"[",
            b'{"a": 1}',
            b'[{"tweet": 5}, 7, {"user": []}]',
            b"a,b",
        ):
            file.write_bytes(noise)
            assert invoke("ingest", str(file), "--format", name).complaint()


def test_interrupted_thread_stitching_is_completed_by_the_next_run(
    invoke: Invoke, database: str, tmp_path: Path
) -> None:
    root = {"id": "1", "text": "The lighthouse keeper sleeps.", "author": "a"}
    reply = {"id": "2", "text": "So does the bishop.", "author": "a", "in_reply_to": "1"}
    lines = [orjson.dumps({**r, "created_at": "2012-03-04T10:00:00Z"}) for r in (root, reply)]
    (tmp_path / "a").write_bytes(b"\n".join(lines))
    invoke("ingest", str(tmp_path / "a"))

    def found() -> list[str]:
        answer = invoke("search", "A lighthouse keeper falls asleep", "--json").json
        return [hit["id"] for hit in answer["hits"] if "joined" in hit["flags"]]

    assert found() == ["1"]
    # As if an earlier run had been killed after its last batch.
    undo = "UPDATE document SET context = NULL, context_search_text = NULL, flags = 0"
    ask(database, f"WITH undone AS ({undo} WHERE external_id = '1' RETURNING 1) SELECT 1")
    assert found() == []
    assert invoke("ingest", str(tmp_path / "a"), "--json").json == counts(2, 0, 0, 2, 0)
    assert found() == ["1"]


def test_a_description_is_kept_until_another_one_is_given(
    invoke: Invoke, database: str, file: Path
) -> None:
    def describe_documents(*options: str) -> object:
        assert invoke("ingest", str(file), *options).code == 0
        return ask(database, "SELECT description FROM corpus")

    assert describe_documents("--description", "A mayor") == "A mayor"
    assert describe_documents() == "A mayor"
    assert describe_documents("--description", "A captain") == "A captain"
