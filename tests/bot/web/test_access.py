"""What a key opens, and by whose name and from whose page the port is asked: no other site makes a
browser do it."""

import hmac
from typing import Any

import feedparser
import httpx
import pytest
from pydantic import SecretStr
from selectolax.lexbor import LexborHTMLParser

from bot.settings import load_settings
from bot.settings.model import WebSettings
from bot.web.access import Keys, OwnNames, Right, describe_open_access
from tests.bot.web.stage import ADDRESS, WebStage, judging, speaking, web_stage
from tests.bot.web.test_feeds import filled, posted
from tests.bot.web.test_service import served
from tests.bot.web.test_webhooks import PATH, asking, webhook
from tests.fakes.model import ModelServer, scoring
from tests.scenarios.stage import HEADLINE, judged_by_words

PAGE = "https://omen.example.org"
EVIL = "https://evil.example"
ASKED = {"headline": HEADLINE, "date": "2023-05-04", "corpus": "demo"}
PATHS = ("/", "/corpora", "/feed.json", "/feed.xml", "/api/corpora", "/metrics", "/openapi.json",
         "/robots.txt", "/static/page.css")  # fmt: skip
# Wherever the port stands open: on this machine alone, behind a proxy, in a container.
PLACES = pytest.mark.parametrize(
    "place",
    [{}, {"trusted_proxies": '["127.0.0.1"]'}, {"host": "0.0.0.0"}],
    ids=["here", "proxy", "container"],
)


async def statuses(web: WebStage, host: str, paths: tuple[str, ...] = PATHS) -> set[int]:
    """Ask by the name of a host, and return how that ended."""
    answers = [await web.client.get(path, headers={"host": host}) for path in paths]
    return {answered.status_code for answered in answers}


class TestNames:
    @PLACES
    async def test_foreign_host_names_are_refused(
        self, coffee_url: str, place: dict[str, Any]
    ) -> None:
        own = ("localhost", "localhost:8080", "LOCALHOST.", "127.0.0.1:8080", "[::1]:8080")
        others = (
            *("evil.example", "evil.example:8080", "localhost.evil.example"),
            *("127.0.0.1.evil.example", "omen.example.org", "192.168.0.7:8080", "0.0.0.0:8080"),
            *("bot:8080", "[::1", ""),
        )
        async with web_stage(coffee_url, **place) as web:
            answers = {host: await statuses(web, host) for host in (*own, *others)}
        assert answers == {host: {200 if host in own else 400} for host in answers}

    async def test_refused_host_name_is_answered_with_the_setting_to_change(
        self, coffee_web: WebStage
    ) -> None:
        foreign = {"host": "omen.example.org"}
        problem = (await coffee_web.client.get("/api/corpora", headers=foreign)).json()
        assert (problem["status"], problem["message"]) == (400, "This name does not lead here.")
        assert problem["fix"] == "Use localhost, or name it in web.public_url or web.hosts."
        page = LexborHTMLParser((await coffee_web.client.get("/", headers=foreign)).text)
        said = [node.text() for node in page.css("h1, .intro")]
        assert said == [problem["message"], problem["fix"]]
        spanish = await coffee_web.client.get("/", params={"lang": "es"}, headers=foreign)
        assert "web.public_url" in spanish.text
        assert "lead here" not in spanish.text

    @PLACES
    async def test_configured_host_names_are_accepted(
        self, coffee_url: str, place: dict[str, Any]
    ) -> None:
        hosts = '["bot", "Presagio.lan", "10.0.0.7", "fd00::7"]'
        async with web_stage(coffee_url, public_url=f"{PAGE}/", hosts=hosts, **place) as web:
            for host in ("omen.example.org", "OMEN.example.org.", "omen.example.org:443",
                         "bot:8080", "presagio.LAN", "10.0.0.7:8080", "[fd00::7]"):  # fmt: skip
                assert await statuses(web, host) == {200}, host
            for host in ("example.org", "xomen.example.org", "bot.evil.example", "10.0.0.8"):
                assert await statuses(web, host) == {400}, host

    async def test_reloaded_host_names_apply(self, coffee_url: str) -> None:
        environ = {"DATABASE_URL": coffee_url, "WEB_ADMIN_KEYS": "boss"}
        async with (
            web_stage(environ) as web,
            web_stage(coffee_url, hosts='["bot"]') as changed,
        ):
            web.settings = changed.settings
            assert await statuses(web, "bot:8080") == {400}
            response = await web.client.post("/api/admin/reload", headers=speaking("boss"))
            assert "web.hosts" in response.json()["applied"]
            assert await statuses(web, "bot:8080") == {200}

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("https://oráculo.example", "xn--orculo-qta.example"),
            ("http://[2001:db8::7]:8080/omens", "[2001:db8::7]:8080"),
            ("https://OMEN.example:8443", "omen.example:8443"),
        ],
    )
    def test_configured_url_matches_the_browser_form_of_its_host(self, url: str, host: str) -> None:
        own = OwnNames.of(WebSettings(public_url=url))
        assert own.answers_to(host, arrived_at="127.0.0.1")
        page = f"{url.partition(':')[0]}://{host}"
        assert own.sends(page, host="127.0.0.1:8080", named_may=False)

    @pytest.mark.parametrize(
        ("host", "arrived_at", "leads"),
        [
            ("192.168.0.7:8080", "192.168.0.7", True),
            ("192.168.0.7:8080", "::ffff:192.168.0.7", True),
            ("[fe80::1]:8080", "fe80::1", True),
            ("192.168.0.8:8080", "192.168.0.7", False),
            ("192.168.0.7.evil.example", "192.168.0.7", False),
            ("evil.example", "evil.example", False),
            ("evil.example", "", False),
        ],
    )
    def test_the_address_that_a_request_reached_is_this_machine_s_own(
        self, host: str, arrived_at: str, leads: bool
    ) -> None:
        own = OwnNames.of(WebSettings())
        assert own.answers_to(host, arrived_at=arrived_at) is leads

    async def test_host_and_origin_checks_apply_over_a_real_socket(self, coffee_url: str) -> None:
        async with served(coffee_url, host="0.0.0.0", mcp="true") as one:
            port = one.service.address.rpartition(":")[2].strip("/")
            async with httpx.AsyncClient(base_url=f"http://127.0.0.2:{port}") as client:
                for path in ("/", "/feed.json"):
                    assert (await client.get(path)).status_code == 200
                    rebound = await client.get(path, headers={"host": f"evil.example:{port}"})
                    assert rebound.status_code == 400
                for headers, status in (
                    (
                        {"host": f"evil.example:{port}", "origin": f"http://evil.example:{port}"},
                        400,
                    ),
                    ({"origin": EVIL}, 403),
                ):
                    answered = await client.post("/mcp", json={}, headers=headers)
                    assert answered.status_code == status

    @PLACES
    async def test_probes_and_webhooks_are_asked_by_any(
        self, coffee_url: str, place: dict[str, Any]
    ) -> None:
        async with web_stage(coffee_url, **place) as web:
            for host in ("10.1.2.3:8080", "bot:8080", "omen.example.org", ""):
                assert await statuses(web, host, ("/healthz", "/readyz")) == {200}
            async with asking(web, [webhook()], host="omen.example.org") as client:
                pushed = await client.post(PATH, content=b"news", headers={"origin": EVIL})
                assert (pushed.status_code, pushed.content) == (202, b"news")
                assert (await client.get(PATH)).status_code == 400
                assert (await client.post(f"{PATH}/else", content=b"news")).status_code == 400


class TestLinks:
    @pytest.mark.parametrize("url", [f"{PAGE}/", PAGE])
    async def test_links_begin_with_the_configured_public_url(
        self, coffee_url: str, url: str
    ) -> None:
        async with web_stage(coffee_url, public_url=url) as web:
            shown = LexborHTMLParser((await web.get("/documents/demo/1")).text)
        tags = {str(tag.attributes.get("property")): tag for tag in shown.css("meta")}
        linked = [tags[name].attributes["content"] for name in ("og:url", "og:image")]
        linked += [node.attributes["data-copy"] for node in shown.css("[data-copy]")]
        linked += [node.attributes["data-share"] for node in shown.css("[data-share]")]
        assert len(linked) == 5
        last = [str(one).split("\n")[-1] for one in linked]
        assert all(one.startswith((f"{PAGE}/documents/demo/1", f"{PAGE}/card/")) for one in last)

    async def test_feed_links_begin_with_the_configured_public_url(self, database_url: str) -> None:
        async with web_stage(database_url, public_url=PAGE) as web:
            await filled(web.app.database, await posted(web.app.database, 1))
            feed = await web.json("/feed.json")
            read = feedparser.parse((await web.get("/feed.xml")).content)
        assert feed["home_page_url"] == f"{PAGE}/"
        assert feed["feed_url"] == f"{PAGE}/feed.json"
        assert feed["items"][0]["url"].startswith(f"{PAGE}/prophecy?")
        links = [link.href for link in read.feed.links] + [read.entries[0].link]
        assert len(links) == 3
        assert all(link.startswith(f"{PAGE}/") for link in links)


# What browsers tell of a request that a page of another site makes them send.
IMAGE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
FOREIGN: list[dict[str, str]] = [
    IMAGE,
    IMAGE | {"sec-fetch-site": "same-site"},
    LINK | {"sec-fetch-dest": "iframe"},
    LINK | {"sec-purpose": "prefetch;prerender"},
    LINK | {"purpose": "prefetch"},
    {"sec-fetch-site": "cross-site"},
    {"origin": EVIL},
    {"origin": "null"},
    {"origin": "http://["},
    {"origin": "http://localhost:3000"},
    {"origin": EVIL, "sec-fetch-site": "none"},
]
OWN: list[dict[str, str]] = [
    {},
    LINK,
    {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    {"sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    {"origin": ADDRESS, "sec-fetch-site": "same-origin"},
]
DEAR: list[tuple[str, dict[str, str]]] = [
    ("/prophecy", ASKED),
    ("/picture.png", ASKED),
    ("/api/prophecy", ASKED),
    ("/ask", {"question": "What is coffee?"}),
    ("/api/ask", {"question": "What is coffee?"}),
    ("/api/search", {"q": "coffee"}),
]


def name_headers(headers: dict[str, str]) -> str:
    return ",".join(headers.values()) or "nothing"


class TestPages:
    @pytest.mark.parametrize("headers", FOREIGN, ids=name_headers)
    async def test_cross_site_requests_cause_no_paid_work(
        self, coffee_url: str, headers: dict[str, str]
    ) -> None:
        async with ModelServer([scoring(judged_by_words)]) as model:
            async with web_stage(judging(coffee_url, model)) as web:
                for path, asked in DEAR:
                    answered = await web.client.get(path, params=asked, headers=headers)
                    assert answered.status_code == 403, path
                    assert "may link here" in answered.text
            assert model.calls == 0

    @pytest.mark.parametrize("headers", OWN, ids=name_headers)
    async def test_of_this_site_and_links_are_answered(
        self, coffee_web: WebStage, headers: dict[str, str]
    ) -> None:
        for path, asked in DEAR:
            answered = await coffee_web.client.get(path, params=asked, headers=headers)
            assert answered.status_code == 200, path

    @pytest.mark.parametrize("headers", [*FOREIGN, LINK], ids=name_headers)
    async def test_cross_site_posts_are_refused(
        self, coffee_url: str, headers: dict[str, str]
    ) -> None:
        async with web_stage({"DATABASE_URL": coffee_url, "WEB_ADMIN_KEYS": "boss"}) as web:
            for sent in (
                await web.client.post("/compose", data={"prompt": "coffee"}, headers=headers),
                await web.client.post("/api/compose", json={"prompt": "coffee"}, headers=headers),
                await web.client.post("/api/admin/reload", headers=headers | speaking("boss")),
                await web.client.delete("/api/admin/vectors?model=m", headers=headers),
            ):
                assert sent.status_code == 403, sent.url

    async def test_origin_is_checked_against_the_public_url_behind_a_proxy(
        self, coffee_url: str
    ) -> None:
        async with web_stage(coffee_url, public_url=f"{PAGE}:443/") as web:
            # 409: there is no model.
            for page, status in ((PAGE, 409), ("http://omen.example.org", 403), (EVIL, 403)):
                sent = await web.client.post(
                    "/compose", data={"prompt": "coffee"}, headers={"origin": page}
                )
                assert sent.status_code == status, page

    async def test_allowed_origins_may_read_but_send_no_form(self, coffee_url: str) -> None:
        for names in (f'["{EVIL}"]', '["*"]'):
            async with web_stage(coffee_url, allow_origins=names) as web:
                foreign = {"origin": EVIL, "sec-fetch-site": "cross-site"}
                for path, asked in (*DEAR, ("/feed.json", {})):
                    answered = await web.client.get(path, params=asked, headers=foreign)
                    assert answered.status_code == 200, path
                    assert answered.headers["access-control-allow-origin"] in {EVIL, "*"}
                written = await web.client.post(
                    "/api/compose", json={"prompt": "coffee"}, headers=foreign
                )
                assert written.status_code == 409  # there is no model
                refused = await web.client.post(
                    "/compose", data={"prompt": "coffee"}, headers=foreign
                )
                assert refused.status_code == 403
                image = await web.client.get("/picture.png", params=ASKED, headers=IMAGE)
                assert image.status_code == 403

    async def test_of_other_sites_may_show_the_icon(self, coffee_web: WebStage) -> None:
        for path in ("/static/icon.svg", "/healthz"):
            assert (await coffee_web.client.get(path, headers=IMAGE)).status_code == 200


NO_KEYS, BOSS_ALONE = Keys(), Keys(steer=SecretStr("boss"))
SOME_KEYS = Keys(ask=SecretStr("one, two,,both"), steer=SecretStr("boss,both"))


@pytest.mark.parametrize(
    ("keys", "key", "right"),
    [
        (NO_KEYS, None, Right.ASK),
        (NO_KEYS, "", Right.NONE),
        (NO_KEYS, "anything", Right.NONE),
        (BOSS_ALONE, None, Right.ASK),
        (BOSS_ALONE, "boss", Right.STEER),
        (SOME_KEYS, "one", Right.ASK),
        (SOME_KEYS, "two", Right.ASK),
        (SOME_KEYS, "boss", Right.STEER),
        (SOME_KEYS, "both", Right.STEER),
        (SOME_KEYS, "One", Right.NONE),
        (SOME_KEYS, "on", Right.NONE),
        (SOME_KEYS, "one ", Right.NONE),
        (SOME_KEYS, "one,two", Right.NONE),
        (SOME_KEYS, "", Right.NONE),
        (SOME_KEYS, None, Right.NONE),
        (SOME_KEYS, "ключ\ud800", Right.NONE),
    ],
)
def test_each_key_grants_its_right(keys: Keys, key: str | None, right: Right) -> None:
    assert keys.right_of(key) is right


def test_every_known_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def counting(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    keys = Keys(ask=SecretStr("one,two,three"))
    for key in ("one", "three", "four"):
        keys.right_of(key)
    assert len(compared) == 9
    assert {len(side) for pair in compared for side in pair} == {32}


MODEL = {"PRESAGIO_LLM__BASE_URL": "http://127.0.0.1:1/v1"}
KEYS = {"WEB_API_KEYS": "sesame"}
NO_PAGE = {"PRESAGIO_WEB__PAGE": "false"}
JUDGE = {"PRESAGIO_WEB__JUDGE": "true"}
FREE = {"PRESAGIO_LLM__DAILY_TOKENS": "-1", "PRESAGIO_LLM__DAILY_USD": "-1"}

PAGE_OPEN = (
    "The API asks for a key of WEB_API_KEYS; the page asks for none, so whoever reaches it can read"
    " the corpora. Set web.page = false to close it, or put it behind a proxy that asks."
)


BY_ITS_NAMES = (
    "It answers to localhost and this machine's addresses alone. Set web.public_url to the address"
    " at which people reach it, or name others in web.hosts."
)
OPEN = {"PRESAGIO_WEB__HOST": "0.0.0.0"}


def unjudged(doors: str) -> str:
    return (
        f"Without a key {doors} unjudged, to spare the model. Set web.judge = true to have it"
        " asked, for up to 20% of the daily budget (llm.web_share)."
    )


def judged(doors: str, bound: str = "for up to 20% of the daily budget (llm.web_share)") -> str:
    return (
        f"Whoever reaches {doors} has the model asked without a key, {bound}. Set web.judge ="
        " false to stop that."
    )


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, []),
        (OPEN, [BY_ITS_NAMES]),
        (OPEN | {"PRESAGIO_WEB__PUBLIC_URL": "https://omen.example"}, []),
        (OPEN | {"PRESAGIO_WEB__HOSTS": '["bot"]'}, []),
        (JUDGE, []),
        ({"WEB_ADMIN_KEYS": "boss"}, []),
        (KEYS, [PAGE_OPEN]),
        (KEYS | NO_PAGE, []),
        (MODEL, [unjudged("the page and the API answer")]),
        (MODEL | NO_PAGE, [unjudged("the API answers")]),
        (MODEL | KEYS, [PAGE_OPEN, unjudged("the page answers")]),
        (MODEL | KEYS | NO_PAGE, []),
        (MODEL | KEYS | NO_PAGE | JUDGE, []),
        (MODEL | JUDGE, [judged("the page and the API")]),
        (MODEL | JUDGE | {"PRESAGIO_LLM__WEB_SHARE": "0.2"}, [judged("the page and the API")]),
        (
            MODEL | JUDGE | FREE,
            [
                judged(
                    "the page and the API",
                    "without limit, for llm.daily_tokens and llm.daily_usd have none",
                )
            ],
        ),
    ],
)
def test_open_access_is_described(environ: dict[str, str], said: list[str]) -> None:
    assert list(describe_open_access(load_settings(environ=environ))) == said
