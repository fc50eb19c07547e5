"""docs/glossary.md: its commands run, its table expands, its files are read."""

import re
from pathlib import Path

import pytest

from bot.cli.glossary import FileFormat, FileStatus, GlossaryEntry, read_entries, write_entries
from engine.glossary.groups import explain_protection
from engine.glossary.suggest import WordLists
from tests.bot.forking import forked

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def rows(heading: str) -> list[tuple[str, str]]:
    table = GUIDE.partition(f"## {heading}\n")[2].partition("\n- ")[0]
    found = re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE)[2:]
    return [(one.replace("\\|", "|"), other.replace("\\|", "|")) for one, other in found]


@pytest.mark.usefixtures("demo")
def test_guide_table_of_expansions_is_correct(tmp_path: Path) -> None:
    for line in blocks("sh")[0].splitlines()[:2]:
        words = [one or other for one, other in re.findall(r'"([^"]+)"|(\S+)', line)]
        assert forked(*words[1:]).code == 0, line
    expected = rows("What expands")
    assert len(expected) == 6
    for query, looked_for in expected:
        done = forked("find", query.strip("`"), "--corpus", "demo", "--json")
        assert f"`{done.json['expanded']}`" == looked_for, query
    for form in FileFormat:
        (tmp_path / f"file.{form}").write_text(forked("glossary", "export", "--format", form).out)
        done = forked("glossary", "import", str(tmp_path / f"file.{form}"), "--json")
        assert done.json == {"approved": 0, "pending": 0, "rejected": 0, "left_out": 2}


def test_yaml_and_csv_examples_hold_the_same_entries() -> None:
    (as_yaml,), (as_csv,) = blocks("yaml"), blocks("csv")
    entries = read_entries(as_yaml, FileFormat.YAML)
    assert entries == read_entries(as_csv, FileFormat.CSV)
    assert entries[2] == GlossaryEntry(terms=("car", "train"), status=FileStatus.REJECTED)
    assert write_entries(entries, FileFormat.CSV) == as_csv


def test_guide_terms_called_protected_are_protected() -> None:
    is_word = WordLists()
    documented = re.findall(
        r"`([^`]+)`", GUIDE.partition("## What is in no group")[2].partition("The dic")[0]
    )
    assert len(documented) == 7
    assert all(explain_protection(term, is_word) for term in documented)
    assert not any(explain_protection(term, is_word) for term in ("Fed", "kubernetes", "k8s"))
