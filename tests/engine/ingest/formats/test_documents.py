"""Documents are recognised by name and bytes, parsed only if needed, and refused with a reason."""

from pathlib import Path

import pytest

from engine.ingest.formats.documents import documents_prevail
from engine.ingest.record_stream import open_source
from engine.ingest.records import SourceRequest
from tests.engine.ingest.reading import documents as documents_of
from tests.engine.ingest.reading import moment_of, records
from tests.fakes.documents import epub, pdf, word

_DATE = "D:20200131"
_PAGE = (
    "<!DOCTYPE html><html lang='en'><head><title>Coffee</title></head><body><article>"
    + "<h1>Coffee</h1>"
    + "<p>The price of coffee rose again, as everybody in the trade had foretold for years.</p>" * 4
    + "</article></body></html>"
).encode()


def test_a_folder_with_every_format_is_read(tmp_path: Path) -> None:
    files = {
        "a.pdf": pdf(["Coffee rose."], title="A", date=_DATE),
        "b.docx": word("# B", "Coffee rose."),
        "c.epub": epub("<p>Coffee rose.</p>", title="C"),
        "d.html": _PAGE,
        "e.txt": b"Coffee rose.",
        "sub/f.md": b"---\ntitle: F\ndate: 2019-05-23\ntags: [tea]\n---\n# One\n\nCoffee rose.",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    documents, rejects = documents_of(tmp_path)
    assert rejects == []
    assert [(document.platform, document.title) for document in documents] == [
        ("pdf", "A"), ("docx", "B"), ("epub", "C"), ("html", "Coffee"), ("text", "e"),
        ("markdown", "F"),
    ]  # fmt: skip
    assert all("rose" in document.parts[0].search_text for document in documents)
    first, last = documents[0], documents[-1]
    assert (first.pages, first.parts[0].page, first.author) == (1, 1, "Ana Paz")
    assert first.parts[0].search_text.startswith("A ")
    assert (last.tags, last.parts[0].heading, moment_of(last).year) == (("tea",), "One", 2019)
    assert first.attribution == f"{tmp_path.name}/a.pdf"
    assert len({document.external_id for document in documents}) == len(documents)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.pdf", b"", "the file is empty"),
        pytest.param("a.pdf", pdf([" "]), "it holds no text", marks=pytest.mark.needs("tesseract")),
        ("a.pdf", pdf(["x"], password=True), "it is protected by a password"),
        ("a.pdf", pdf(["x"])[:150], "it is damaged or cut off"),
        ("a.pdf", _PAGE, "its name says that it is a PDF file, but it is a web page"),
        ("a.docx", pdf(["x"]), "its name says that it is a Word file, but it is a PDF file"),
        ("a.docx", word("x")[:300], "it is damaged or cut off"),
        (
            "a.docx",
            epub("<p>x</p>"),
            "its name says that it is a Word file, but it is an EPUB book",
        ),
        ("a.txt", b"\0\1\2", "its name says that it is text, but it is something else"),
        (
            "a.docx",
            b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"),
            "it is protected by a password",
        ),
        ("a.docx", b"\xd0\xcf\x11\xe0 WordDocument", "it is of an old Office"),
    ],
)
def test_bad_files_are_rejects_and_the_rest_goes_in(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.txt").write_bytes(b"Coffee rose.")
    documents, [reject] = documents_of(tmp_path)
    assert len(documents) == 1
    assert reject.file == f"{tmp_path}/{name}"
    assert reject.reason.startswith(reason)


@pytest.mark.parametrize("name", ["one.docx", "one.epub", "one", "one.pdf"])
def test_a_single_file_is_recognised(tmp_path: Path, name: str) -> None:
    content = {"one.epub": epub("<p>Hello.</p>"), "one.pdf": pdf(["Hello."], date=_DATE)}
    (tmp_path / name).write_bytes(content.get(name, word("Hello.")))
    [document], [] = documents_of(tmp_path / name)
    assert document.parts[0].text == "Hello."
    assert records(tmp_path / name)[0][0].format == "documents"


@pytest.mark.parametrize(
    ("names", "documents"),
    [
        (["a.md", "b.png"], False),  # notes with pictures are read as Markdown
        (["a.md", "b.md", "c.pdf"], False),
        (["a.md", "b.pdf", "c.pdf"], True),
        (["b.png"], True),
        (["data/tweet.js", "Your archive.html"], False),
        ([".hidden.pdf", "~$open.docx", "a.exe"], False),
    ],
)
def test_a_folder_counts_as_documents_if_they_prevail(names: list[str], documents: bool) -> None:
    assert documents_prevail(names) is documents


def test_an_explicit_documents_format_includes_markdown(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A")
    (tmp_path / "b.pdf").write_bytes(pdf(["Hello."], date=_DATE))
    with open_source(SourceRequest(str(tmp_path), format="documents")) as stream:
        assert len(list(stream)) == 2
    with open_source(SourceRequest(str(tmp_path))) as stream:
        assert stream.opened.format == "markdown"


def test_files_of_one_name_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    ids = set()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_bytes(b"Hello.")
        ids |= {each.external_id for each in documents_of(tmp_path / folder / "a.txt")[0]}
        ids |= {each.external_id for each in documents_of(tmp_path / folder)[0]}
    assert len(ids) == 2


def test_a_file_without_a_date_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Hello.")
    (tmp_path / "b.html").write_bytes(
        b"<html><title>B</title><p>Hello there, all of you.</p></html>"
    )
    (tmp_path / "c.epub").write_bytes(epub("Hello.", dates=""))
    documents, [] = documents_of(tmp_path)
    assert [(document.created_at, document.dated_by) for document in documents] == [
        (None, None)
    ] * 3
    assert all("dated_by" not in document.meta for document in documents)
