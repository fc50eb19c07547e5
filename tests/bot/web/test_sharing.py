"""What is shared: pictures, and the page itself as an app and as a search engine."""

from urllib.parse import parse_qs, urlsplit
from xml.etree.ElementTree import fromstring

import pytest
from selectolax.lexbor import LexborHTMLParser

from bot.web.rendering import COLOURS, STATIC
from tests.bot.web.stage import ADDRESS, NOW, WebStage, web_stage
from tests.bot.web.test_access import IMAGE
from tests.bot.web.test_pages import HEADLINE_AND_DATE, one
from tests.fakes.web import HTML, WebServer, reply
from tests.png import read_size
from tests.scenarios.stage import HEADLINE

LINK = "https://a.example/1"
ARTICLE = f"""<title>{HEADLINE}</title>
<meta property="article:published_time" content="2023-04-01T09:00:00Z">"""


async def read_image_tags(web: WebStage, path: str, **asked: object) -> dict[str, str]:
    page = LexborHTMLParser((await web.get(path, **asked)).text)
    return {
        str(tag.attributes["property"]): str(tag.attributes["content"])
        for tag in page.css("meta[property^='og:image']")
    }


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/prophecy", HEADLINE_AND_DATE),
        ("/documents/demo/1", {}),
        ("/search", {"q": "coffee"}),
        ("/corpora/demo/most-liked", {}),
    ],
)
async def test_a_page_that_shows_a_text_names_its_picture(
    judged_web: WebStage, path: str, asked: dict[str, str]
) -> None:
    tags = await read_image_tags(judged_web, path, **asked)
    shown = await judged_web.get(tags["og:image"].removeprefix(ADDRESS))
    size = int(tags["og:image:width"]), int(tags["og:image:height"])
    assert size == read_size(shown.content) == (1200, 630)
    assert tags["og:image:alt"]


async def test_other_pages_name_the_icon(coffee_web: WebStage) -> None:
    for path in ("/", "/ask", "/corpora", "/nothing"):
        tags = await read_image_tags(coffee_web, path)
        icon = await coffee_web.get(tags["og:image"].removeprefix(ADDRESS))
        assert read_size(icon.content) == (512, 512)


async def test_a_page_offers_its_picture_for_links_and_for_chats(judged_web: WebStage) -> None:
    for path, asked in (("/prophecy", HEADLINE_AND_DATE), ("/documents/demo/1", {})):
        page = LexborHTMLParser((await judged_web.get(path, **asked)).text)
        links = [str(link.attributes["href"]) for link in page.css(".share a[download]")]
        drawn = [(await judged_web.get(link)).content for link in links]
        assert [read_size(png) for png in drawn] == [(1200, 630), (1080, 1350)]


async def test_text_card_accepts_no_headline_of_the_visitor(coffee_web: WebStage) -> None:
    alone = await coffee_web.get("/card/demo/1.png")
    assert alone.status_code == 200
    assert (await coffee_web.get("/card/demo/1.png", headline="Mine")).status_code == 404
    assert (await coffee_web.get("/card/demo/none.png")).status_code == 404


async def test_readers_of_feeds_may_show_the_picture_of_a_text(coffee_web: WebStage) -> None:
    shown = await coffee_web.client.get("/card/demo/1.png", headers=IMAGE)
    assert shown.headers["content-type"] == "image/png"
    assert "Accept-Language" in shown.headers["vary"]  # it says when in the reader's language


async def test_a_phone_is_told_how_the_page_is_installed(coffee_web: WebStage) -> None:
    home = await coffee_web.get("/", lang="es")
    page = LexborHTMLParser(home.text)
    assert "manifest-src 'self'" in home.headers["content-security-policy"]
    described = await coffee_web.get(str(one(page, "link[rel=manifest]").attributes["href"]))
    assert described.headers["content-type"] == "application/manifest+json"
    manifest = described.json()
    assert (manifest["lang"], manifest["start_url"]) == ("es", "/?lang=es")
    for icon in manifest["icons"]:
        shown = await coffee_web.get(icon["src"])
        assert shown.headers["content-type"].startswith(icon["type"])
        if icon["sizes"] != "any":
            assert "x".join(map(str, read_size(shown.content))) == icon["sizes"]
    colours = [tag.attributes["content"] for tag in page.css("meta[name=theme-color]")]
    assert colours == list(COLOURS.values())
    style = (STATIC / "page.css").read_text()
    assert all(f"--paper: {colour};" in style for colour in COLOURS.values())


@pytest.mark.parametrize(
    ("shared", "headline"),
    [
        ({"url": LINK, "title": "News"}, f"News {LINK}"),
        ({"url": LINK}, LINK),
        ({"text": f"Read this: {LINK}", "title": HEADLINE}, f"{HEADLINE} {LINK}"),
        ({"text": LINK, "title": HEADLINE}, f"{HEADLINE} {LINK}"),
        ({"text": f"{HEADLINE}\n{LINK}", "title": "The Daily"}, f"{HEADLINE} {LINK}"),
        ({"text": "coffee " * 400, "url": LINK}, f"{('coffee ' * 400)[:1980]} {LINK}"),
        ({"text": "Coffee is dear", "title": "News"}, "Coffee is dear"),
        ({"title": "News"}, "News"),
        ({"title": "https:evil"}, "https:evil"),
        ({}, None),
    ],
)
async def test_shared_text_or_link_becomes_the_headline(
    coffee_web: WebStage, shared: dict[str, str], headline: str | None
) -> None:
    manifest = await coffee_web.json("/manifest.webmanifest")
    target = manifest["share_target"]
    named = {target["params"][name]: value for name, value in shared.items()}
    answered = await coffee_web.get(target["action"], **named)
    led = urlsplit(answered.headers["location"])
    assert (answered.status_code, led.netloc) == (303, "")
    assert led.path == ("/prophecy" if headline else "/")
    assert parse_qs(led.query).get("headline") == ([headline] if headline else None)


@pytest.mark.parametrize("status", [200, 403])
async def test_a_shared_page_brings_its_date_or_at_least_its_headline(
    coffee_url: str, status: int
) -> None:
    environ = {"DATABASE_URL": coffee_url, "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]'}
    async with WebServer() as news, web_stage(environ) as web:
        news.pages["/1"] = reply(status, ARTICLE, {"Content-Type": HTML})
        # As Android does: the link stands in the text.
        shared = {"title": f"{HEADLINE} - BBC News", "text": news.url("/1")}
        answered = await web.client.get("/share", params=shared, follow_redirects=True)
    read = LexborHTMLParser(answered.text)
    assert news.asked == ["/1"]
    assert one(read, "h1").text() == HEADLINE
    day = "2023-04-01" if status == 200 else NOW.date().isoformat()
    assert one(read, ".kick time").attributes["datetime"] == day
    assert read.css("main .hit")


async def test_a_browser_is_told_how_headlines_are_asked(coffee_web: WebStage) -> None:
    page = LexborHTMLParser((await coffee_web.get("/", lang="es")).text)
    described = await coffee_web.get(str(one(page, "link[rel=search]").attributes["href"]))
    assert described.headers["content-type"] == "application/opensearchdescription+xml"
    spaces = {"": "http://a9.com/-/spec/opensearch/1.1/"}
    (template,) = fromstring(described.text).findall("Url", spaces)
    address = template.attrib["template"].replace("{searchTerms}", "Caf%C3%A9%20%26%20t%C3%A9")
    asked = await coffee_web.get(address.removeprefix(ADDRESS))
    led = parse_qs(urlsplit(asked.headers["location"]).query)
    assert (led["headline"], led["lang"]) == (["Café & té"], ["es"])
    assert led["date"] == [NOW.date().isoformat()]


async def test_icons_are_where_they_are_looked_for(coffee_web: WebStage) -> None:
    for path in ("/apple-touch-icon.png", "/static/touch.png"):
        assert read_size((await coffee_web.get(path)).content) == (180, 180)
    icon = (await coffee_web.get("/favicon.ico")).content
    assert max(icon[6:][::16][: icon[4]]) == 48  # the widths of the pictures in it
