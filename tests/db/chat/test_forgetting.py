"""What is stored about a person or a chat goes when it is to, and what is of others stays."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from db.chat.answers import Answers, AskedQuestion, Questions
from db.chat.chats import Access, Chats, Forgetting, Forgotten, Quotas, Waiting
from db.chat.compositions import ComposeTask, Compositions
from db.logs import Asker, Log, LoggedSearch, Origin, SearchJob
from db.pool import Database
from db.posting.feeds import Feeds
from engine.budget import BudgetSource
from engine.chat import AdmissionState, Answer, Chat
from engine.compose.composition import ComposeRequest, Composition
from tests.bot.prophecies import make_hit, make_prophecy

NOW = datetime(2026, 1, 8, 12, tzinfo=UTC)
ANA, BOB, CARL, GROUP = "4242424242", "5353535353", "6464646464", "-1007070707"


@pytest.fixture
async def stored(database: Database) -> Mapping[str, Chat]:
    """Ana and Bob have each done everything in private, and voted and written in a group."""
    chats = Chats(database)
    group = await chats.meet("telegram", GROUP, private=False, title="A group")
    answer = await _everything(database, group, CARL, event=f"telegram:{GROUP}:1")
    stored = {GROUP: group}
    for person in (ANA, BOB):
        chat = await chats.meet("telegram", person, private=True, title=None)
        stored[person] = chat
        await _everything(database, chat, person, event=f"telegram:{person}:1")
        await Answers(database).vote(answer, 1, f"telegram:{person}", 1)
        await _composed(database, group, person)
        await _asked(database, group, person)
        await Access(database).record(
            "telegram", person, AdmissionState.ALLOWED, title=f"@{person}", language="en", now=NOW
        )
        for scope in (f"user:telegram:{person}", f"compose:telegram:{person}"):
            await Quotas(database).use(scope, now=NOW - timedelta(days=1))
            await Quotas(database).use(scope, now=NOW)
    return stored


async def _everything(database: Database, chat: Chat, person: str, *, event: str) -> Answer:
    given = Answer(prophecy=make_prophecy(make_hit(1)), asked_at=NOW, first=0, last=1)
    answer = replace(given, id=await Answers(database).keep(chat, None, given))
    await Answers(database).vote(answer, 1, f"telegram:{person}", 1)
    await _asked(database, chat, person)
    await Waiting(database).keep(chat, None, f"/find {person}", written_at=None, now=NOW)
    await Quotas(database).use(f"chat:{chat.id}", now=NOW)
    await _composed(database, chat, person)
    nothing = Composition(request=ComposeRequest(prompt=person, corpora=()))
    await Compositions(database).keep_draft(f"daily:{chat.id}:2026-01-08", nothing, now=NOW)
    await Feeds(database).add(chat, f"https://feeds.test/{person}", now=NOW)
    asker = Asker(origin=Origin.CHAT, task=event, source=BudgetSource.CHATS)
    search = LoggedSearch(
        asker=asker,
        job=SearchJob.FIND,
        asked_at=NOW,
        milliseconds=1.0,
        text=person,
        quotable=True,
    )
    await Log(database, timedelta(days=30)).record(search)
    return answer


async def _asked(database: Database, chat: Chat, person: str) -> None:
    asked = AskedQuestion(
        chat=chat,
        thread=None,
        corpus="demo",
        now=NOW,
        event_id=f"{chat.external_id}:1",
        person=f"telegram:{person}",
    )
    await Questions(database).keep(asked, f"What of {person}?")


async def _composed(database: Database, chat: Chat, person: str) -> None:
    task = ComposeTask(
        prompt=f"About {person}",
        corpora=("demo",),
        person=f"telegram:{person}",
        language="en",
    )
    await Compositions(database).keep(chat, None, task, now=NOW)


async def mentions(database: Database, name: str) -> dict[str, int]:
    """Return the number of rows of each table in which a name occurs."""
    found = {}
    async with database.connection() as connection:
        tables = await connection.fetch(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = current_schema()::regnamespace"
        )
        for (table,) in tables:
            found[table] = await connection.fetchval(
                f"SELECT count(*) FROM {table} AS row WHERE row::text LIKE '%' || $1 || '%'", name
            )
    return {table: rows for table, rows in found.items() if rows}


async def test_forgetting_a_person_deletes_only_their_data(
    database: Database, stored: Mapping[str, Chat]
) -> None:
    before = await mentions(database, BOB)
    gone = await Forgetting(database).person("telegram", ANA, chat=ANA, now=NOW)
    assert gone == Forgotten(chats=1, votes=1, compositions=1, searches=1)
    assert await mentions(database, ANA) == {"quota": 2}  # today's, or limits would not hold
    assert await mentions(database, BOB) == before
    assert await Chats(database).find_chat("telegram", GROUP) == stored[GROUP]
    assert not await Forgetting(database).person("telegram", ANA, chat=ANA, now=NOW)


async def test_forgetting_a_chat_deletes_all_its_data(
    database: Database, stored: Mapping[str, Chat]
) -> None:
    gone = await Forgetting(database).chat("telegram", GROUP)
    assert gone == Forgotten(chats=1, searches=1)
    assert await mentions(database, GROUP) == await mentions(database, CARL) == {}
    async with database.connection() as connection:
        drafts = await connection.fetch("SELECT delivery_key FROM draft ORDER BY 1")
        counted = await connection.fetchval(
            "SELECT count(*) FROM quota WHERE scope = $1", f"chat:{stored[GROUP].id}"
        )
    assert [row["delivery_key"] for row in drafts] == sorted(
        f"daily:{stored[person].id}:2026-01-08" for person in (ANA, BOB)
    )
    assert counted == 0
    assert await Chats(database).find_chat("telegram", ANA)


async def test_a_refused_admission_is_not_forgotten(database: Database) -> None:
    access = Access(database)
    await access.ask("telegram", ANA, title="@ana", language="en", now=NOW)
    await access.decide("telegram", ANA, AdmissionState.REFUSED, now=NOW)
    await Forgetting(database).person("telegram", ANA, chat=ANA, now=NOW)
    assert [admission.state for admission in await access.admissions("telegram")] == [
        AdmissionState.REFUSED
    ]


async def test_forgetting_a_person_keeps_feeds_that_others_read(database: Database) -> None:
    chats, feeds = Chats(database), Feeds(database)
    ana, bob = [await chats.meet("telegram", name, private=True, title=None) for name in (ANA, BOB)]
    for chat in (ana, bob):
        await feeds.add(chat, "https://feeds.test/both", now=NOW)
    await Forgetting(database).chat("telegram", ANA)
    assert [feed.url for feed in await feeds.of_chat(bob)] == ["https://feeds.test/both"]
