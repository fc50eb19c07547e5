"""Folders of Markdown files."""

import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpora import Document
from engine.errors import RecordError
from engine.ingest.formats.documents import split_front_matter
from tests.engine.ingest.reading import accepted, documents, moment_of, records

ARTICLE = """---
title: The storm
date: 2019-05-23
author: Ana Paz
tags: [Weather, "#Sea"]
categories: news, ships
lang: es
canonical_url: https://blog.example/storm
---

It *is* coming.
"""


def one(folder: Path, text: str, name: str = "storm.md") -> Document:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    (document,) = accepted(folder, form="markdown")
    return document


def test_an_article_says_what_its_front_matter_says(tmp_path: Path) -> None:
    document = one(tmp_path, ARTICLE, "2019/storm.md")
    assert (document.external_id, document.thread) == ("2019/storm.md", "2019")
    assert (document.title, document.text) == ("The storm", "It *is* coming.")
    assert document.search_text == "The storm It *is* coming Ana Paz Weather Sea news ships"
    assert moment_of(document).isoformat() == "2019-05-23T00:00:00+00:00"
    assert (document.author, document.lang) == ("Ana Paz", "es")
    assert document.tags == ("weather", "sea", "news", "ships")
    assert (document.url, document.meta) == (
        "https://blog.example/storm", {"domain": "blog.example"},
    )  # fmt: skip
    assert (document.platform, document.attribution) == (
        "markdown", f"{tmp_path.name}/2019/storm.md",
    )  # fmt: skip


def test_each_part_is_found_by_all_authors_and_tags(tmp_path: Path) -> None:
    front = "---\ntitle: The storm\ndate: 2019-05-23\nauthors: [Ana Paz, Ben Lee]\ntags: sea\n---\n"
    document = one(
        tmp_path, front + "\n\n".join(f"Day {day}. It rains. " * 40 for day in range(60))
    )
    assert len(document.parts) > 1
    assert all(part.search_text.endswith("Ana Paz Ben Lee sea") for part in document.parts)
    assert "Ben" not in document.parts[0].text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("---\ndate: 2019-05-23T10:00:00+02:00\n---\nx", "2019-05-23T08:00:00+00:00"),
        ("---\nDate: 2019-05-23 10:00:00\n---\nx", "2019-05-23T10:00:00+00:00"),
        ('---\npublished: "2019-05-23"\n---\nx', "2019-05-23T00:00:00+00:00"),
        ("+++\ndate = 2019-05-23T10:00:00Z\n+++\nx", "2019-05-23T10:00:00+00:00"),
        ("---\r\ndate: 2019-05-23\r\n---\r\nx", "2019-05-23T00:00:00+00:00"),
    ],
)
def test_common_front_matter_date_formats_are_read(tmp_path: Path, text: str, moment: str) -> None:
    document = one(tmp_path, text)
    assert (document.text, moment_of(document).isoformat()) == ("x", moment)


def test_the_name_of_a_file_may_tell_its_date_and_title(tmp_path: Path) -> None:
    document = one(tmp_path, "x", "2019-05-23-the-storm.md")
    assert (document.title, moment_of(document).date().isoformat()) == ("the-storm", "2019-05-23")


def test_a_note_without_a_date_ignores_the_file_time(tmp_path: Path) -> None:
    file, digests = tmp_path / "note.md", []
    file.write_text("# The storm\n\nIt is coming.")
    for moment in (1577880000, 1577890000):
        os.utime(file, (moment, moment))
        (document,), _ = documents(tmp_path)
        assert (document.created_at, document.title) == (None, "The storm")
        digests.append(document.digest)
    assert digests[0] == digests[1]


def test_a_folder_is_read_whole_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("a.md", "deep/er/b.markdown", ".git/c.md", "d.txt", "_drafts/.e.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    names = [record.external_id for record in records(tmp_path)[0]]
    assert names == ["a.md", "deep/er/b.markdown"]
    with zipfile.ZipFile(tmp_path / "vault.zip", "w") as archive:
        archive.write(tmp_path / "deep" / "er" / "b.markdown", "deep/er/b.markdown")
    assert [record.external_id for record in records(tmp_path / "vault.zip")[0]] == names[1:]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\ntitle: [\n---\nx", "the front matter is no valid YAML"),
        ("---\ndate: 2019-13-45\n---\nx", "the front matter is no valid YAML|cannot be read"),
        ("+++\n= 5\n+++\nx", "the front matter is no valid TOML"),
        ("---\ndate: soon\n---\nx", "the time 'soon' cannot be read"),
        ("---\ndate: 2019-05-23\n---\n", "the text is empty"),
    ],
)
def test_only_the_bad_file_is_rejected(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.md").write_text(ARTICLE)
    (tmp_path / "b.md").write_text(text)
    stored, rejects = documents(tmp_path)
    assert [document.external_id for document in stored] == ["a.md"]
    assert len(rejects) == 1
    assert any(part in rejects[0].reason for part in reason.split("|"))
    assert rejects[0].file.endswith("/b.md")


def test_a_yaml_bomb_rejects_only_its_own_file(tmp_path: Path) -> None:
    bomb = "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 10))
    (tmp_path / "a.md").write_text(ARTICLE)
    (tmp_path / "b.md").write_text(f"---\na0: &a0 [x]\n{bomb}tags: [*a9]\n---\nx")
    (tmp_path / "c.md").write_text(f"---\ntags: [0x{'f' * 5000}]\n---\nx")
    stored, rejects = documents(tmp_path)
    assert [document.external_id for document in stored] == ["a.md"]
    assert [reject.reason for reject in rejects] == [
        "the front matter is no valid YAML: line 2 has an alias: write its text out",
        "the front matter is no valid YAML: a number is too large: put quotes around it",
    ]


@pytest.mark.parametrize("line", ["# The storm", "#\tThe storm ##  ", "  # The storm#"])
def test_a_heading_at_the_top_is_the_title(tmp_path: Path, line: str) -> None:
    document = one(tmp_path, f"{line}\nIt is coming.")
    assert (document.title, document.text) == ("The storm", "It is coming.")


def test_an_empty_heading_is_no_title(tmp_path: Path) -> None:
    assert one(tmp_path, "# #\nx", "storm.md").title == "storm"


def test_front_matter_makes_no_objects() -> None:
    with pytest.raises(RecordError, match="no valid YAML"):
        split_front_matter("---\na: !!python/object/apply:os.getcwd []\n---\n")


@given(st.text())
def test_any_text_is_split_into_front_matter_and_body(text: str) -> None:
    try:
        _fields, body = split_front_matter(text)
    except RecordError:
        return
    assert text.endswith(body)
