"""The glossary in the database: what holds where, at once, and what never comes back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from db.corpus.corpora import Corpora
from db.corpus.glossary import Groups
from db.pool import Database
from db.search.aliases import Glossaries
from engine.errors import InputError
from engine.glossary.groups import GroupStatus
from engine.values import Corpus
from tests.database import pool_on, run_sql
from tests.db.loading import load_texts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = ["The Federal Reserve meets", "Authentication failed", "Fed up with cars"]


@pytest.fixture
async def corpus(database: Database) -> Corpus:
    return await load_texts(database, "one", TEXTS, "english")


@pytest.fixture
async def other_process(database_url: str) -> AsyncIterator[Database]:
    async with pool_on(database_url) as opened:
        yield opened


async def aliases(
    database: Database, word: str, name: str = "one", known: Glossaries | None = None
) -> tuple[str, ...]:
    """Return what stands for a word in a corpus, as a request finds it."""
    corpus = await Corpora(database).get(name)
    found = await (known or Glossaries(database)).of(corpus)
    return found.of({"english": (word,)})


async def only_id(groups: Groups) -> int:
    (group,) = await groups.groups()
    return group.id


async def test_a_group_holds_in_one_corpus_or_in_all(database: Database, corpus: Corpus) -> None:
    await load_texts(database, "two", TEXTS, "english")
    assert await Groups(database).add(corpus, ("auth", "authentication"), now=NOW)
    assert await aliases(database, "auth") == ("authentication",)
    assert await aliases(database, "auth", "two") == ()
    await Groups(database).add(None, ("Fed", "Federal Reserve"), now=NOW)
    assert await aliases(database, "fed") == ("Federal Reserve",)
    assert await aliases(database, "fed", "two") == ("Federal Reserve",)


async def test_pending_groups_do_not_apply(database: Database, corpus: Corpus) -> None:
    groups = Groups(database)
    assert await groups.propose(corpus, ("auth", "login"), sure=True, now=NOW)
    assert await aliases(database, "auth") == ()
    assert [g.terms for g in await groups.groups(status=GroupStatus.PENDING)] == [("auth", "login")]
    await groups.approve([await only_id(groups)])
    assert await aliases(database, "auth") == ("login",)


async def test_another_process_sees_changes_at_once(
    database: Database, other_process: Database, corpus: Corpus
) -> None:
    there = Glossaries(other_process)
    groups = Groups(database)
    assert await aliases(other_process, "auth", known=there) == ()
    await groups.propose(None, ("auth", "authentication"), sure=None, now=NOW)
    await groups.approve([await only_id(groups)])
    assert await aliases(other_process, "auth", known=there) == ("authentication",)
    await groups.reject([await only_id(groups)], now=NOW)
    assert await aliases(other_process, "auth", known=there) == ()


async def test_an_unchanged_glossary_is_read_once(database: Database, corpus: Corpus) -> None:
    await Groups(database).add(None, ("auth", "authentication"), now=NOW)
    known, corpus = Glossaries(database), await Corpora(database).get("one")
    assert await known.of(corpus) is await known.of(await Corpora(database).get("one"))


async def test_a_language_that_comes_later_reads_the_groups_too(
    database: Database, corpus: Corpus
) -> None:
    await Groups(database).add(None, ("car", "coches"), now=NOW)
    known = Glossaries(database)
    await known.of(await Corpora(database).get("one"))
    await run_sql(database, "INSERT INTO corpus_language VALUES ($1, 'spanish', 1)", corpus.id)
    found = await known.of(await Corpora(database).get("one"))
    assert found.of({"spanish": ("coch",)}) == ("car",)


@pytest.mark.parametrize("again", [("login", "AUTH"), ("Log-in", "auth"), ("auth", "login")])
async def test_a_rejected_pair_never_returns_in_any_order_or_case(
    database: Database, corpus: Corpus, again: tuple[str, str]
) -> None:
    groups = Groups(database)
    await groups.propose(corpus, ("Auth", "LOG IN"), sure=True, now=NOW)
    await groups.propose(corpus, ("auth", "login"), sure=True, now=NOW)
    ids = [group.id for group in await groups.groups()]
    await groups.reject(ids, now=NOW)
    assert not await groups.propose(corpus, again, sure=True, now=NOW)
    assert not await groups.propose(corpus, again, sure=True, status=GroupStatus.APPROVED, now=NOW)
    assert not await groups.propose(None, (*again, "third"), sure=False, now=NOW)
    assert await groups.groups() == []


async def test_a_removed_group_is_not_suggested_again(database: Database, corpus: Corpus) -> None:
    groups = Groups(database)
    await groups.add(None, ("auth", "login"), now=NOW)
    assert await groups.reject([await only_id(groups)], now=NOW) == [("auth", "login")]
    assert not await groups.propose(corpus, ("auth", "login"), sure=True, now=NOW)


async def test_a_rejection_in_one_corpus_leaves_another_alone(
    database: Database, corpus: Corpus
) -> None:
    other = await load_texts(database, "two", TEXTS, "english")
    groups = Groups(database)
    await groups.add(None, ("Fed", "Federal Reserve"), now=NOW)
    await groups.bar(corpus, ("fed", "federal reserve"), now=NOW)
    await groups.bar(corpus, ("auth", "login"), now=NOW)
    assert await groups.propose(other, ("auth", "login"), sure=True, now=NOW)
    assert await aliases(database, "fed") == ()
    assert await aliases(database, "fed", "two") == ("Federal Reserve",)


async def test_adding_a_rejected_pair_overrides_the_rejection(
    database: Database, corpus: Corpus
) -> None:
    groups = Groups(database)
    await groups.bar(corpus, ("auth", "login"), now=NOW)
    await groups.bar(None, ("auth", "signin"), now=NOW)
    assert await groups.add(corpus, ("auth", "login"), now=NOW)
    assert await groups.add(corpus, ("auth", "signin"), now=NOW)
    assert await aliases(database, "auth") == ("login", "signin")
    assert [pair.pair for pair in await groups.rejected_pairs()] == [("auth", "signin")]


async def test_a_global_group_overrides_a_rejection_in_one_corpus(
    database: Database, corpus: Corpus
) -> None:
    groups = Groups(database)
    await groups.bar(corpus, ("auth", "login"), now=NOW)
    await groups.add(None, ("auth", "login"), now=NOW)
    assert await aliases(database, "auth") == ("login",)
    assert await groups.rejected_pairs() == []


async def test_rejecting_a_pair_removes_pending_groups_that_contain_it(
    database: Database, corpus: Corpus
) -> None:
    groups = Groups(database)
    await groups.propose(corpus, ("auth", "login", "signin"), sure=True, now=NOW)
    await groups.bar(None, ("login", "auth"), now=NOW)
    assert await groups.groups() == []


async def test_known_pairs_are_not_suggested(database: Database, corpus: Corpus) -> None:
    groups = Groups(database)
    await groups.add(None, ("auth", "login", "signin"), now=NOW)
    assert not await groups.propose(corpus, ("SIGNIN", "auth"), sure=True, now=NOW)
    assert not await groups.add(None, ("Login", "auth", "signin"), now=NOW)


async def test_an_unknown_group_number_changes_nothing(database: Database, corpus: Corpus) -> None:
    groups = Groups(database)
    await groups.propose(corpus, ("auth", "login"), sure=True, now=NOW)
    known = await only_id(groups)
    with pytest.raises(InputError, match="There is no group 999"):
        await groups.approve([known, 999])
    with pytest.raises(InputError, match="There is no group 999"):
        await groups.reject([known, 999], now=NOW)
    assert [g.status for g in await groups.groups()] == [GroupStatus.PENDING]


async def test_a_suggestion_never_overtakes_its_rejection(
    database: Database, other_process: Database, corpus: Corpus
) -> None:
    here, there = Groups(database), Groups(other_process)
    for round_ in range(10):
        terms = (f"word{round_}", f"other{round_}")
        await asyncio.gather(
            here.propose(corpus, terms, sure=True, now=NOW),
            there.bar(None, terms, now=NOW),
            here.propose(None, terms[::-1], sure=True, now=NOW),
        )
    assert await here.groups() == []


async def test_groups_go_with_their_corpus(database: Database, corpus: Corpus) -> None:
    groups = Groups(database)
    await groups.add(corpus, ("auth", "login"), now=NOW)
    await groups.bar(corpus, ("a", "b"), now=NOW)
    await Corpora(database).drop("one")
    assert (await groups.groups(), await groups.rejected_pairs()) == ([], [])


async def test_a_sample_comes_from_all_over_the_corpus(database: Database) -> None:
    corpus = await load_texts(database, "many", [f"text {n}" for n in range(100)])
    sample = await Groups(database).sample(corpus, 10)
    assert len(sample) == 10
    assert int(sample[-1].split()[1]) - int(sample[0].split()[1]) == 90
