"""Searches are remembered for a while, without what people wrote to each other, and harm none."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from db.logs import Asker, Log, LogEntry, LoggedSearch, Origin, SearchJob
from db.pool import Database
from engine.budget import BudgetSource
from engine.values import Usage
from tests.database import fetch_rows, fetch_value, run_sql
from tests.db.loading import load_texts
from tests.patience import PATIENCE

NOW = datetime.now(UTC)
MONTH = timedelta(days=30)


def search(text: str = "coffee", **changes: object) -> LoggedSearch:
    """A quotable find of just now that found one text; `changes` are of LoggedSearch."""
    made = LoggedSearch(
        asker=Asker(origin=Origin.CONSOLE, task="run-1", source=BudgetSource.CONSOLE),
        job=SearchJob.FIND,
        asked_at=NOW,
        milliseconds=12.5,
        text=text,
        quotable=True,
        corpus="demo",
        plan="ranked",
        counts={"corpus": 9, "matching": None},
        returned=("7",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # fields of LoggedSearch


@pytest.fixture
def log(database: Database) -> Log:
    return Log(database, MONTH)


async def kept(log: Log, **options: object) -> list[LogEntry]:
    return await log.recent(now=NOW, limit=100, **options)  # type: ignore[arg-type]  # of recent


def texts(entries: Sequence[LogEntry]) -> list[str | None]:
    return [entry.query for entry in entries]


async def test_a_logged_search_is_loaded_with_query_and_results(log: Log) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=2, cost_usd=0.5)
    filters = ("lang:en",)
    await log.record(search(expanded="(a | b)", filters=filters, usage=usage))
    [entry] = await kept(log)
    assert (entry.asked_at, entry.task, entry.origin) == (NOW, "run-1", "console")
    assert (entry.job, entry.corpus, entry.query) == ("find", "demo", "coffee")
    assert (entry.expanded, entry.filters, entry.plan) == ("(a | b)", filters, "ranked")
    assert (entry.counts, entry.returned) == ({"corpus": 9, "matching": None}, ("7",))
    assert (entry.milliseconds, entry.cost_usd, entry.error) == (12.5, 0.5, None)
    assert (entry.prompt_tokens, entry.completion_tokens) == (10, 2)


async def test_the_newest_come_first_and_no_more_than_asked_for(log: Log) -> None:
    for text in ("a", "b", "c"):
        await log.record(search(text))
    assert texts(await log.recent(now=NOW, limit=2)) == ["c", "b"]


async def test_failed_searches_are_those_without_hits_or_with_errors(log: Log) -> None:
    await log.record(search("found"))
    await log.record(search("nothing", returned=()))
    await log.record(search("broken", error="CorpusNotFound", returned=()))
    assert texts(await kept(log, failed=True)) == ["broken", "nothing"]


async def test_a_private_message_is_stored_only_as_a_hash(log: Log, database: Database) -> None:
    secret = "Xylophones are cheaper in March"
    await log.record(search(secret, quotable=False))
    await log.record(search(secret, quotable=False))
    await log.record(search("another", quotable=False))
    hashes = [entry.query_hash for entry in await kept(log)]
    assert len(set(hashes)) == 2
    rows = await fetch_rows(database, "SELECT l::text AS row FROM search_log l")
    assert not any(
        word in row["row"] for row in rows for word in ("Xylophones", "cheaper", "March")
    )


async def test_the_hash_depends_on_a_key_of_the_database(log: Log, database: Database) -> None:
    """The key is this database's own: a list of likely headlines does not give them away."""
    await log.record(search("coffee"))
    before = (await kept(log))[0].query_hash
    await run_sql(database, "UPDATE search_log_key SET key = gen_random_uuid()")
    await log.record(search("coffee"))
    assert (await kept(log))[0].query_hash != before


async def test_recording_a_search_deletes_expired_ones(log: Log, database: Database) -> None:
    await log.record(search("old", asked_at=NOW - MONTH + timedelta(hours=1)))
    assert texts(await kept(log)) == ["old"]
    later = NOW + timedelta(hours=2)
    assert await log.recent(now=later, limit=10) == []
    await log.record(search("new", asked_at=later))
    assert await fetch_value(database, "SELECT array_agg(query) FROM search_log") == ["new"]


async def test_a_retention_of_zero_stores_nothing_and_deletes_the_rest(
    log: Log, database: Database
) -> None:
    await log.record(search())
    await Log(database, timedelta()).record(search("more", asked_at=NOW + timedelta(seconds=1)))
    assert await fetch_value(database, "SELECT count(*) FROM search_log") == 0


@pytest.mark.parametrize("text", ["", "\ud83d\ude00 café", "x" * 10_000, "' OR 1=1 --"])
async def test_any_text_is_logged(log: Log, text: str) -> None:
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16")
    await log.record(search(clean))
    assert texts(await kept(log)) == [clean[:2000]]


async def test_a_database_that_is_gone_harms_no_search(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await database.close()
    await Log(database, MONTH).record(search("secret words"))
    assert "a search was not logged" in caplog.text
    assert "secret" not in caplog.text


async def test_a_locked_log_delays_a_search_only_briefly(
    log: Log, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.logs._PATIENCE", 0.2)
    async with database.transaction() as connection:
        await connection.execute("LOCK TABLE search_log")
        async with asyncio.timeout(PATIENCE):
            await log.record(search())
    assert await kept(log) == []


async def test_an_entry_waits_for_no_disk(log: Log, database: Database) -> None:
    """The statement itself turns the wait off, for its own transaction only."""
    await log.record(search())
    async with database.connection() as connection:
        [setting] = await connection.fetch("SHOW synchronous_commit")
        assert "set_config('synchronous_commit', 'off', true)" in log._sql["record"]
        outside = await connection.fetchval(
            "SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'"
        )
    assert setting[0] == outside


class TestMissed:
    async def test_words_of_failed_finds_are_listed_most_frequent_first(
        self, log: Log, database: Database
    ) -> None:
        demo = await load_texts(database, "demo", ["a text"])
        for text in ("auth lang:en -no", "fed rates", "fed rates", "found"):
            await log.record(search(text, returned=("1",) if text == "found" else ()))
        assert await log.list_missed(demo, 10) == ["fed", "rates", "auth"]
        assert await log.list_missed(demo, 2) == ["fed", "rates"]

    async def test_other_corpora_headlines_errors_and_messages_are_left_out(
        self, log: Log, database: Database
    ) -> None:
        demo = await load_texts(database, "demo", ["a text"])
        await log.record(search("elsewhere", corpus="other", returned=()))
        await log.record(search("headline", job=SearchJob.SEARCH, returned=()))
        await log.record(search("broken", error="CorpusNotFound", returned=()))
        await log.record(search("message", quotable=False, returned=()))
        await log.record(search('"a phrase"', returned=()))
        assert await log.list_missed(demo, 10) == []
