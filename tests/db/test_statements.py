"""Statements are found by name, and say what their parameters are."""

import re
from pathlib import Path

import pytest

import db
from db.connection import load_statements

SQL = sorted((Path(db.__file__).parent / "sql").glob("*.sql"))
SIGNATURE = re.compile(r"^-- name: (\w+)\(([^)]*)\)", re.MULTILINE)
# The numbers of these are given by the expressions that are put into their braces.
COMPOSED = {"described"}
# Parts of statements, which give their parameters their numbers.
READ = load_statements("search")["read"]


def test_statements_contain_no_header_comment() -> None:
    held = "\n".join(text for path in SQL for text in load_statements(path.stem).values())

    assert "-- name:" not in held
    assert load_statements("conversation")["chat"].startswith("SELECT id, platform")
    assert load_statements("news")["settle_feed"].startswith("UPDATE feed")


@pytest.mark.parametrize("path", SQL, ids=lambda path: path.stem)
def test_a_statement_names_each_of_its_parameters_once(path: Path) -> None:
    signatures = {
        name: re.findall(r"\w+", named) for name, named in SIGNATURE.findall(path.read_text())
    }
    for name, template in load_statements(path.stem).items():
        if name in COMPOSED:
            continue
        text = template.replace("{read}", READ)
        numbers = {int(number) for number in re.findall(r"\$(\d+)", re.sub(r"--.*", "", text))}
        named = signatures.get(name, [])
        assert len(set(named)) == len(named), name
        assert numbers == set(range(1, len(named) + 1)), name
