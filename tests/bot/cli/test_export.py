"""`presagio corpora export`: what is written, ingest stores as it was."""

import stat
from collections import defaultdict
from pathlib import Path

import orjson
import pytest

from engine.ingest.record_stream import open_source
from engine.ingest.records import SourceRequest
from tests.bot.command_line import ROOT, ask, write_chat
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.engine.ingest.reading import TWEET
from tests.engine.ingest.test_hostile import contents

_STORED = """
    SELECT external_id, text, search_text, context, created_at, dated_by, author, title, role,
           lang, language, url, reply_to, platform, thread_id, attribution, tags, mentions,
           engagement, flags, meta, part, heading, page, last_page
      FROM document WHERE corpus_id = (SELECT id FROM corpus WHERE name = '{name}')
"""
_ITEMS = """
    SELECT external_id, created_at, title, author, lang, url, attribution, platform, pages, parts,
           page_labels
      FROM item WHERE corpus_id = (SELECT id FROM corpus WHERE name = '{name}')
"""


def assert_equal(database: str, one: str, other: str, *, number: int) -> None:
    """Both corpora hold the same texts, column by column."""
    for rows in (_STORED, _ITEMS):
        for first, second in ((one, other), (other, one)):
            left, right = rows.format(name=first), rows.format(name=second)
            assert ask(database, f"SELECT count(*) FROM ({left} EXCEPT {right}) AS x") == 0
    stored = (
        "SELECT count(*) FROM document WHERE corpus_id = (SELECT id FROM corpus WHERE name = '{}')"
    )
    assert ask(database, stored.format(other)) == number


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_bundled_corpus_round_trips(
    invoke: Invoke, database: str, tmp_path: Path, form: str
) -> None:
    invoke("ingest", str(ROOT / "examples" / "demo.jsonl"), "--corpus", "me")
    file = tmp_path / "me.out"
    done = invoke("corpora", "export", "me", "--format", form, "--output", str(file))
    assert (done.code, done.out) == (0, "")
    assert f"presagio ingest {file} --corpus me --language english" in done.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    again = invoke("ingest", str(file), "--corpus", "again")
    assert (again.code, "416 inserted" in again.out) == (0, True)
    assert_equal(database, "me", "again", number=416)
    assert "416 unchanged" in invoke("ingest", str(file), "--corpus", "again").out


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_chat_stays_personal_and_a_library_keeps_its_parts(
    invoke: Invoke, database: str, tmp_path: Path, form: str
) -> None:
    write_chat(tmp_path / "WhatsApp Chat with Bob.txt")
    invoke("ingest", str(tmp_path / "WhatsApp Chat with Bob.txt"), "--author", "Ana")
    (tmp_path / "a.txt").write_text("The harbour costs far more than anybody has said.\n" * 200)
    invoke("ingest", str(tmp_path / "a.txt"), "--corpus", "reports")
    parts = ask(database, "SELECT max(parts) FROM item")
    assert parts > 2
    for name, kind, number in (("personal", "personal", 3), ("reports", "library", parts)):
        file = tmp_path / f"{name}.{form}"
        invoke("corpora", "export", name, "--format", form, "-o", str(file))
        assert invoke("ingest", str(file), "--corpus", f"{name}2").code == 0
        assert_equal(database, name, f"{name}2", number=number)
        shown = invoke("corpora", "show", f"{name}2", "--json").json
        assert shown["kind"] == kind
    refused = invoke("ingest", str(tmp_path / f"personal.{form}"), "--kind", "tweets", "-c", "out")
    assert "is personal" in refused.complaint(2)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_every_import_format_round_trips(
    invoke: Invoke, database: str, tmp_path: Path, form: str
) -> None:
    files = defaultdict[str, list[str]](list)
    for number, content in enumerate(contents(tmp_path)):
        file = content if isinstance(content, Path) else tmp_path / f"{number}.txt"
        if isinstance(content, bytes):  # in which each tweet has an id of its own
            file.write_bytes(content.replace(str(TWEET["id_str"]).encode(), b"9%d" % number))
        with open_source(SourceRequest(str(file))) as stream:
            files[stream.opened.kinds[0].value].append(str(file))
    assert {*files} == {"tweets", "social", "personal", "published"}
    for kind, paths in files.items():
        assert invoke("ingest", *paths, "--kind", kind, "--author", "ana").code == 0
        export = tmp_path / f"export.{form}"
        assert invoke("corpora", "export", kind, "--format", form, "-o", str(export)).code == 0
        again = invoke("ingest", str(export), "--corpus", f"{kind}2", "--json").json
        assert again["inserted"] >= len(paths)
        assert_equal(database, kind, f"{kind}2", number=again["inserted"])


def test_export_to_stdout_can_be_ingested_from_stdin(invoke: Invoke, database: str) -> None:
    invoke("ingest", str(ROOT / "examples" / "demo.jsonl"), "--corpus", "me")
    done = forked("corpora", "export", "me")
    assert done.err == ""
    first = orjson.loads(done.out.splitlines()[0])
    assert list(first)[:4] == ["presagio", "kind", "id", "created_at"]
    again = forked("ingest", "-", "--corpus", "again", "--json", stdin=done.out.encode())
    assert again.json["inserted"] == 416
    assert_equal(database, "me", "again", number=416)


def test_unwritable_output_and_unknown_corpus_are_refused(
    invoke: Invoke, database: str, tmp_path: Path
) -> None:
    invoke("ingest", str(ROOT / "examples" / "demo.jsonl"), "--corpus", "me")
    absent = invoke("corpora", "export", "me", "-o", str(tmp_path / "no" / "a"))
    assert "cannot be written: no such file or directory" in absent.complaint()
    assert "There is no corpus 'none'." in invoke("corpora", "export", "none").complaint()
