"""Excerpts are found by the lexemes of the corpus' languages, accents and endings aside."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from db.pool import Database
from db.search.find import DialectIndex
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.results import QueryAnswer, present_hits
from engine.text.terms import Reading
from engine.values import Corpus, Kind
from tests.bot.kinds import fill
from tests.db.loading import document

FILLER = "Nada que decir por ahora, seguimos esperando. " * 30


class CountingIndex:
    """The real index, which counts how often words are asked for."""

    def __init__(self, database: Database) -> None:
        self.asked: list[int] = []
        self._index = DialectIndex(database)

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> Sequence[Reading]:
        self.asked.append(len(texts))
        return await self._index.read(corpus, texts)


async def shown(
    database: Database, corpus: Corpus, query: str, *, voice: bool = False
) -> tuple[QueryAnswer, CountingIndex]:
    found = await Finder(DialectIndex(database)).find(corpus, parse_query(query))
    index = CountingIndex(database)
    return await present_hits(index, corpus, found, voice=voice), index


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("las inflaciones", "inflación"),
        ("la INFLACIÓN", "inflacion"),
        ("the walls", "wall"),
        ("la deuda externa", '"deuda externa"'),
    ],
)
async def test_a_match_is_found_in_another_form_of_its_word(
    database: Database, said: str, query: str
) -> None:
    lang = "en" if said.startswith("the") else "es"
    texts = [
        replace(document("long", f"{FILLER}{said} {FILLER}"), lang=lang),
        replace(document("en", "Something else altogether"), lang="en"),
    ]
    corpus = await fill(database, "c", Kind.PERSONAL, texts)
    found, _ = await shown(database, corpus, query)
    [hit] = found.hits
    assert hit.excerpt
    assert said in hit.excerpt.text
    assert hit.excerpt.text in hit.document.candidate.text


async def test_short_texts_need_no_extra_query(database: Database) -> None:
    corpus = await fill(database, "c", Kind.PERSONAL, [document("a", "Coffee with milk")])
    found, index = await shown(database, corpus, "coffee")
    assert (index.asked, found.hits[0].voice_terms) == ([], ())
    found, index = await shown(database, corpus, "coffee", voice=True)
    assert index.asked == [3]


async def test_an_excerpt_without_a_known_match_shows_the_beginning(database: Database) -> None:
    """So it is where the words stand only in the message that a text answers."""
    corpus = await fill(database, "c", Kind.PERSONAL, [document("a", f"Coffee. {FILLER}")])
    found, _ = await shown(database, corpus, "coffee")
    lost = replace(found.hits[0], matched=())
    again = await present_hits(
        DialectIndex(database), corpus, replace(found, hits=(lost,)), voice=False
    )
    assert again.hits[0].excerpt
    assert again.hits[0].excerpt.start == 0


async def test_stop_words_of_one_language_make_no_voice_terms(database: Database) -> None:
    texts = [
        replace(document("es", "la casa de la abuela, casa grande"), lang="es"),
        replace(document("en", "the big house"), lang="en"),
    ]
    corpus = await fill(database, "c", Kind.SOCIAL, texts)
    found, _ = await shown(database, corpus, "casa", voice=True)
    assert found.hits[0].voice_terms == ("casa grande",)
