"""Candidates by words, by meaning, and by both, on an index and vectors that hold little."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from engine.errors import ModelUnreachable
from engine.prophecy.expand import Phrases
from engine.prophecy.false_matches import discount_false_matches
from engine.prophecy.meaning import Meaning
from engine.prophecy.retrieve import (
    RetrievedCandidates,
    Retriever,
    put_unmatched_last,
)
from engine.search import Candidate, Expansion, Filters, Headline, Mode, Term
from engine.values import Corpus
from engine.vectors import SCALES, Scale, Vector, VectorSpace
from tests.engine.candidates import CORPUS, candidate
from tests.engine.prophecy.terms import term

SCALE = Scale(mean=0.6, deviation=0.1, same=0.9)
COSINES = {1: 0.75, 2: 0.9, 3: 0.8, 7: 0.85, 8: 0.7}


@dataclass
class Words:
    """Proposes the same texts whatever is asked, and describes everything but 8."""

    texts: Sequence[Candidate] = field(default_factory=lambda: list(map(candidate, (1, 2, 3, 4))))
    asked: list[Filters] = field(default_factory=list)

    async def terms(self, corpus: Corpus, text: str) -> list[Term]:
        return [Term(word=text, lexemes=(text,), document_frequency=4, max_tf=9)]

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> list[Candidate]:
        self.asked.append(filters)
        return list(self.texts[:limit])

    async def describe_documents(
        self, corpus: Corpus, terms: Sequence[Term], ids: Sequence[int]
    ) -> list[Candidate]:
        return [replace(candidate(number), bm25=0.0) for number in ids if number != 8]


@dataclass
class PhraseLists:
    """Finds documents by phrases, and names these."""

    lists: Mapping[str, Sequence[int]]
    asked: list[tuple[Filters, int]] = field(default_factory=list)

    async def rank_phrases(
        self, corpus: Corpus, phrases: Sequence[str], filters: Filters, limit: int
    ) -> list[Sequence[int]]:
        self.asked.append((filters, limit))
        return [self.lists[phrase][:limit] for phrase in phrases]

    async def expand(self, corpus: Corpus, headline: Headline, *, now: datetime) -> Expansion:
        raise AssertionError("whoever retrieves is told the phrases")


@dataclass
class Vectors:
    """Holds the cosines of five documents; 4 has no vector."""

    scale: Scale | None = SCALE
    dimensions: int = 2
    empty: bool = False
    asked: list[Filters] = field(default_factory=list)

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        if self.empty:
            return None
        return VectorSpace(
            model_id=1, model=model, dimensions=self.dimensions, indexed=False, scale=self.scale
        )

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> list[tuple[int, float]]:
        self.asked.append(filters)
        return sorted(COSINES.items(), key=lambda pair: -pair[1])[:limit]

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        return {one: COSINES[one] for one in ids if one in COSINES}


@dataclass
class Model:
    """Gives one vector, or fails."""

    vector: Vector = (1.0, 0.0)
    dimensions: int | None = 2
    error: Exception | None = None
    hangs: bool = False
    asked: list[str] = field(default_factory=list)
    name: str = "model"

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        raise AssertionError("a search embeds no documents")

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        if self.error:
            raise self.error
        if self.hangs:
            await asyncio.sleep(60)
        return self.vector


async def retrieved(
    mode: Mode | None,
    *,
    words: Words | None = None,
    vectors: Vectors | None = None,
    model: Model | None = None,
    limit: int = 4,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> RetrievedCandidates:
    words, given = words or Words(), model or Model()
    meaning = Meaning(embedder=lambda _: given, vectors=vectors or Vectors(), descriptions=words)
    retriever = Retriever(words, meaning, limit=limit, limit_with_phrases=limit)
    return await retriever.retrieve(CORPUS, "snow", filters, mode)


async def with_phrases(
    lists: Mapping[str, Sequence[int]],
    mode: Mode | None = Mode.LEXICAL,
    *,
    words: Words | None = None,
    model: Model | None = None,
    limit: int = 9,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> tuple[RetrievedCandidates, PhraseLists]:
    async def named() -> Expansion:
        await asyncio.sleep(0)
        return Expansion(phrases=tuple(lists))

    words, given, index = words or Words(), model or Model(), PhraseLists(lists)
    retriever = Retriever(
        words,
        Meaning(embedder=lambda _: given, vectors=Vectors(), descriptions=words),
        limit=4,
        phrases=Phrases(expander=index, index=index, descriptions=words),
        limit_with_phrases=limit,
    )
    found = await retriever.retrieve(CORPUS, "snow", filters, mode, named())
    return found, index


def ids(found: RetrievedCandidates) -> list[int]:
    return [one.id for one in found.candidates]


async def test_re_ranking_finds_what_words_found_in_another_order() -> None:
    found = await retrieved(Mode.RERANK)
    assert sorted(ids(found)) == [1, 2, 3, 4]
    assert ids(found)[0] == 2
    assert ids(found)[-1] == 4  # without a vector it has one vote of two
    assert {one.id: dict(one.ranks) for one in found.candidates}[2] == {"lexical": 2}
    assert (found.mode, found.model) == (Mode.RERANK, "model")


async def test_reranking_an_empty_list_gives_an_empty_list() -> None:
    class Nothing(Words):
        async def top(self, *_: object, **__: object) -> list[Candidate]:
            return []

    assert ids(await retrieved(Mode.RERANK, words=Nothing())) == []


async def test_hybrid_candidates_carry_their_rank_in_both_lists() -> None:
    found = await retrieved(Mode.HYBRID)
    proposed = {one.id: dict(one.ranks) for one in found.candidates}
    assert proposed[2] == {"lexical": 2, "semantic": 1}
    assert proposed[7] == {"semantic": 2}
    assert proposed[4] == {"lexical": 4}
    assert ids(found)[0] == 2


async def test_known_similarities_are_calibrated_for_both_lists() -> None:
    found = await retrieved(Mode.HYBRID)
    similarity = {one.id: one.similarity for one in found.candidates}
    assert similarity[2] == 1.0
    assert similarity[1] == pytest.approx(0.25)  # (0.75 - 0.7) / 0.2
    assert similarity[7] == pytest.approx(0.75)
    assert similarity[4] is None


async def test_a_long_text_is_embedded_by_its_beginning() -> None:
    model, words = Model(), Words()
    meaning = Meaning(embedder=lambda _: model, vectors=Vectors(), descriptions=words)
    text = "snow " * 1000
    retriever = Retriever(words, meaning, limit=4, limit_with_phrases=4)
    await retriever.retrieve(CORPUS, text, Filters(), Mode.HYBRID)
    assert model.asked == [text[:1000]]


async def test_filters_hold_for_both_lists() -> None:
    words, vectors = Words(), Vectors()
    filters = Filters(before=datetime(2020, 1, 1, tzinfo=UTC))
    await retrieved(Mode.HYBRID, words=words, vectors=vectors, filters=filters)
    assert words.asked == vectors.asked == [filters]


GONE = ModelUnreachable("No connection to x.", fix="Check the network.")


@pytest.mark.parametrize(
    ("mode", "vectors", "model", "why"),
    [
        (Mode.RERANK, Vectors(empty=True), Model(), "demo has no vectors yet."),
        (Mode.HYBRID, Vectors(empty=True), Model(), "demo has no vectors yet."),
        (None, Vectors(), Model(error=GONE), "No connection to x. Check the network."),
        (None, Vectors(dimensions=3), Model(), "model has changed the length of its vectors."),
        (Mode.HYBRID, Vectors(), Model(vector=(0.0, 0.0)), None),  # it says nothing to the model
    ],
)
async def test_what_cannot_be_compared_by_meaning_is_searched_by_words_with_a_notice(
    mode: Mode | None, vectors: Vectors, model: Model, why: str | None
) -> None:
    found = await retrieved(mode, vectors=vectors, model=model)
    assert (ids(found), found.mode) == ([1, 2, 3, 4], Mode.LEXICAL)
    assert found.notice == (f"Searched by words alone: {why}" if why else None)


async def test_explicit_mode_without_an_embedding_model_gives_a_notice() -> None:
    words = Words()
    retriever = Retriever(words, None, limit=4, limit_with_phrases=4)
    found = await retriever.retrieve(CORPUS, "snow", Filters(), Mode.HYBRID)
    assert found.notice == "Searched by words alone: no embeddings are set up."
    assert found == await retriever.retrieve(CORPUS, "snow", Filters(), Mode.RERANK)
    assert (await retriever.retrieve(CORPUS, "snow", Filters(), None)).notice is None
    assert (await retrieved(Mode.HYBRID, model=Model(dimensions=0))).notice == found.notice


async def test_a_model_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.prophecy.meaning._QUERY_SECONDS", 0.01)
    found = await retrieved(None, model=Model(hangs=True))
    assert found.notice is not None
    assert "not embedded within 0.01 s" in found.notice


async def test_a_corpus_without_a_scale_goes_by_that_of_its_model() -> None:
    scale = SCALES["tfidf-384"]
    found = await retrieved(Mode.HYBRID, vectors=Vectors(scale=None), model=Model(name="tfidf-384"))
    similarity = {one.id: one.similarity for one in found.candidates}
    assert similarity[2] == pytest.approx(scale.calibrate(0.9))
    assert similarity[4] is None


async def test_phrases_find_what_the_headline_does_not_say() -> None:
    found, _ = await with_phrases({"white roads": [20, 2], "no school": [20]})
    by_id = {one.id: one for one in found.candidates}
    assert by_id[20].asked_for == {"white roads": 1, "no school": 1}
    assert by_id[20].ranks == {}
    assert by_id[2].asked_for == {"white roads": 2}
    assert by_id[2].ranks == {"lexical": 2}
    assert by_id[1].asked_for == {}
    assert ids(found)[0] == 20
    assert found.expansion.phrases == ("white roads", "no school")


async def test_twice_the_limit_is_proposed_to_allow_for_duplicates() -> None:
    many = list(range(20, 60))
    found, _ = await with_phrases({"white roads": many}, limit=3)
    assert len(found.candidates) == 6


async def test_a_phrase_is_searched_by_its_meaning_too_where_the_headline_is() -> None:
    model = Model()
    found, _ = await with_phrases({"white roads": [20]}, None, model=model)
    assert model.asked == ["snow", "white roads"]
    by_id = {one.id: one for one in found.candidates}
    assert by_id[7].asked_for == {"white roads": 2}
    assert by_id[7].ranks == {"semantic": 2}
    assert by_id[7].similarity == pytest.approx(0.75)
    assert found.mode is Mode.HYBRID


async def test_a_phrase_without_a_vector_costs_its_list_alone() -> None:
    class Forgetful(Model):
        async def embed_query(self, text: str) -> Vector:
            if text != "snow":
                raise ModelUnreachable("No connection to x.")
            return await super().embed_query(text)

    found, _ = await with_phrases({"white roads": [20]}, None, model=Forgetful())
    assert (found.mode, found.notice) == (Mode.HYBRID, None)
    assert 20 in ids(found)


LARGE = replace(CORPUS, documents=1000, tokens=10_000)
BOTH = replace(LARGE, language="english", languages=("english", "spanish"))
SUGAR = (term("cane"), term("sugar", 30), term("coca"))
CITY = (
    replace(term("hallan"), lexemes=("hall",), read_in={"hall": frozenset({"spanish"})}),
    replace(
        term("countries"),
        lexemes=("countri", "countries"),
        read_in={"countri": frozenset({"english"}), "countries": frozenset({"spanish"})},
    ),
)


def say(text: str, *shared: int, lang: str | None = None, ranks: int = 1) -> Candidate:
    lists = {"lexical": 1, "semantic": 2}
    made = replace(candidate(1, text), lang=lang, matched=dict.fromkeys(shared, 1))
    return replace(made, ranks=dict(list(lists.items())[:ranks]))


def drop(found: Candidate, terms: Sequence[Term], corpus: Corpus = LARGE) -> Candidate:
    [kept] = discount_false_matches([found], terms, corpus)
    return kept


@pytest.mark.parametrize(
    ("text", "shared", "left"),
    [
        ("@Lord_Sugar you are fired", (1,), ()),
        ("@Lord_Sugar sells sugar", (1,), (1,)),
        ("@Lord_Sugar takes coca", (1, 2), (2,)),
        ("@CaneSugar is sweet", (0, 1), (0, 1)),
        ("@Sugar is sweet", (1,), (1,)),
        ("@sugar_99 is sweet", (1,), (1,)),
        ("Cane sugar, says @Lord_Sugar", (0, 1), (0, 1)),
    ],
)
def test_a_part_of_a_longer_handle_is_no_word(
    text: str, shared: tuple[int, ...], left: tuple[int, ...]
) -> None:
    found = say(text, *shared)
    kept = drop(found, SUGAR)
    assert tuple(kept.matched) == left
    assert (kept.bm25 < found.bm25) == (left != shared)


@pytest.mark.parametrize(
    ("lang", "text", "shared", "left"),
    [
        ("en", "See you at City Hall", (0,), ()),
        (None, "See you at City Hall", (0,), ()),
        ("es", "La hallaron viva", (0,), (0,)),
        ("en", "Every country counts", (1,), (1,)),  # its stem is "countri"
        ("en", "Hall of fame of all countries", (0, 1), (1,)),
    ],
)
def test_a_stem_of_one_language_is_no_word_of_another(
    lang: str | None, text: str, shared: tuple[int, ...], left: tuple[int, ...]
) -> None:
    assert tuple(drop(say(text, *shared, lang=lang), CITY, BOTH).matched) == left


def test_coincidental_matches_come_last_unless_otherwise_proposed() -> None:
    fired = say("@Lord_Sugar, fired", 1)
    sweet = replace(say("sweet cane", 0), id=2)
    close = replace(say("@Lord_Sugar by meaning", 1, ranks=2), id=3)
    near = replace(say("bitter"), id=4, ranks={"semantic": 1})
    ordered = put_unmatched_last(discount_false_matches([fired, close, near, sweet], SUGAR, LARGE))
    assert [one.id for one in ordered] == [3, 4, 2, 1]
