"""Statements about one corpus name its table, and nothing but a number ever names it."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

import pytest

from db.corpus.corpora import about_corpus, name_partition

FILES = [entry for entry in (files("db") / "sql").iterdir() if entry.name.endswith(".sql")]
_COMMENT = re.compile(r"--(?! name:).*")
# What is read only to be written is read there as well, of one corpus by its number.
_READ = re.compile(
    r"\b(?:FROM|JOIN|USING)\s+document\b"
    r"(?!\s+(?:\w\s+)?WHERE\s+(?:\w\.)?corpus_id = \{corpus\})"
)
_WRITTEN = re.compile(r"\b(?:UPDATE|DELETE FROM)\s+document\b")


def test_a_partition_is_named_only_by_a_number() -> None:
    assert name_partition(7) == "document_7"
    for name in ("7; DROP TABLE corpus", "seven", ""):
        with pytest.raises(ValueError, match="invalid literal"):
            name_partition(name)  # type: ignore[arg-type]  # what must not come through
        with pytest.raises(ValueError, match="invalid literal"):
            about_corpus("shown", "document", name)


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry.name)
def test_every_statement_is_restricted_to_one_corpus(entry: Traversable) -> None:
    for block in entry.read_text().split("-- name:")[1:]:
        statement = _COMMENT.sub("", block)
        written = _WRITTEN.search(statement)
        assert not written or "d.corpus_id = {corpus}" in statement, block
        assert not _READ.search(_WRITTEN.sub("", statement)), block
