"""Files of every kind into corpora of their kind, as docs/importing.md tells."""

import inspect
import re
import shlex
import zipfile
from pathlib import Path

import orjson
import pytest

from bot.cli.ingest import format_names
from engine.ingest.detect import READERS
from engine.ingest.formats import jsonl
from engine.values import Kind
from tests.bot.command_line import ROOT, ask, write_chat, write_tweets
from tests.bot.conftest import Invoke
from tests.engine.ingest.formats import test_blog_feed, test_bluesky, test_mastodon, test_slack
from tests.engine.ingest.formats.test_markdown import ARTICLE
from tests.engine.ingest.formats.test_telegram import MESSAGE, chat
from tests.fakes.documents import epub, pdf, word

_PAGE = (ROOT / "docs" / "importing.md").read_text()
_FORMATS = [line for line in _PAGE.partition("\n## ")[0].splitlines() if line.startswith("| ")]
_EXPORTS = ROOT.parent / "shared" / "data" / "exports"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page names, in the working folder."""
    monkeypatch.chdir(tmp_path)
    for folder in ("mastodon", "telegram", "notes"):
        (tmp_path / folder).mkdir()
    outbox = test_mastodon.outbox(test_mastodon.created(), test_mastodon.BOOST)
    (tmp_path / "mastodon" / "outbox.json").write_bytes(outbox)
    repository = test_bluesky.car({f"{test_bluesky.POST}/1": test_bluesky.STORM})
    (tmp_path / "repo.car").write_bytes(repository)
    write_chat(tmp_path / "WhatsApp Chat with Bob.txt")
    other = MESSAGE | {"id": 6, "from": "Bob", "from_id": "user8"}
    (tmp_path / "telegram" / "result.json").write_bytes(orjson.dumps(chat(MESSAGE, other)))
    (tmp_path / "notes" / "storm.md").write_text(ARTICLE)
    (tmp_path / "blog.xml").write_text(test_blog_feed.RSS)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "harbour.pdf").write_bytes(pdf(["The harbour cost two million."]))
    (tmp_path / "book.epub").write_bytes(epub("A book about boats."))
    (tmp_path / "minutes.docx").write_bytes(word("The minutes of a meeting."))
    (tmp_path / "scan.pdf").write_bytes(pdf(["Read without its picture."]))
    tweet = {"id_str": "5", "full_text": "A ship", "created_at": "Wed Mar 13 18:22:01 +0000 2013"}
    tweets = b"window.YTD.tweets.part0 = " + orjson.dumps([{"tweet": tweet}])
    (tmp_path / "tweets.js").write_bytes(tweets)
    (tmp_path / "tweets.csv").write_text("Fecha;Texto\n23/05/2019 10:00;Un barco\n")
    (tmp_path / "notes.csv").write_text("Cuándo;Nota;Sala\n2019-05-23;El canal;3\n")
    export = test_slack.export(tmp_path / "export", general__01=[test_slack.MESSAGE])
    with zipfile.ZipFile(tmp_path / "slack-export.zip", "w") as archive:
        for file in export.rglob("*.json"):
            archive.write(file, file.relative_to(export))
    return tmp_path


def test_commands_of_the_importing_page_work(invoke: Invoke, database: str, files: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", _PAGE, re.DOTALL | re.MULTILINE)
    lines = [line for line in "".join(blocks).splitlines() if not line.startswith("pip ")]
    assert len(lines) == 21
    for line in lines:
        program, *arguments = shlex.split(line)
        done = invoke(*arguments)
        is_written = "--output" in arguments
        assert (program, done.code) == ("presagio", 0), (line, done.err)
        assert bool(done.out) != is_written, line
    rows = {row["name"]: row for row in invoke("corpora", "list", "--json").json_lines}
    assert {name: (row["kind"], row["documents"]) for name, row in rows.items()} == {
        "again": ("tweets", 2),
        "bluesky": ("social", 1),
        "library": ("library", 3),
        "reports": ("library", 1),
        "notes": ("personal", 1),
        "own": ("personal", 1),
        "personal": ("personal", 5),
        "published": ("published", 2),
        "social": ("social", 2),
        "tweets": ("tweets", 2),
    }


def test_the_page_and_the_command_name_every_format(invoke: Invoke) -> None:
    named = set(re.findall(r"`([a-z-]+)`", " ".join(row.rsplit("|", 2)[1] for row in _FORMATS)))
    assert named == set(READERS), "each format has a row in the first table of docs/importing.md"
    assert set(format_names("")) == set(READERS)
    assert format_names("trump") == ["trump-archive-json", "trump-archive-csv"]
    complaint = invoke("ingest", "x", "--format", "?").complaint(2)
    assert all(name in complaint for name in READERS)


def test_the_page_tells_the_usual_kind_of_every_format() -> None:
    for row in _FORMATS:
        *_, kind, formats, _ = (cell.strip() for cell in row.split("|"))
        for name in re.findall(r"`([a-z-]+)`", formats):
            usual = "any" if READERS[name].kinds == tuple(Kind) else READERS[name].kinds[0].value
            assert kind == usual, name


def test_the_page_lists_the_fields_of_json_lines() -> None:
    table = _PAGE.partition("| field |")[2].partition("\n\n")[0]
    documented = re.findall(
        r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()[1:])
    )
    source = inspect.getsource(jsonl)
    read = re.findall(r"payload\.get\(\"(\w+)\"\)", source)
    assert set(documented) == {*read, *jsonl._NEEDED, *jsonl._FLAGS, *jsonl._LISTS}


def test_chats_are_refused_in_a_corpus_of_posts(invoke: Invoke, database: str, files: Path) -> None:
    assert invoke("ingest", "mastodon").code == 0
    for arguments in (["--corpus", "social"], ["--corpus", "new", "--kind", "tweets"]):
        complaint = invoke("ingest", "telegram", *arguments).complaint(2)
        assert complaint.startswith("telegram (telegram) is personal, and corpus ")
        assert complaint.endswith("Give it a corpus of its own: --corpus NAME --kind personal.")
    assert ask(database, "SELECT count(*) FROM corpus") == 1


def test_posts_may_be_searched_like_tweets(invoke: Invoke, database: str, files: Path) -> None:
    assert invoke("ingest", "mastodon", "--kind", "tweets", "--corpus", "me").code == 0
    assert ask(database, "SELECT kind FROM corpus") == "tweets"
    assert ask(database, "SELECT string_agg(DISTINCT platform, ' ') FROM document") == "mastodon"


def test_only_mine_option_stores_only_texts_of_the_author(
    invoke: Invoke, database: str, files: Path
) -> None:
    assert "does not say whose it is" in invoke("ingest", "telegram", "--only-mine").complaint(2)
    assert ask(database, "SELECT count(*) FROM corpus") == 0
    assert invoke("ingest", "telegram", "--only-mine", "--author", "bob").code == 0
    assert ask(database, "SELECT string_agg(author, ' ') FROM document") == "Bob"
    own = write_tweets(files / "a.jsonl", range(3))
    assert invoke("ingest", str(own), "--only-mine", "--json").json["inserted"] == 3


@pytest.mark.parametrize(
    ("folder", "corpus", "number", "threads"),
    [("mastodon_philhawksworth", "social", 193, 83), ("telegram_fragment", "personal", 7, 1)],
)
def test_a_real_export_lands_in_a_corpus_of_its_kind(
    invoke: Invoke, database: str, folder: str, corpus: str, number: int, threads: int
) -> None:
    if not (_EXPORTS / folder).is_dir():
        pytest.skip(f"{folder} is not here")
    first, *apart = invoke("ingest", str(_EXPORTS / folder), "--json").json_lines
    assert [each["inserted"] for each in apart] == ([23] if folder.startswith("mastodon") else [])
    assert (first["corpus"], first["read"], first["inserted"]) == (corpus, number, number)
    again, *_ = invoke("ingest", str(_EXPORTS / folder), "--json").json_lines
    assert (again["inserted"], again["unchanged"]) == (0, number)
    assert ask(database, f"SELECT kind FROM corpus WHERE name = '{corpus}'") == corpus
    rows = invoke("corpora", "threads", corpus, "--json", "--limit", "1000").json_lines
    assert len(rows) == threads
    longest = max(rows, key=lambda row: row["documents"])
    messages = invoke("corpora", "thread", corpus, longest["thread"], "--json").json_lines
    times = [message["created_at"] for message in messages]
    assert len(times) == longest["documents"] > 1
    assert times == sorted(times)
