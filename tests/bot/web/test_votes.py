"""An address is one voter a day, and nobody learns later whose it was; and who sees what strangers
voted for."""

import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser

from bot.cli.wall import decide_entries, list_entries
from bot.console.screen import Output
from bot.web.tools import TOOLS
from db.chat.answers import VotingKeys
from tests.bot.web.stage import NOW, WebStage, web_stage
from tests.bot.web.test_service import served
from tests.scenarios.stage import HEADLINE, TWEETS

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
async def test_each_address_counts_as_one_voter_with_any_cookie(
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
async def test_voter_address_comes_from_a_trusted_proxy_only(
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


WORD = "zugzwang"
STRANGE = f"Coffee prices hit a record high, says {WORD}"
ASKED = {"headline": HEADLINE, "date": "2023-05-04", "corpus": "demo"}

# What is asked at the addresses that need a question; {name}, {corpus} and {id} are those of a
# text.
QUESTIONS: dict[str, dict[str, str]] = {
    "/prophecy": ASKED,
    "/picture.png": ASKED,
    "/ask": {"question": "What is coffee?"},
    "/timeline": {"q": "coffee"},
    "/api/find": {"query": "coffee"},
    "/api/search": {"q": "coffee"},
    "/api/prophecy": {"headline": HEADLINE},
    "/api/ask": {"question": "What is coffee?"},
}
ARGUMENTS: dict[str, dict[str, str]] = {
    "search": {"q": "coffee"},
    "prophecy": {"headline": HEADLINE},
    "find": {"query": "coffee"},
    "ask": {"question": "What is coffee?"},
    "corpora": {},
    "document": {"corpus": "demo", "id": "1"},
}
# Where a prophecy stands that everybody may read.
PUBLIC = ["/", "/corpora/demo", "/documents/demo/1", "/wall"]


def addresses(web: WebStage) -> list[str]:
    """Return a path for every route that answers GET."""
    routes: list[Any] = list(web.application.routes)
    for router in [route for route in routes if hasattr(route, "original_router")]:
        routes += router.original_router.routes
    paths = {route.path for route in routes if "GET" in (getattr(route, "methods", None) or ())}
    named = {"name": "demo", "corpus": "demo", "id": "1", "year": "2012", "month": "3"}
    return sorted(re.sub(":path|:int", "", path).format(**named) for path in paths)


async def holding(web: WebStage, word: str = WORD) -> list[str]:
    """Return the paths whose answers hold a word, of all that there are."""
    found = []
    for path in addresses(web):
        answered = await web.get(path, **QUESTIONS.get(path, {}))
        assert answered.status_code == 404 if path.startswith("/media/") else 200, path
        if word in answered.text.lower():
            found.append(path)
    return found


@asynccontextmanager
async def voted(
    url: str, *voters: str, days: int = 1, headline: str = STRANGE, **settings: str
) -> AsyncIterator[WebStage]:
    """Lend the page after these addresses voted for a stranger's headline on so many days."""
    environ = {"DATABASE_URL": url}
    environ |= {f"PRESAGIO_WEB__{name.upper()}": value for name, value in settings.items()}
    for day in range(days):
        for address in voters:
            now = partial(NOW.__add__, timedelta(days=day))
            async with web_stage(environ, now=now, client=(address, 1)) as web:
                sent = await web.client.post("/vote", data=VOTE | {"headline": headline})
                assert sent.status_code == 303
    async with web_stage(environ) as web:
        yield web


async def listed(web: WebStage) -> list[dict[str, Any]]:
    """Return what `presagio wall list` prints."""
    printed = io.StringIO()
    await list_entries(web.app, limit=9, json=True, output=Output(printed, io.StringIO()))
    return [json.loads(line) for line in printed.getvalue().splitlines()]


async def decided(web: WebStage, *, approved: bool = True) -> None:
    """Do what `presagio wall approve` or `remove` does with all that is listed."""
    mute, ids = Output(io.StringIO(), io.StringIO()), [str(one["id"]) for one in await listed(web)]
    assert ids
    await decide_entries(web.app, ids, approved=approved, now=NOW, output=mute)


class TestAStrangersWords:
    """They appear nowhere but on their own page until the owner has approved them."""

    async def test_every_path_and_tool_is_covered_by_these_tests(
        self, coffee_web: WebStage
    ) -> None:
        known = {
            "/feed.json",
            "/feed.xml",
            "/metrics",
            "/openapi.json",
            "/robots.txt",
            "/compose",
            "/docs",
        }
        assert {*PUBLIC, *QUESTIONS, *known} <= set(addresses(coffee_web))
        assert {*ARGUMENTS, "compose"} == {tool.name for tool in TOOLS}

    async def test_headline_is_shown_on_its_own_answer_page(self, coffee_url: str) -> None:
        async with voted(coffee_url, "192.0.2.7") as web:
            asked = await web.get("/prophecy", **ASKED | {"headline": STRANGE})
        assert WORD in asked.text

    @pytest.mark.parametrize("settings", [{}, {"wall_voters": "2"}], ids=["owner", "two voters"])
    async def test_unapproved_headline_is_shown_on_no_public_page(
        self, coffee_url: str, settings: dict[str, str]
    ) -> None:
        async with voted(coffee_url, "192.0.2.7", days=3, **settings) as web:
            assert await holding(web) == []
            page = LexborHTMLParser((await web.get("/corpora/demo")).text)
            assert not page.css(".leads .story")
            for tool in TOOLS:
                if tool.name != "compose":
                    answer = await tool.call(web.shared, ARGUMENTS[tool.name])
                    assert WORD not in str(answer).lower(), tool.name

    async def test_voters_of_several_days_do_not_make_a_headline_public(
        self, coffee_url: str
    ) -> None:
        async with voted(coffee_url, "192.0.2.7", "192.0.2.8", days=2) as web:
            assert await holding(web) == []

    async def test_headline_with_enough_voters_of_one_day_is_public(self, coffee_url: str) -> None:
        async with voted(coffee_url, "192.0.2.7", "192.0.2.8", wall_voters="2") as web:
            # Headlines to try are the operator's own, and approved ones.
            assert await holding(web) == [path for path in PUBLIC if path != "/"]

    async def test_approved_headline_is_public(self, coffee_url: str) -> None:
        async with voted(coffee_url, "192.0.2.7") as web:
            (waiting,) = await listed(web)
            assert (waiting["state"], waiting["headline"]) == ("waiting", STRANGE)
            assert (waiting["up"], waiting["down"], waiting["text"]) == (1, 0, TWEETS[0])
            await decided(web)
            assert await holding(web) == sorted((*PUBLIC, "/feed.json", "/feed.xml"))
            (approved,) = await listed(web)
            assert approved["state"] == "approved"

    async def test_removed_headline_disappears_at_once(self, coffee_url: str) -> None:
        crowd = ("192.0.2.7", "192.0.2.8")
        async with voted(coffee_url, *crowd, wall_voters="2") as web:
            assert await holding(web) == [path for path in PUBLIC if path != "/"]
            assert [one["state"] for one in await listed(web)] == ["shown"]
            await decided(web, approved=False)
            assert await holding(web) == []
        async with voted(coffee_url, *crowd, "192.0.2.9", days=2, wall_voters="2") as web:
            assert await holding(web) == []
            (removed,) = await listed(web)
            assert (removed["state"], removed["up"]) == ("removed", 6)


async def test_configured_example_headlines_are_shown(coffee_url: str) -> None:
    environ = {"DATABASE_URL": coffee_url, "PRESAGIO_WEB__EXAMPLES": '["No coffee at high tide"]'}
    async with web_stage(environ) as web:
        for path in ("/", "/corpora/demo"):
            page = LexborHTMLParser((await web.get(path)).text)
            assert [link.text() for link in page.css(".examples a")] == ["No coffee at high tide"]


async def test_votes_can_be_switched_off(coffee_url: str) -> None:
    environ = {"DATABASE_URL": coffee_url, "PRESAGIO_WEB__VOTES": "false"}
    async with web_stage(environ) as web:
        page = LexborHTMLParser((await web.get("/prophecy", **ASKED)).text)
        assert page.css(".card")
        assert not page.css("form[action='/vote']")
        refused = await web.client.post("/vote", data=VOTE)
        assert refused.status_code == 403
        assert "Nobody votes on this page." in refused.text
        async with web.app.database.connection() as connection:
            assert await connection.fetchval("SELECT count(*) FROM vote") == 0
