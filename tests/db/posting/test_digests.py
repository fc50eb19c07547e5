"""The last date that was decided for each chat."""

from datetime import date

from db.pool import Database
from db.posting.deciding import Digests
from db.posting.outbox import Outbox
from tests.db.news import NOW, subscribed


async def test_the_last_date_of_each_chat_is_known(database: Database) -> None:
    outbox, digests = Outbox(database), Digests(database)
    assert await digests.last_decided() == {}
    one, other = await subscribed(database, "1"), await subscribed(database, "2")
    for subscription, day in ((one, 21), (one, 22), (other, 20)):
        decided = date(2026, 11, day)
        assert await outbox.decide_daily(subscription, decided, content=None, now=NOW)
    assert await digests.last_decided() == {
        (one.chat.id, ""): date(2026, 11, 22),
        (other.chat.id, ""): date(2026, 11, 20),
    }
