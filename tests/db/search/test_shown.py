"""Texts with marks around the words by which they were found."""

import pytest

from db.pool import Database
from db.search.lexical import LexicalIndex
from db.search.shown import DocumentLookup
from engine.text.clean import searchable
from tests.db.loading import document, load


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Otra Manifestación, otra.", "manifestaciones", "Otra [Manifestación], otra."),
        ("U.S. and US, not us", "U.S.", "[U.S.] and [US], not us"),
        ("thanks @Rosie! #RosieLives", "rosie", "thanks [@Rosie]! [#RosieLives]"),
        ("\x02fire\x03 in Perú https://x.org/peru", "peru", "fire in [Perú] https://x.org/peru"),
        ("nothing here", "fire", "nothing here"),
    ],
)
async def test_marks_stand_around_the_persons_words(
    database: Database, text: str, query: str, marked: str
) -> None:
    stored = document("1", searchable(text), shown=text)
    corpus = await load(database, "c", [stored], "spanish")
    terms = await LexicalIndex(database).terms(corpus, searchable(query))
    lexemes = [one for term in terms for one in term.lexemes]
    async with database.connection() as connection:
        number = await connection.fetchval("SELECT id FROM document")
    found = await DocumentLookup(database).mark_words(corpus, [number], lexemes)
    assert found[number].replace("\x02", "[").replace("\x03", "]") == marked
