"""Each provider is asked in its own form, and what goes wrong has one name for all of them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.errors import (
    SettingsError,
    WebSearchError,
    WebSearchLimited,
    WebSearchRefused,
    WebSearchSpent,
    WebSearchUnreachable,
)
from engine.settings.fetching import WebSearchSettings
from engine.web.providers import HttpSearch
from engine.web.results import FORMS, WebAnswer, WebResult, shorten_query
from tests.fakes.search import KEY, LIMITED, SPENT, Hit, SearchServer, dropped, garbage
from tests.fakes.stand_in import Step, answer, slow

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PROVIDERS = tuple(FORMS)
REPORT = Hit(
    "https://Harbour.example:443/report?utm_source=x&id=7#top",
    "Harbour  traffic",
    snippet="4,310 ships\ncame.",
    text="First paragraph.\n\n\nSecond\x00 paragraph.",
    date="2025-02-03T08:00:00",
)
ADDRESS = "https://harbour.example/report?id=7"


@pytest.fixture
async def server() -> AsyncIterator[SearchServer]:
    async with SearchServer() as ready:
        ready.found["harbour"] = [
            REPORT,
            Hit("javascript:alert(1)", "bad"),
            Hit("https://me:pw@e.org/", "bad"),
            *(Hit(f"https://e.org/{number}", f"{number}") for number in range(30)),
        ]
        yield ready


async def asked(
    server: SearchServer,
    provider: str,
    query: str = "harbour",
    *,
    limit: int = 3,
    key: str | None = KEY,
    **settings: Any,
) -> WebAnswer:
    chosen = WebSearchSettings(**settings)
    search = HttpSearch(provider, chosen, key=key, url=server.url(provider))
    try:
        return await search.search(query, limit=limit, now=NOW)
    finally:
        await search.aclose()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_usable_results_come_in_order(server: SearchServer, provider: str) -> None:
    found = await asked(server, provider)
    first = found.results[0]
    assert (first.url, first.title) == (ADDRESS, "Harbour traffic")
    assert [result.url for result in found.results][1:] == ["https://e.org/0", "https://e.org/1"][
        : len(found.results) - 1
    ]
    assert server.asked == [(provider, "harbour")]


async def test_each_provider_response_is_read_into_a_result(server: SearchServer) -> None:
    date = datetime(2025, 2, 3, 8, tzinfo=UTC)
    page = WebResult(url=ADDRESS, title="Harbour traffic")
    by_provider = {name: (await asked(server, name)).results[0] for name in PROVIDERS}
    assert by_provider == {
        "exa": replace(page, text="First paragraph.\n\nSecond paragraph.", date=date),
        "serper": page,
        "brave": replace(page, date=date),
        "tavily": page,
        "searxng": replace(page, date=date),
    }


async def test_a_search_costs_what_provider_or_else_settings_say(server: SearchServer) -> None:
    prices = ("exa = 5", "brave = 0.003")
    assert (await asked(server, "exa", prices=prices)).cost_usd == 0.007
    assert (await asked(server, "brave", prices=prices)).cost_usd == 0.003
    assert (await asked(server, "serper", prices=prices)).cost_usd is None


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_finding_nothing_is_no_error(server: SearchServer, provider: str) -> None:
    if provider == "searxng":
        server.script[provider] = [answer({"results": [], "unresponsive_engines": []})]
    assert (await asked(server, provider, "nothing")).results == ()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_long_queries_are_cut_for_every_provider(server: SearchServer, provider: str) -> None:
    await asked(server, provider, f"harbour\n{'word ' * 60}")
    await asked(server, provider, f"harbour {'w' * 90} " * 9)
    for _, query in server.asked:
        assert len(query) <= 400
        assert len(query.split()) <= 50
        assert query.startswith("harbour w")


def test_a_cut_query_ends_with_a_word() -> None:
    assert shorten_query("a\tb  c") == "a b c"
    assert shorten_query("word " * 60) == " ".join(["word"] * 50)
    assert shorten_query("x" * 300 + " " + "y" * 300) == "x" * 300


@pytest.mark.parametrize("provider", SPENT)
async def test_spent_credits_give_a_time_to_rest(server: SearchServer, provider: str) -> None:
    server.script[provider] = [SPENT[provider]]
    with pytest.raises(WebSearchSpent, match=provider) as caught:
        await asked(server, provider)
    assert caught.value.rest == (86_000 if provider == "brave" else 3600)
    assert "Add credit" in str(caught.value)


@pytest.mark.parametrize("provider", LIMITED)
async def test_a_rate_limit_says_how_long_to_wait(server: SearchServer, provider: str) -> None:
    server.script[provider] = [LIMITED[provider]]
    with pytest.raises(WebSearchLimited, match="slow down") as caught:
        await asked(server, provider)
    assert caught.value.rest == {"brave": 2, "tavily": 7}.get(provider, 10)


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if FORMS[name].key_variable])
async def test_a_wrong_key_is_named_by_its_variable_and_never_shown(
    server: SearchServer, provider: str
) -> None:
    with pytest.raises(WebSearchRefused) as caught:
        await asked(server, provider, key="wrong-key-2")
    assert "wrong-key-2" not in str(caught.value)
    assert f"Check {provider.upper()}_API_KEY." in str(caught.value)
    assert caught.value.rest > 60


async def test_a_key_that_a_provider_repeats_is_masked(server: SearchServer) -> None:
    server.script["exa"] = [answer({"error": f"Bad key {KEY}"}, 400)]
    with pytest.raises(WebSearchRefused) as caught:
        await asked(server, "exa")
    assert KEY not in str(caught.value)


async def test_searxng_says_what_keeps_it_from_answering(server: SearchServer) -> None:
    with pytest.raises(WebSearchUnreachable, match="No engine of searxng answered: google"):
        await asked(server, "searxng", "nothing")
    server.json_allowed = False
    with pytest.raises(WebSearchRefused, match="Allow the format json"):
        await asked(server, "searxng")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("step", "error", "said"),
    [
        (garbage(), WebSearchError, "no results of a search"),
        (garbage(b"[" * 100_000), WebSearchError, "no results of a search"),
        (garbage(b'{"x": "' + b"x" * 5_000_000), WebSearchError, "no results of a search"),
        (answer({"error": "oops"}, 503), WebSearchUnreachable, r"failed \(503\)"),
        (answer({}, 302, {"Location": "https://e.org/"}), WebSearchRefused, "redirects"),
        (dropped, WebSearchUnreachable, "no connection"),
    ],
    ids=["html", "nested", "huge", "503", "redirect", "dropped"],
)
async def test_bad_responses_raise_the_right_error(
    server: SearchServer, provider: str, step: Step, error: type[WebSearchError], said: str
) -> None:
    server.script[provider] = [step]
    with pytest.raises(error, match=said):
        await asked(server, provider)


@pytest.mark.parametrize(
    "results", [None, "x", [None, 1, "x", {}, {"url": 5}, {"url": "https://e.org/", "title": 9}]]
)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_results_of_other_types_are_left_out(
    server: SearchServer, provider: str, results: object
) -> None:
    server.script[provider] = [
        answer({"results": results, "organic": results, "web": {"results": results}})
    ]
    found = await asked(server, provider)
    assert {result.url for result in found.results} <= {"https://e.org/"}


async def test_a_slow_provider_is_not_waited_for(server: SearchServer) -> None:
    server.script["exa"] = [slow()]
    with pytest.raises(WebSearchUnreachable, match=r"no answer within 0.2 s"):
        await asked(server, "exa", timeout=0.2)


@pytest.mark.parametrize(
    ("provider", "key", "said"),
    [
        ("exa", None, "Set EXA_API_KEY"),
        ("brave", "two words", "Set BRAVE_API_KEY to the key alone"),
        ("tavily", "línea", "Set TAVILY_API_KEY to the key alone"),
        ("searxng", None, "searxng_url is empty"),
    ],
)
def test_unusable_provider_settings_are_rejected(provider: str, key: str | None, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        HttpSearch(provider, WebSearchSettings(), key=key)


async def test_searxng_is_asked_at_the_address_of_the_settings(server: SearchServer) -> None:
    base = server.url("searxng").removesuffix("search")
    search = HttpSearch("searxng", WebSearchSettings(searxng_url=base), key=None)
    assert (await search.search("harbour", limit=1, now=NOW)).results[0].url == ADDRESS
    await search.aclose()
