"""Questions over a real database: which corpora, which texts, and what a follow-up finds."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.app import App, open_app
from bot.queries.ask import ask, corpora_for
from bot.settings import load_settings
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from engine.answer.cited_answer import CitedAnswer
from engine.errors import SeveralCorpora
from engine.prophecy.headline import read_headline
from engine.search import Filters, Mode, SearchRequest
from engine.values import Kind
from tests.db.loading import document, load_texts

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
FILLER = [f"filler number {number} about the weather" for number in range(30)]
GULLS = ("Gulls steal sandwiches daily.", "Sandwiches feed hungry gulls.")
HARBOUR = [
    *("The harbour tax is theft.", "The harbour is quiet.", "Tea is cheap."),
    *(GULLS[0], *FILLER, GULLS[1]),
]
INLAND = ["A harbour tax would ruin us.", "Sheep like rain.", *FILLER]


@pytest.fixture
async def app(database: str) -> AsyncIterator[App]:
    storage = await Database.open(database)
    await load_texts(storage, "harbour", HARBOUR, "english")
    await load_texts(storage, "inland", INLAND, "english")
    diary = await Corpora(storage).ensure(
        "diary", kind=Kind.PERSONAL, language="english", author=None
    )
    await Documents(storage).upsert(diary, [document("d", "I fear the harbour tax.")])
    await storage.close()
    async with open_app(load_settings(), progress=lambda _: None) as opened:
        yield opened


async def answer(
    app: App, question: str, *names: str, earlier: Sequence[str] = (), **changes: Any
) -> CitedAnswer:
    request = SearchRequest(headline=read_headline(question), limit=5, now=NOW)
    request = replace(request, **changes)
    return await ask(app, request, await corpora_for(app, names), earlier=earlier)


def found(answered: CitedAnswer) -> list[tuple[str, str]]:
    return [
        (source.passage.corpus, source.passage.hit.candidate.text) for source in answered.sources
    ]


async def test_the_best_texts_of_all_corpora_answer(app: App) -> None:
    got = await answer(app, "What was said about the harbour tax?", "harbour", "inland", limit=2)
    assert sorted(found(got)) == [
        ("harbour", "The harbour tax is theft."),
        ("inland", "A harbour tax would ruin us."),
    ]
    assert (got.corpora, got.passages) == (("harbour", "inland"), 2)


async def test_a_follow_up_finds_what_only_the_question_before_it_names(app: App) -> None:
    alone = await answer(app, "And what of theft?", "harbour")
    assert found(alone) == [("harbour", "The harbour tax is theft.")]
    after = await answer(app, "And is it quiet?", "harbour", earlier=["What of the harbour?"])
    assert found(after)[0] == ("harbour", "The harbour is quiet.")
    assert ("harbour", "The harbour tax is theft.") in found(after)
    assert after.question.earlier == ("What of the harbour?",)


async def test_a_new_subject_is_not_lost_among_what_was_asked_before(app: App) -> None:
    got = await answer(app, "What about tea?", "harbour", earlier=["What of the harbour tax?"])
    assert ("harbour", "Tea is cheap.") in found(got)


async def test_follow_up_without_a_subject_uses_the_last_named_one(app: App) -> None:
    earlier = ["What did he say about gulls?", "And in 2013?"]
    got = await answer(app, "And later in 7?", "harbour", earlier=earlier, limit=2)
    assert {text for _, text in found(got)} == set(GULLS)
    alone = await answer(app, "And later in 7?", "harbour", limit=2)
    assert found(alone) == [("harbour", "filler number 7 about the weather")]


async def test_complete_question_is_searched_without_earlier_ones(app: App) -> None:
    asked = "What did he say about gulls?"
    got = await answer(app, asked, "harbour", earlier=["What of the harbour tax?"])
    assert sorted(text for _, text in found(got)) == sorted(GULLS)
    assert got.passages == 2
    assert got.question.earlier == ("What of the harbour tax?",), "the model is told"


async def test_age_of_a_text_does_not_change_its_score(app: App) -> None:
    now = datetime(2010, 3, 1, tzinfo=UTC)
    got = await answer(app, "gulls and sandwiches", "harbour", now=now)
    assert sorted(text for _, text in found(got)) == sorted(GULLS)
    first, second = (source.passage.hit.score for source in got.sources)
    assert first == pytest.approx(second, abs=1e-9)


async def test_filters_and_the_mode_reach_the_search(app: App) -> None:
    early = Filters(before=datetime(2010, 1, 2, tzinfo=UTC))
    got = await answer(app, "the harbour", "harbour", filters=early, mode=Mode.HYBRID)
    assert found(got) == [("harbour", "The harbour tax is theft.")]
    assert got.mode is Mode.LEXICAL
    assert (got.notice or "").startswith("Searched by words alone: ")


async def test_without_a_name_all_that_fit_are_asked(app: App) -> None:
    assert [one.name for one in await corpora_for(app, [])] == ["harbour", "inland"]
    with pytest.raises(SeveralCorpora):
        await corpora_for(app, [""])
