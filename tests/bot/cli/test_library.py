"""A library of documents: stored in parts, cited by title and page, replaced as a whole."""

import os
from pathlib import Path

import pytest

from engine.ingest.parsers.ocr import Ocr
from tests.bot.command_line import ask
from tests.bot.conftest import Invoke
from tests.fakes.documents import epub, pdf, scanned, word

pytestmark = pytest.mark.usefixtures("database")

_LONG = [f"Sentence {number} of the report says little that anybody needs." for number in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    library = tmp_path / "library"
    library.mkdir()
    (library / "harbours.pdf").write_bytes(
        pdf(_LONG[:30], ["The harbour cost nine million.", *_LONG[30:]], title="Harbours of old")
    )
    (library / "minutes.docx").write_bytes(word("# Minutes", "The council wants a canal."))
    (library / "novel.epub").write_bytes(epub("<h1>One</h1><p>A ship sank in the harbour.</p>"))
    (library / "secret.pdf").write_bytes(pdf(["x"], password=True))
    return library


def test_a_library_from_files_to_citations(invoke: Invoke, folder: Path) -> None:
    done = invoke("ingest", str(folder), "--json")
    assert done.json == {
        "corpus": "library", "read": 4, "inserted": 3, "updated": 0, "unchanged": 0, "rejected": 1,
    }  # fmt: skip
    assert "secret.pdf:1: it is protected by a password" in done.err
    assert invoke("corpora", "show", "library", "--json").json["items"] == 3

    found = invoke("find", "harbour", "--corpus", "library", "--json").json["hits"]
    assert {hit["title"] for hit in found} == {"Harbours of old", "A book"}
    [hit] = [hit for hit in found if hit["platform"] == "pdf"]
    assert hit["place"]["page"] in (1, 2)
    assert hit["place"]["pages"] == 2
    assert hit["attribution"].startswith("library/harbours.pdf#page=")

    answer = invoke("ask", "What did the harbour cost?", "--corpus", "library").out
    assert "Harbours of old, p" in answer
    assert "The harbour cost nine million." in " ".join(answer.split())
    foretold = invoke("search", "Council wants a canal", "--corpus", "library").out
    assert "Minutes" in foretold


def test_a_page_is_cited_as_it_is_printed(invoke: Invoke, tmp_path: Path) -> None:
    pages = [["A harbour costs money."], ["The canal cost two million."]]
    (tmp_path / "offprint.pdf").write_bytes(pdf(*pages, title="Offprint", first_number=214))
    invoke("ingest", str(tmp_path / "offprint.pdf"), "--corpus", "library", "--kind", "library")
    answer = invoke("ask", "What did the canal cost?", "--corpus", "library").out
    assert "Offprint, p. 214 (1 of 2)" in answer


def test_the_language_of_a_document_is_told_by_its_words(invoke: Invoke, tmp_path: Path) -> None:
    spanish = "Los barcos que llegan a los puertos de la costa pagan una tasa, pero no la suben."
    (tmp_path / "barcos.pdf").write_bytes(pdf([spanish], title="Barcos"))
    (tmp_path / "ships.pdf").write_bytes(pdf(["Ships."], title="Ships"))
    done = invoke("ingest", str(tmp_path), "--corpus", "library", "--language", "english")
    assert "Languages that the words tell, as the files do not: 1 spanish." in done.err
    found = invoke("find", "barco", "--corpus", "library", "--json").json["hits"]
    assert [hit["title"] for hit in found] == ["Barcos"]  # "barcos" is a plural of Spanish alone


@pytest.mark.needs("tesseract")
def test_a_scan_is_cited_as_such(invoke: Invoke, tmp_path: Path) -> None:
    lines = ["The harbour of the north cost", "nine million in 1911."]
    (tmp_path / "scan.pdf").write_bytes(scanned(lines))
    done = invoke("ingest", str(tmp_path / "scan.pdf"), "--corpus", "library", "--json")
    assert done.json["inserted"] == 1
    answer = invoke("ask", "What did the harbour cost?", "--corpus", "library")
    assert "p. 1 · " in answer.out
    assert "read from a picture" in answer.out
    assert "nine million" in answer.out
    [hit] = invoke("find", "harbour", "--corpus", "library", "--json").json["hits"]
    assert hit["flags"] == ["recognised"]


def test_unread_scanned_pages_are_reported_on_every_ingest_without_ocr(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "half.pdf").write_bytes(pdf([], ["The harbour is free."], drawn=True))
    seen = Ocr().available
    for counted in ("inserted", "unchanged"):
        done = invoke("ingest", str(tmp_path / "half.pdf"), "--corpus", "library", "--json")
        assert (done.json[counted], done.json["rejected"]) == (1, 0)
        missing = "half.pdf:1: 1 of its 2 pages were not read: reading the text of pictures needs"
        assert (missing in done.err) is not seen


def test_only_changed_files_are_parsed(invoke: Invoke, database: str, folder: Path) -> None:
    invoke("ingest", str(folder), "--json")
    before = ask(database, "SELECT count(*) FROM document")
    assert invoke("ingest", str(folder), "--json").json["unchanged"] == 3
    (folder / "harbours.pdf").write_bytes(pdf(["The harbour is free."], title="Harbours of old"))
    again = invoke("ingest", str(folder), "--json").json
    assert (again["updated"], again["unchanged"]) == (1, 2)
    assert ask(database, "SELECT count(*) FROM document") < before
    assert ask(database, "SELECT count(*) FROM item") == 3


def test_a_file_without_a_date_has_none_wherever_it_is_shown(
    invoke: Invoke, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "a.epub").write_bytes(epub("<p>The harbour froze over.</p>", title="Old", dates=""))
    (library / "b.epub").write_bytes(epub("<p>The harbour froze again.</p>", title="New"))
    changed = word("The harbour froze in June.", title="Word")
    (library / "c.docx").write_bytes(changed)
    os.utime(library / "a.epub", (1_000_000_000, 1_000_000_000))
    invoke("ingest", str(library))

    answer = invoke("search", "Harbour froze", "--corpus", "library", "--no-llm", "--json").json
    found = {hit["place"]["title"]: hit for hit in (*answer["hits"], *answer["near"])}
    dates = {name: (hit["created_at"], hit["dated_by"], hit["age"]) for name, hit in found.items()}
    assert dates["Old"] == (None, None, None)
    assert dates["New"][:2] == ("1999-01-01T00:00:00+00:00", None)
    assert dates["Word"][:2] == ("2020-03-01T10:00:00+00:00", "modified")
    output = invoke("search", "Harbour froze", "--corpus", "library", "--no-llm", "--near").out
    lines = {line.partition("Old, ")[0] for line in output.splitlines() if "Old" in line}
    assert lines and not any("before" in line or "20" in line for line in lines)
    assert "changed March 1, 2020" in output

    for narrowed in (("--date", "2021"), ("--before", "2021"), ("--after", "1990")):
        left = invoke(
            "search", "Harbour froze", "--corpus", "library", "--no-llm", "--json", *narrowed
        ).json
        titles = {hit["place"]["title"] for hit in (*left["hits"], *left["near"])}
        assert "Old" not in titles and "New" in titles

    newest = invoke("find", "-storm", "--corpus", "library", "--json").json["hits"]
    assert [hit["title"] for hit in newest] == ["Word", "New", "Old"]
    assert newest[2]["created_at"] is None
    asked = invoke("ask", "What froze over?", "--corpus", "library", "--no-llm", "--json").json
    assert {one["created_at"] for one in asked["sources"]} >= {None}
    quoted = invoke("ask", "What froze over?", "--corpus", "library", "--no-llm").out
    assert "] Old · Ana Paz" in quoted or "] Old · @Ana Paz" in quoted
