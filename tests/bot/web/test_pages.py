"""The page, read as a browser without scripts reads it."""

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from urllib.robotparser import RobotFileParser

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from bot.app import App
from bot.web.listing import ROWS_PER_PAGE
from engine.corpora import Document
from engine.errors import FetchUntitled
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.search import Headline
from tests.ages import say_years
from tests.bot.web.stage import ADDRESS, WebStage, judging, web_stage
from tests.db.loading import document, load
from tests.fakes.model import Asked, ModelServer, scoring
from tests.fakes.model import judging as step_of
from tests.scenarios.stage import HEADLINE, TWEETS

HEADLINE_AND_DATE = {"headline": HEADLINE, "date": "2023-05-04", "corpus": "demo"}


def read(answered: httpx.Response) -> LexborHTMLParser:
    assert answered.status_code == 200, answered.text
    return LexborHTMLParser(answered.text)


def one(page: LexborHTMLParser | LexborNode, selector: str) -> LexborNode:
    found = page.css_first(selector)
    assert found is not None, selector
    return found


def texts(page: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in page.css(selector)]


class TestProphecy:
    async def test_cards_of_words_alone_are_quiet_and_show_date_lead_time_and_words(
        self, coffee_web: WebStage
    ) -> None:
        page = read(await coffee_web.get("/prophecy", **HEADLINE_AND_DATE))
        assert texts(page, "h1") == [HEADLINE]
        assert len(page.css(".hit")) == 3
        assert TWEETS[0] in texts(page, "blockquote")
        headings = texts(page, ".hit h3")
        assert len(set(headings)) == 3  # they differ for who hears them one by one
        assert one(page, "#hit-1 time").attributes["datetime"] == "2010-10-28"
        marked = texts(page, "#hit-1 mark")
        assert {"Coffee", "prices", "record"} <= set(marked)
        assert "my" not in marked
        assert [text[:4] for text in texts(page, "#hit-1 dt")] == ["Scor", "Word", "Age"]
        assert all(text.endswith("%") for text in texts(page, "#hit-1 dd"))
        assert len(page.css(".near .hit")) == 3, "as no model judged"
        assert not page.css(".first, .share, .axis, .statement")
        assert texts(page, ".about") == ["Nearest by their words"]
        assert texts(page, ".notice .note") == ["Not judged: found by the words in common alone."]
        assert not page.css(".notice .button"), "as nothing would judge them the next time either"
        assert not page.css(".hit :is(.stamp, .label)"), "as the heading says it of all"

    async def test_matched_words_are_marked_in_every_inflection(self, web: WebStage) -> None:
        await load(
            web.app.database,
            "demo",
            [document("1", "Ships, shipping and the ship's cat")],
            "english",
        )
        page = read(await web.get("/prophecy", headline="ship", date="2020", corpus="demo"))
        assert texts(page, "mark") == ["Ships", "shipping", "ship"]

    async def test_form_redirects_to_a_permanent_address(self, coffee_web: WebStage) -> None:
        answered = await coffee_web.get("/prophecy", headline=f"  {HEADLINE}\n", date="", lang="es")
        assert answered.status_code == 303
        lasting = dict(parse_qsl(urlsplit(answered.headers["location"]).query))
        asked = {"headline": HEADLINE, "date": "2024-06-01", "corpus": "demo", "lang": "es"}
        assert lasting == asked
        page = read(await coffee_web.client.get(answered.headers["location"]))
        (link,) = texts(page, ".printed")
        assert dict(parse_qsl(urlsplit(link).query)) == lasting

    async def test_an_article_brings_its_own_date(
        self, coffee_web: WebStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def article(_: App, text: str, *, now: datetime) -> Headline:
            return read_headline("Coffee is dear", date=datetime(2021, 5, 4, tzinfo=UTC))

        monkeypatch.setattr("bot.web.visitor.read_pasted", article)
        link = "https://example.org/news/1"
        for given, date in (({}, "2021-05-04"), ({"date": "2022-01-01"}, "2022-01-01")):
            answered = await coffee_web.get("/prophecy", headline=link, **given)
            assert f"date={date}" in answered.headers["location"]

    async def test_empty_result_is_reported(self, coffee_web: WebStage) -> None:
        asked = {**HEADLINE_AND_DATE, "headline": "Zebras"}
        page = read(await coffee_web.get("/prophecy", **asked))
        assert texts(page, ".intro") == [
            "No results, nothing spooky: no old tweet shares a word with this."
        ]
        assert not page.css(".actions a[href^='/ask']"), "which would find nothing either"

    async def test_a_near_text_shares_a_word_with_the_headline(self, coffee_web: WebStage) -> None:
        asked = {**HEADLINE_AND_DATE, "headline": "Cofee xylophone zygote regatta"}
        answered = await coffee_web.client.get("/api/prophecy", params=asked)
        assert answered.json()["near"], "of the word that is nearly coffee"
        page = read(await coffee_web.get("/prophecy", **asked))
        assert texts(page, ".statement") == ["Nobody saw this one coming."]
        assert not page.css(".hit")
        assert one(page, ".again #headline").text() == asked["headline"]

    async def test_nearest_hits_are_shown_apart_and_cannot_be_shared(self, coffee_url: str) -> None:
        async with (
            ModelServer([scoring(lambda _headline, _candidate: 3)]) as model,
            web_stage(judging(coffee_url, model)) as stage,
        ):
            page = read(await stage.get("/prophecy", **HEADLINE_AND_DATE))
            picture = await stage.get("/picture.png", **HEADLINE_AND_DATE)
        assert texts(page, ".statement") == ["Nobody saw this one coming."]
        assert len(page.css(".near .hit")) == 3
        assert not page.css(".near .stamp, .near .label, .share")
        icon = one(page, "meta[property='og:image']").attributes["content"]
        assert icon == f"{ADDRESS}/static/icon-512.png"
        assert picture.status_code == 404

    async def test_a_card_says_how_sure_it_is_and_why_and_numbers_are_folded_away(
        self, coffee_url: str
    ) -> None:
        def reasoned(asked: Asked) -> str:
            numbers = [candidate["i"] for candidate in asked.candidates]
            why = [{"i": number, "why": "he <b>said</b> so & more"} for number in numbers]
            scores = [[number, 6, "prediction"] for number in numbers]
            return json.dumps({"n": len(numbers), "scores": scores, "why": why})

        async with (
            ModelServer([step_of(reasoned)]) as model,
            web_stage(judging(coffee_url, model)) as stage,
        ):
            page = read(await stage.get("/prophecy", **HEADLINE_AND_DATE))
        assert texts(page, ".hit .reason") == ["Why: he b said b so & more"] * 3
        assert texts(page, "#found") == ["What was said before"]
        assert texts(page, ".hit .stamp") == ["foretold"] * 3
        assert len(page.css(".hit .lead-time")) == 3, "each says how long before"
        assert len(page.css(".hit details:not([open]) .figures")) == 3
        assert len(page.css(".first")) == len(page.css(".share")) == 1
        assert texts(page, ".axis .begins, .axis .ends") == ["October 2010", "May 2023"]
        assert texts(page, ".axis .lead-time") == [say_years(12, 6).removesuffix(" before")]
        assert texts(page, ".axis .wide .rank") != [], "on a wide screen"
        assert "3" in texts(page, ".axis .narrow .rank")[0], "the oldest"
        assert texts(page, ".hit .rank") == ["1", "2", "3"], "as the marks have it"

    async def test_empty_headline_redirects_to_the_home_page(self, coffee_web: WebStage) -> None:
        answered = await coffee_web.get("/prophecy", headline="  ")
        assert (answered.status_code, answered.headers["location"]) == (303, "/")

    async def test_the_picture_of_the_first_card_is_drawn(
        self, coffee_web: WebStage, judged_web: WebStage
    ) -> None:
        pages = [
            read(await web.get("/prophecy", **HEADLINE_AND_DATE))
            for web in (coffee_web, judged_web)
        ]
        icon, image = (
            str(one(page, "meta[property='og:image']").attributes["content"]) for page in pages
        )
        assert icon.endswith("icon-512.png"), "what no model judged is not shown at large"
        answered = await judged_web.client.get(image)
        assert answered.headers["content-type"] == "image/png"
        assert answered.content.startswith(b"\x89PNG")

    @pytest.mark.usefixtures("no_pictures")
    async def test_missing_picture_libraries_disable_pictures(self, coffee_web: WebStage) -> None:
        page = read(await coffee_web.get("/prophecy", **HEADLINE_AND_DATE))
        assert page.css("meta[property='og:title']")
        assert not page.css(".share a[download]")
        icon = one(page, "meta[property='og:image']").attributes["content"]
        assert icon == f"{ADDRESS}/static/icon-512.png"
        refused = await coffee_web.get("/picture.png", **HEADLINE_AND_DATE)
        assert refused.status_code == 501
        assert (await coffee_web.get("/card/demo/1.png")).status_code == 501
        assert "Whoever runs me can install what is missing." in refused.text
        assert " install --" not in refused.text and str(Path.cwd()) not in refused.text


class TestEscaping:
    HOSTILE = '<script>alert(1)</script> & "coffee" \'><img src=x onerror=alert(1)> \x02coffee'

    async def test_nothing_that_was_written_becomes_markup(self, web: WebStage) -> None:
        await load(
            web.app.database, "demo", [document("<b>", self.HOSTILE, author="<i>x</i>")], "english"
        )
        asked = {"headline": self.HOSTILE, "date": "2024", "corpus": "demo"}
        prophecy = read(await web.get("/prophecy", **asked))
        timeline = read(await web.get("/search", q="coffee", corpus="demo"))
        strange = read(await web.get("/search", q='"><script>alert(1)</script>'))
        for page in (prophecy, timeline, strange):
            assert [str(node.attributes.get("src"))[:8] for node in page.css("script")] == [
                "/static/"
            ]
            assert not page.css("img:not([src^='/picture.png?']), i")
        assert "<script>alert(1)</script>" in texts(prophecy, "blockquote")[0]
        assert texts(timeline, "mark") == ["coffee", "coffee"]

    async def test_a_hostile_address_of_a_text_is_no_link(self, web: WebStage) -> None:
        await load(web.app.database, "demo", [document("1", "coffee")], "english")
        async with web.app.database.connection() as connection:
            await connection.execute("UPDATE document SET url = 'javascript:alert(1)'")
        asked = {"headline": "coffee", "date": "2024", "corpus": "demo"}
        for path, values in (
            ("/prophecy", asked),
            ("/search", {"q": "coffee"}),
            ("/documents/demo/1", {}),
        ):
            assert "javascript:" not in (await web.get(path, **values)).text


class TestSearch:
    async def test_list_leaves_out_repeated_texts(self, web: WebStage) -> None:
        said = "More coffee for everybody who has none, and soon!"
        await load(web.app.database, "demo", [document("1", said), document("2", said, day=400)])
        page = read(await web.get("/search", q="coffee"))
        assert texts(page, "#texts") == ["2 posts say that; 1 that repeats another is left out."]
        assert len(page.css(".entries li")) == 1

    async def test_all_texts_are_counted_though_only_the_best_are_listed(
        self, web: WebStage
    ) -> None:
        number = itertools.count()

        def said(year: int, texts: int, extra: int) -> list[Document]:
            """Texts of a year that have little in common; the longer ones are ranked lower."""
            made = []
            for _ in range(texts):
                own = next(number)
                words = " ".join(f"w{own}x{place}" for place in range(extra))
                made.append(document(str(own), f"coffee {words}", day=365.25 * (year - 2010) + 9))
            return made

        parts = [said(2012, 230, 12), said(2016, 20, 4), said(2020, 180, 3), said(2021, 40, 6)]
        await load(web.app.database, "demo", list(itertools.chain(*parts)))
        page = read(await web.get("/search", q="coffee"))
        none = read(await web.get("/search", q="coffee in:nowhere"))
        assert texts(page, "#texts") == ["470 posts say that; the best 300 are listed."]
        assert texts(page, ".pages .meta") == ["1–30 of 300"]
        assert len(page.css(".entries li")) == ROWS_PER_PAGE
        assert texts(none, ".nothing") == []
        assert "There is no corpus 'nowhere'" in texts(none, "[role=note]")[0]

    async def test_the_dialect_is_understood(self, coffee_web: WebStage) -> None:
        page = read(await coffee_web.get("/search", q='"harvest moon" -coffee'))
        assert texts(page, "blockquote") == ["The harvest moon is high."]
        page = read(await coffee_web.get("/search", q="coffee ghost:yes"))
        assert '"ghost:" is no filter' in texts(page, ".statement + .fields + .note")[0]
        assert texts(page, ".statement") == ["No post has all of this at once."]
        assert texts(page, ".statement + .fields dt a") == ["coffee"], "each word that posts have"
        assert len(page.css(".fields dd blockquote")) == 1, "the best of them"

    async def test_empty_search_is_reported(self, coffee_web: WebStage) -> None:
        page = read(await coffee_web.get("/search", q="zebra"))
        assert texts(page, ".vain") == ["No post says that."]
        assert "question=zebra" in str(one(page, ".actions a").attributes["href"])


_LOADING = "script, link:not([rel=alternate]), img, iframe, source, video, audio"


class TestEveryPage:
    PATHS = ("/", "/prophecy?headline=coffee&date=2024-01-01&corpus=demo", "/search",
             "/search?q=coffee", "/documents/demo/1", "/corpora/demo", "/ask",
             "/ask?question=coffee", "/docs", "/corpora", "/corpora/demo/2010/10")  # fmt: skip

    @pytest.mark.parametrize("path", PATHS)
    async def test_page_loads_only_own_resources_and_has_no_inline_code(
        self, coffee_web: WebStage, path: str
    ) -> None:
        answered = await coffee_web.get(path)
        page = read(answered)
        loaded = [
            str(node.attributes.get("src") or node.attributes.get("href"))
            for node in page.css(_LOADING)
        ]
        assert loaded
        own = ("/static/", "/picture.png?", "/card/", "/manifest.webmanifest", "/opensearch.xml")
        assert all(one.startswith(own) for one in loaded)
        assert not page.css("style, [style], [onclick], script:not([src])")
        policy = answered.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answered.headers["x-content-type-options"] == "nosniff"
        for one in loaded:
            assert (await coffee_web.client.get(one)).status_code == 200

    @pytest.mark.parametrize("path", PATHS)
    async def test_speaks_both_languages(self, coffee_web: WebStage, path: str) -> None:
        spanish = await coffee_web.client.get(path, headers={"accept-language": "es-AR,es;q=0.9"})
        page = read(spanish)
        assert one(page, "html").attributes["lang"] == "es"
        assert texts(page, ".top nav a") == ["Profecías", "Archivos", "Buscar", "Preguntar"]
        english = next(a for a in page.css("footer a") if a.attributes.get("hreflang") == "en")
        other = read(await coffee_web.client.get(str(english.attributes["href"])))
        assert one(other, "html").attributes["lang"] == "en"
        links = [str(a.attributes["href"]) for a in other.css(".top nav a")]
        assert all(link.endswith("?lang=en") for link in links)

    @pytest.mark.parametrize("path", PATHS)
    async def test_page_has_headings_landmarks_and_labels(
        self, coffee_web: WebStage, path: str
    ) -> None:
        page = read(await coffee_web.get(path))
        assert len(page.css("h1")) == 1
        assert len(page.css("main")) == 1
        levels = [int(str(node.tag)[1]) for node in page.css("h1, h2, h3, h4")]
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels)), levels
        labelled = {label.attributes.get("for") for label in page.css("label")}
        fields = page.css("textarea, select, input:not([type=hidden])")
        assert {field.attributes.get("id") for field in fields} <= labelled
        ids = [node.attributes["id"] for node in page.css("[id]")]
        assert len(ids) == len(set(ids))

    async def test_errors_are_shown_on_a_page(self, coffee_web: WebStage) -> None:
        answered = await coffee_web.get("/nowhere")
        assert answered.status_code == 404
        page = LexborHTMLParser(answered.text)
        assert texts(page, "h1") == ["There is no such page."]
        assert page.css("form[action='/prophecy'] #headline"), "where one may go on"
        answered = await coffee_web.get("/documents/nowhere/1", lang="es")
        assert answered.status_code == 404
        assert texts(LexborHTMLParser(answered.text), "h1") == ["No existe el archivo «nowhere»."]
        answered = await coffee_web.get("/documents/demo/none")
        page = LexborHTMLParser(answered.text)
        assert texts(page, "h1") == ["There is no such post in this archive."]
        assert page.css(".kick [href='/corpora/demo']")
        assert page.css("form[action='/search']")
        assert page.css(".months a")
        for path, said, nearest in (
            ("/corpora/demo/1999", "There are no posts of 1999.", "October 2010"),
            ("/corpora/demo/2011/13", "There is no month 13.", "August 2011"),
            ("/corpora/demo/2099/1", "There are no posts of January 2099.", "July 2016"),
        ):
            page = LexborHTMLParser((await coffee_web.get(path)).text)
            assert texts(page, "h1") == [said]
            assert texts(page, "#fix") == ["The archive runs from October 2010 to July 2016."]
            assert texts(page, "a.primary") == [f"Read {nearest}"]
            assert page.css(".months a")

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/nothing"),
            ("POST", "/corpora"),
            ("GET", "/corpora/nowhere"),
            ("GET", "/documents/demo/none"),
            ("GET", "/prophecy?headline=coffee&date=tomorrow"),
            ("GET", "/prophecy?headline=coffee&corpus=nowhere"),
            ("GET", f"/prophecy?headline={'x' * 2001}"),
            ("POST", "/compose"),
            ("GET", "/card/demo/1.png?headline=none"),
            ("GET", "/feed.xml?corpus=nowhere"),
        ],
    )
    async def test_no_sentence_of_a_failure_is_left_in_english(
        self, coffee_web: WebStage, method: str, path: str
    ) -> None:
        said = {}
        for language in ("en", "es"):
            chosen = {"Accept-Language": language}
            answered = await coffee_web.client.request(method, path, headers=chosen)
            assert answered.status_code >= 400
            page = LexborHTMLParser(answered.text)
            said[language] = set(texts(page, "h1:not([dir]), .intro, #fix"))
        assert len(said["en"]) == len(said["es"])
        assert not said["en"] & said["es"]

    @pytest.mark.parametrize(
        ("sent", "said", "day"),
        [
            ({"date": "2015-02-30"}, "“2015-02-30” is not a date.", "2015-02-30"),
            ({"corpus": "gone"}, "There is no archive “gone”", "2023-05-04"),
            ({"headline": "coffee " * 2000}, "has 13999 characters", "2023-05-04"),
            ({"headline": "https://paid.example/1"}, "paid.example has", "2023-05-04"),
        ],
        ids=["date", "corpus", "length", "link"],
    )
    async def test_error_page_keeps_the_typed_values(
        self,
        coffee_web: WebStage,
        monkeypatch: pytest.MonkeyPatch,
        sent: dict[str, str],
        said: str,
        day: str,
    ) -> None:
        async def closed(_: App, text: str, *, now: datetime) -> Headline:
            raise FetchUntitled("The page of paid.example has no title.")

        monkeypatch.setattr("bot.web.visitor.read_pasted", closed)
        asked = HEADLINE_AND_DATE | sent
        answered = await coffee_web.get("/prophecy", **asked)
        page = LexborHTMLParser(answered.text)
        assert said in texts(page, "h1")[0]
        typed = one(page, "#headline").text()
        assert typed == " ".join(asked["headline"].split())[:2000]
        assert one(page, "#date").attributes["value"] == day
        assert len(page.css("#date[autofocus][aria-invalid]")) == ("date" in sent)
        ways = [str(way.attributes["href"]) for way in page.css("section .actions a")]
        assert ["date=2015" in way for way in ways] == ([True, False] if "date" in sent else [])

    async def test_a_wrong_date_keeps_the_chosen_archive(self, web: WebStage) -> None:
        for name in ("demo", "small"):
            await load(web.app.database, name, [document("1", "Coffee")], "english")
        answered = await web.get("/prophecy", headline="coffee", date="1", corpus="small")
        assert texts(LexborHTMLParser(answered.text), "#corpus [selected]") == ["small"]

    async def test_not_found_page_offers_an_empty_field_or_archives(
        self, coffee_web: WebStage
    ) -> None:
        for path, action, archives in (
            ("/nothing", "/prophecy", "aside .voices [href*='/corpora/']"),
            ("/documents/demo/0", "/search", ".kick a"),
            ("/corpora/gone", None, ".voices h2 a"),
        ):
            page = LexborHTMLParser((await coffee_web.get(path, **HEADLINE_AND_DATE)).text)
            assert [form.attributes["action"] for form in page.css("form")] == [action] * bool(
                action
            )
            for field in page.css("form :is(textarea, input[name=q])"):
                assert (field.attributes.get("value") or field.text()) == ""
            [link] = [str(a.attributes["href"]) for a in page.css(archives)]
            assert (await coffee_web.get(link)).status_code == 200

    async def test_texts_run_in_their_own_direction(self, coffee_web: WebStage) -> None:
        page = read(await coffee_web.get("/prophecy", **HEADLINE_AND_DATE))
        shown = [*page.css("blockquote p"), one(page, "h1"), one(page, "#headline")]
        assert [node.attributes["dir"] for node in shown] == ["auto"] * 5

    async def test_crawlers_read_the_card_of_a_link_and_no_more(self, judged_web: WebStage) -> None:
        robots = RobotFileParser()
        robots.parse((await judged_web.get("/robots.txt")).text.splitlines())
        page = read(await judged_web.get("/prophecy", **HEADLINE_AND_DATE))
        tags = {
            str(tag.attributes.get("property") or tag.attributes["name"]): tag.attributes["content"]
            for tag in page.css("head meta[content]:not([name=viewport])")
        }
        for path in (tags["og:url"], tags["og:image"], f"{ADDRESS}/documents/demo/1"):
            assert robots.can_fetch("Twitterbot", str(path))
        assert not robots.can_fetch("Twitterbot", f"{ADDRESS}/api/search?q=coffee")
        assert tags["og:type"] == "article"
        assert tags["article:published_time"] == "2023-05-04"
        assert tags["description"] == tags["og:description"] == tags["og:image:alt"]
        assert tags["robots"] == "noindex"
        shown = await judged_web.get(str(tags["og:image"]).removeprefix(ADDRESS))
        assert shown.headers["content-type"] == "image/png"

    async def test_the_first_text_is_shared_as_a_link_as_words_and_as_a_picture(
        self, judged_web: WebStage
    ) -> None:
        page = read(await judged_web.get("/prophecy", **HEADLINE_AND_DATE))
        assert len(page.css(".share")) == 1
        link = ADDRESS + str(one(page, ".share a[rel~=bookmark]").attributes["href"])
        copied = [str(node.attributes["data-copy"]) for node in page.css(".share [data-copy]")]
        assert copied[0] == link
        assert TWEETS[0] in copied[1] and HEADLINE in copied[1] and copied[1].endswith(link)
        assert one(page, ".share button[data-share]").attributes["hidden"] is None
        assert len(page.css(".share a[download]")) == 2
        assert not page.css("main img")

    @pytest.mark.parametrize("path", [*PATHS, "/healthz", "/readyz", "/api/corpora", "/feed.xml"])
    async def test_monitors_may_ask_for_the_head_alone(
        self, coffee_web: WebStage, path: str
    ) -> None:
        whole, head = await coffee_web.get(path), await coffee_web.client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]

    async def test_pictures_are_not_compressed_again(self, coffee_web: WebStage) -> None:
        shown = await coffee_web.get("/picture.png", **HEADLINE_AND_DATE)
        assert "content-encoding" not in shown.headers

    async def test_disabled_page_is_not_found(self, coffee_url: str) -> None:
        async with web_stage(coffee_url, page="false") as stage:
            for path in ("/", "/corpora", "/static/page.css"):
                assert await stage.problem(path, 404) == "There is nothing at this address."
            assert (await stage.get("/api/corpora")).status_code == 200


async def test_without_an_archive_the_way_to_one_is_told(web: WebStage) -> None:
    page = read(await web.get("/"))
    [said] = texts(page, ".nothing")
    assert said.endswith("loads one with: presagio ingest FILE")
    assert page.css_first("form") is None
    elsewhere = await web.get("/search")
    assert elsewhere.status_code == 404
    home = one(LexborHTMLParser(elsewhere.text), "main a").attributes["href"]
    assert home == "/"
    assert "Todavía no hay" in texts(read(await web.get("/", lang="es")), ".nothing")[0]


async def test_largest_corpus_is_preselected(web: WebStage) -> None:
    await load(web.app.database, "small", [document("1", "coffee")])
    await load(web.app.database, "large", [document("1", "coffee"), document("2", "tea")])
    await load(web.app.database, "news", [document(str(n), "coffee") for n in range(3)])
    page = read(await web.get("/"))
    assert texts(page, "#corpus option") == ["large", "small", "All archives"]
    assert texts(page, "#corpus option[selected]") == ["large"]
    page = read(await web.get("/search", q="coffee", corpus="news"))
    assert texts(page, "#corpus option[selected]") == ["news"]


async def test_the_invented_archive_stands_after_real_ones(web: WebStage) -> None:
    for name in ("demo", "real"):
        await load(web.app.database, name, [document("1", "coffee")])
    for path, names in (("/", "#corpus option:not([value=all])"), ("/corpora", ".voices h2 a")):
        assert texts(read(await web.get(path)), names) == ["real", "demo"], path


async def test_home_shows_a_prophecy_of_the_bundled_corpus(demo_web: WebStage) -> None:
    page = read(await demo_web.get("/"))
    assert texts(page, ".pair blockquote")[0].startswith("Mark my words: one day a")
    assert texts(page, ".pair .story a")[0].startswith("Container Ship Wedged")
    assert texts(page, ".pair .kick")[0].startswith("@")
    assert texts(page, ".pair .meta") == ["From the invented account of the demo"]
    assert not page.css("#lately")
    assert page.css("textarea[placeholder]")
    assert texts(read(await demo_web.get("/", lang="es")), ".pair blockquote")


async def test_all_archives_answer_together_each_text_with_its_own(web: WebStage) -> None:
    await load(web.app.database, "small", [document("1", "coffee is dear")])
    await load(web.app.database, "large", [document("2", "dear coffee"), document("3", "tea")])
    asked = {"headline": "Coffee is dear", "date": "2024-06-01", "corpus": "all"}
    page = read(await web.get("/prophecy", **asked))
    assert texts(page, "#corpus option[selected]") == ["All archives"]
    linked = {link.attributes["href"] for link in page.css(".hit .meta a[href^='/documents/']")}
    assert linked == {"/documents/small/1", "/documents/large/2"}
    assert all(line.count("small") < 2 for line in texts(page, ".hit .when"))
    hits = (await web.json("/api/prophecy", **asked))["hits"]
    assert {(hit["corpus"], hit["id"]) for hit in hits} == {("small", "1"), ("large", "2")}
    answered = await web.get("/ask", question="What of coffee?", corpus="all")
    assert answered.status_code == 200
    assert (await web.get("/search", q="coffee", corpus="all")).status_code == 404


async def test_unexpected_error_is_answered_without_details(
    coffee_web: WebStage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Prophet, "prophesy", broken)
    for path in ("/api/prophecy", "/prophecy"):
        answered = await coffee_web.get(path, **HEADLINE_AND_DATE)
        assert answered.status_code == 500
        assert "the log describes it" in answered.text
        assert "secret" not in answered.text
        assert answered.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answered.headers["Content-Security-Policy"]
    assert 'status="500"' in (await coffee_web.get("/metrics")).text
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


async def test_browsers_keep_static_files_under_an_address_that_changes_with_them(
    coffee_web: WebStage,
) -> None:
    home = read(await coffee_web.get("/"))
    loaded = [str(node.attributes["href"]) for node in home.css("link[rel~=stylesheet], [as=font]")]
    for address in (*loaded, "/static/page.css"):
        kept = (await coffee_web.client.get(address)).headers["cache-control"]
        assert ("immutable" in kept) == (address != "/static/page.css"), address


async def test_the_picture_of_an_answer_that_was_seen_counts_as_no_answer(coffee_url: str) -> None:
    async with web_stage(coffee_url, answers_per_minute="1") as web:
        assert (await web.get("/prophecy", **HEADLINE_AND_DATE)).status_code == 200
        assert (await web.get("/picture.png", **HEADLINE_AND_DATE)).status_code == 200
        other = HEADLINE_AND_DATE | {"date": "2023-05-05"}
        assert (await web.get("/picture.png", **other)).status_code == 429


async def test_paper_shows_the_address(coffee_web: WebStage) -> None:
    for path, asked in (("/prophecy", HEADLINE_AND_DATE), ("/documents/demo/1", {})):
        page = read(await coffee_web.get(path, **asked))
        assert texts(page, ".printed")[0].startswith(f"{ADDRESS}{path}")
