"""Chats and their settings are remembered."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, timezone

from db.chat.answers import Answers
from db.chat.chats import Chats, Quotas
from db.pool import Database
from engine.chat import Answer, Chat, Listening, PostPicture
from engine.search import HitKind
from tests.bot.prophecies import make_hit, make_prophecy
from tests.database import fetch_value

NOW = datetime(2024, 6, 1, tzinfo=UTC)


async def meet(chats: Chats, external_id: str = "1", *, title: str | None = None) -> Chat:
    return await chats.meet("test", external_id, private=False, title=title)


async def version(database: Database) -> object:
    """What changes with every write of the only chat."""
    return await fetch_value(database, "SELECT xmin::text FROM chat")


async def test_a_new_chat_has_the_defaults(database: Database) -> None:
    chats = Chats(database)
    chat = await chats.meet("test", "1", private=True, title="Us", time_zone="Asia/Tokyo")
    assert chat == Chat(
        id=chat.id,
        platform="test",
        external_id="1",
        private=True,
        title="Us",
        time_zone="Asia/Tokyo",
        listening=Listening.parse("mentions"),
        threshold=HitKind.MIRROR,
    )


async def test_meeting_a_known_chat_writes_nothing(database: Database) -> None:
    chats = Chats(database)
    first = await meet(chats, title="Us")
    before = await version(database)
    assert await meet(chats, title="Us") == first
    assert await meet(chats) == first
    assert await version(database) == before


async def test_concurrent_first_meetings_create_one_chat(database: Database) -> None:
    met = await asyncio.gather(*(meet(Chats(database)) for _ in range(8)))
    assert len({chat.id for chat in met}) == 1


async def test_a_new_title_is_kept(database: Database) -> None:
    chats = Chats(database)
    await meet(chats, title="Us")
    assert (await meet(chats, title="Them")).title == "Them"
    assert (await meet(chats)).title == "Them"


async def test_only_settings_are_updated(database: Database) -> None:
    chats = Chats(database)
    chat = await meet(chats, title="Us")
    changed = replace(
        chat,
        language="es",
        time_zone="Europe/Madrid",
        corpus="demo",
        listening=Listening.parse("all"),
        threshold=HitKind.PREDICTION,
        quiet_from=time(23, 30),
        quiet_to=time(0),
        picture=PostPicture.ON,
    )
    await chats.set_active("test", "1", active=False)
    await chats.change(replace(changed, title="Other"))
    assert await fetch_value(database, "SELECT active FROM chat") is False
    assert await meet(chats) == changed


async def test_a_chat_may_be_active_again_and_is_once_it_speaks(database: Database) -> None:
    chats = Chats(database)
    await meet(chats)
    for active in (False, True):
        await chats.set_active("test", "1", active=active)
        assert await fetch_value(database, "SELECT active FROM chat") is active
    await chats.set_active("test", "1", active=False)
    assert (await meet(chats)).active


async def test_activating_an_unknown_chat_does_not_create_it(database: Database) -> None:
    for active in (False, True):
        await Chats(database).set_active("test", "unknown", active=active)
    assert await fetch_value(database, "SELECT count(*) FROM chat") == 0


async def test_a_chat_moves_with_its_settings_and_answers(database: Database) -> None:
    chats, answers = Chats(database), Answers(database)
    old = await meet(chats)
    await chats.change(replace(old, threshold=HitKind.EARLIER_CASE))
    answer = Answer(prophecy=make_prophecy(make_hit()), asked_at=NOW, first=0, last=3)
    kept = await answers.keep(old, None, answer)
    await meet(chats, "2")  # somebody spoke there before the move was told
    for _ in range(2):
        await chats.move("test", "1", "2")
    moved = await meet(chats, "2")
    assert (moved.id, moved.threshold) == (old.id, HitKind.EARLIER_CASE)
    assert await answers.get(moved, kept)


async def test_a_move_of_an_unknown_chat_changes_nothing(database: Database) -> None:
    chats = Chats(database)
    there = await meet(chats, "2")
    await chats.move("test", "1", "2")
    await chats.move("other", "1", "2")
    assert await meet(chats, "2") == there


async def test_only_chats_that_the_bot_has_met_are_found(database: Database) -> None:
    chats = Chats(database)
    assert await chats.find_chat("test", "1") is None
    assert await chats.find_chat("test", "1") is None, "asking is not meeting"
    met = await meet(chats)
    assert await chats.find_chat("test", "1") == met
    assert await chats.find_chat("other", "1") is None


NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


async def test_each_scope_has_its_count(database: Database) -> None:
    quotas = Quotas(database)
    assert [await quotas.use("a", now=NOON) for _ in range(3)] == [1, 2, 3]
    assert await quotas.use("b", now=NOON) == 1


async def test_a_day_begins_at_midnight_utc(database: Database) -> None:
    quotas = Quotas(database)
    last = datetime(2024, 6, 1, 23, 59, 59, tzinfo=UTC)
    assert await quotas.use("a", now=last) == 1
    # The same moment, told where it is tomorrow already.
    assert await quotas.use("a", now=last.astimezone(timezone(timedelta(hours=9)))) == 2
    assert await quotas.use("a", now=last + timedelta(seconds=1)) == 1


async def test_concurrent_uses_are_all_counted(database: Database) -> None:
    quotas = Quotas(database)
    counts = await asyncio.gather(*(quotas.use("a", now=NOON) for _ in range(20)))
    assert sorted(counts) == list(range(1, 21))


async def test_counts_are_kept_for_a_week(database: Database) -> None:
    quotas = Quotas(database)
    for days in (0, 7, 8):
        await quotas.use("a", now=NOON - timedelta(days=days))
    await quotas.forget(now=NOON)
    again = [await quotas.use("a", now=NOON - timedelta(days=days)) for days in (0, 7, 8)]
    assert again == [2, 2, 1]
