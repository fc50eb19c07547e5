"""Plain text and Markdown as paragraphs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RecordError
from engine.ingest.parsers.parsed import (
    article_blocks,
    join_paragraphs,
    markdown_blocks,
    parse_text,
)

_LINE = "A line that is as long as the page is wide, more or less"


def test_lines_are_joined_to_paragraphs() -> None:
    lines = [_LINE, _LINE, "ends here.", "The next one begins", "", "• an item", "• another"]
    assert list(join_paragraphs(lines)) == [
        f"{_LINE} {_LINE} ends here.",
        "The next one begins",
        "• an item",
        "• another",
    ]


@given(st.lists(st.text(alphabet="aB. •1", max_size=30), max_size=20))
def test_no_word_is_lost(lines: list[str]) -> None:
    assert " ".join(join_paragraphs(lines)).split() == " ".join(lines).split()


def test_a_form_feed_begins_a_page() -> None:
    found = parse_text(b"One.\r\n\r\nTwo.\fThree.")
    assert [(block.text, block.page) for block in found.blocks] == [
        ("One.", 1),
        ("Two.", 1),
        ("Three.", 2),
    ]
    assert parse_text("Año.".encode("utf-16")).blocks[0].text == "Año."
    with pytest.raises(RecordError, match="no text"):
        parse_text(b" \n")


def test_markdown_stands_under_its_headings() -> None:
    text = "Intro.\n\n# One #\n\n## Deep\nText\nmore.\n\n```\n# code\n```\n\n# Two\n"
    assert [(block.text, block.headings) for block in markdown_blocks(text)] == [
        ("Intro.", ()),
        ("Text\nmore.", ("One", "Deep")),
        ("```\n# code\n```", ("One", "Deep")),
        ("Two", ()),
    ]


def test_only_a_long_article_is_cut() -> None:
    assert article_blocks("Short.") is None
    assert len(article_blocks("Long words. " * 300) or ()) == 1
