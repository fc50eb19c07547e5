"""An address is one voter a day, and nobody learns later whose it was."""

from datetime import datetime, timedelta

import httpx
import pytest

from db.chat.voters import VotingKeys
from tests.bot.web.stage import NOW, web_stage
from tests.bot.web.test_service import served
from tests.scenarios.stage import HEADLINE

VOTE = {"headline": HEADLINE, "date": "2024-06-01", "corpus": "demo", "id": "1", "vote": "up"}


async def vote(
    url: str, address: str, *, now: datetime = NOW, cookie: str | None = None
) -> list[str]:
    """Vote from an address, and return everybody who has voted."""
    headers = {"cookie": f"presagio_voter={cookie}"} if cookie else {}
    async with web_stage({"DATABASE_URL": url}, now=lambda: now, client=(address, 1)) as web:
        voted = await web.client.post("/vote", data=VOTE, headers=headers)
        assert voted.status_code == 303
        async with web.app.database.connection() as connection:
            rows = await connection.fetch("SELECT person FROM vote ORDER BY person")
    return [row["person"] for row in rows]


@pytest.mark.parametrize(
    ("addresses", "voters"),
    [
        (["192.0.2.7", "192.0.2.7"], 1),
        (["192.0.2.7", "192.0.2.8"], 2),
        (["192.0.2.7", "::ffff:192.0.2.7"], 1),
        (["2001:db8:1:2::1", "2001:db8:1:2:ffff::2"], 1),
        (["2001:db8:1:2::1", "2001:db8:1:3::1"], 2),
    ],
)
async def test_each_address_counts_once_whatever_it_sends(
    coffee_url: str, addresses: list[str], voters: int
) -> None:
    for number, address in enumerate(addresses):
        await vote(coffee_url, address)
        counted = await vote(coffee_url, address, cookie=f"{number:022}")
    assert len(counted) == voters


async def test_the_same_address_counts_again_on_another_day(coffee_url: str) -> None:
    await vote(coffee_url, "192.0.2.7")
    late = NOW.replace(hour=23, minute=59, second=59)
    assert len(await vote(coffee_url, "192.0.2.7", now=late)) == 1
    assert len(await vote(coffee_url, "192.0.2.7", now=late + timedelta(seconds=1))) == 2


async def test_no_address_is_kept_and_no_key_outlives_its_day(coffee_url: str) -> None:
    (voter,) = await vote(coffee_url, "192.0.2.7")
    assert "192.0.2" not in voter
    async with web_stage({"DATABASE_URL": coffee_url}) as web:
        keys = VotingKeys(web.app.database)
        known = await keys.today(now=NOW)
        await keys.forget(now=NOW)
        assert await keys.today(now=NOW) == known
        await keys.forget(now=NOW + timedelta(days=1))
        assert await keys.today(now=NOW) != known


@pytest.mark.parametrize(("trusted", "voters"), [("[]", 1), ('["127.0.0.1"]', 2)])
async def test_who_asks_is_what_a_trusted_proxy_says(
    coffee_url: str, trusted: str, voters: int
) -> None:
    environ = {"DATABASE_URL": coffee_url}
    async with served(environ, trusted_proxies=trusted) as one, httpx.AsyncClient() as client:
        for address in ("203.0.113.5", "203.0.113.5", "2001:db8::1", "2001:db8::2"):
            headers = {"x-forwarded-for": address}
            voted = await client.post(f"{one.service.address}vote", data=VOTE, headers=headers)
            assert voted.status_code == 303
    async with web_stage(environ) as web, web.app.database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM vote") == voters
