"""The pages to look at: corpora, single texts, and what meets a query."""

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from selectolax.lexbor import LexborHTMLParser

from bot.console.screen import Screen
from bot.i18n.words import words_for
from bot.queries.find import find
from bot.replies.find import brief_find_reply, find_reply
from bot.replies.prophecy import prophecy_reply
from bot.slack.render import render_blocks
from bot.telegram.render import render_messages
from engine.posting.delivery import SelectedFind
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest
from engine.values import Flag, Kind
from tests.ages import say_years
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import NOW, WebStage, judging, web_stage
from tests.bot.web.test_feeds import filled, posted
from tests.bot.web.test_pages import HEADLINE_AND_DATE, one, read, texts
from tests.db.loading import document, load
from tests.fakes.model import ModelServer, answer
from tests.patience import PATIENCE
from tests.scenarios.stage import TWEETS

# Of the bundled corpus, in both of its languages.
WORDS = (
    "ferry", "river", "captain", "soup", "canal", "bread", "inflación", "coffee", "lluvia", "phone",
)  # fmt: skip


def href(page: LexborHTMLParser, selector: str) -> str:
    return str(one(page, selector).attributes["href"])


class TestCorpora:
    async def test_a_corpus_shows_what_it_holds(self, coffee_web: WebStage) -> None:
        page = read(await coffee_web.get("/corpora/demo"))
        assert texts(page, ".facts")[0].startswith(f"{len(TWEETS)} posts, from ")
        assert not page.css("#lately")
        assert (await coffee_web.get("/corpora/nowhere")).status_code == 404

    async def test_lately_foretold_lists_posts_newest_first_with_author_and_text(
        self, web: WebStage
    ) -> None:
        chosen: Sequence[SelectedFind] = await posted(web.app.database, 2)
        await filled(web.app.database, chosen, author="mara")
        titles = [f"{pick.find.story.title}" for pick in reversed(chosen)]
        for path in ("/", "/corpora/demo"):
            page = read(await web.get(path))
            assert texts(page, "#lately") == ["Lately foretold"], path
            assert texts(page, ".story") == titles
            assert texts(page, ".leads .meta")[0].startswith("News of ")
            assert "@mara" in texts(page, ".leads .meta")[1]
            assert say_years(10, 11) in " ".join(texts(page, ".lead-time"))
            document = read(await web.get(href(page, "a[href^='/documents/']")))
            assert texts(document, ".alone h1") == texts(page, "blockquote")[:1]
            assert texts(document, ".leads .story") == [chosen[-1].find.story.text]
        corpus = read(await web.get("/corpora/demo"))
        assert not corpus.css(".examples"), "what was foretold is example enough"
        questions = texts(read(await web.get("/ask")), ".tries a")
        assert all(len(question) < 60 for question in questions), "of topics, not of headlines"


class TestDocuments:
    async def test_a_text_leads_to_those_around_it(self, coffee_web: WebStage) -> None:
        page, seen = read(await coffee_web.get("/documents/demo/1")), []
        while links := page.css(".neighbours [rel~=prev]"):
            assert links[0].text().startswith("← The post before")
            page = read(await coffee_web.get(str(links[0].attributes["href"])))
        for _ in TWEETS:
            seen.append(texts(page, "h1")[0])
            links = page.css(".neighbours [rel~=next]")
            if links:
                page = read(await coffee_web.get(str(links[0].attributes["href"])))
        assert sorted(seen) == sorted(TWEETS)
        assert not links


async def test_quote_repost_and_reply_labels_are_shown_on_every_page(web: WebStage) -> None:
    said = [
        text_of("1", '"@fan: The coffee is great!" Thanks.', days_ago=3003, flags=Flag.QUOTE),
        text_of("2", "RT @swan: Coffee for all.", days_ago=3002, flags=Flag.REPOST),
        text_of("3", "@bob No coffee today.", days_ago=3001, flags=Flag.REPLY),
    ]
    marks = ["quote", "repost", "reply"]
    await fill(web.app.database, "fans", Kind.TWEETS, said)
    asked = read(await web.get("/ask", question="What is said about coffee?"))
    assert sorted(texts(asked, ".entries .label")) == sorted(marks)
    listed = read(await web.get("/search", q="coffee", sort="date"))
    assert texts(listed, ".entries .label") == marks
    page = read(await web.get("/documents/fans/2"))
    assert texts(page, ".alone .label") == ["repost"]
    assert texts(page, ".neighbours .label") == ["quote", "reply"]


@pytest.mark.parametrize("url", ["http://[bad", "https://a℀b.org/x", "http://a:99999/"])
async def test_a_text_with_a_bad_address_is_shown_everywhere(web: WebStage, url: str) -> None:
    """Which an older version stored."""
    bad = text_of("1", "Coffee https://[ at @ana", days_ago=3000, url=url)
    await fill(web.app.database, "fans", Kind.SOCIAL, [bad])
    for path in ("/documents/fans/1", "/corpora/fans", "/search", "/api/search"):
        assert (await web.get(path, q="coffee")).status_code == 200, path
    answer = await web.get("/ask", question="What about coffee?")
    assert answer.status_code == 200 and "Coffee" in answer.text


class TestExamples:
    async def test_example_headlines_are_answered_by_the_corpus(
        self, demo_web: WebStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.web.examples._PATIENCE", PATIENCE)
        for path in ("/", "/?lang=es", "/corpora/demo"):
            page = read(await demo_web.get(path))
            links = [str(link.attributes["href"]) for link in page.css(".examples a")]
            assert len(links) == 3
            for link in links:
                answered = await demo_web.client.get(link, follow_redirects=True)
                assert read(answered).css("#hit-1"), link

    async def test_page_does_not_wait_for_all_examples_to_be_tried(
        self, web: WebStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.web.examples._PATIENCE", 0.0)
        await fill(
            web.app.database,
            "mine",
            Kind.TWEETS,
            [
                text_of("1", "Coffee prices hit a record high", days_ago=4000),
                text_of("2", "New tariffs raise prices for consumers", days_ago=4000),
            ],
        )
        shown = [texts(read(await web.get("/")), ".examples a") for _ in range(12)]
        assert [len(one) for one in shown] == sorted(len(one) for one in shown)
        assert shown[0] == ["New tariffs raise prices for consumers"]
        assert set(shown[-1][:2]) == {
            "Coffee prices hit a record high", "New tariffs raise prices for consumers"
        }  # fmt: skip

    async def test_an_empty_corpus_has_none(self, web: WebStage) -> None:
        await fill(web.app.database, "demo", Kind.TWEETS, [])
        assert not read(await web.get("/")).css(".examples")


class TestMore:
    async def test_more_texts_are_shown_on_request(self, coffee_web: WebStage) -> None:
        few = read(await coffee_web.get("/prophecy", **HEADLINE_AND_DATE))
        more = read(await coffee_web.get(href(few, ".actions a[href*='more=1']")))
        assert len(more.css(".hit")) > len(few.css(".hit"))
        assert texts(more, "blockquote")[:3] == texts(few, "blockquote")
        assert len(more.css("#more + .rest .hit")) == len(more.css(".hit")) - 3, "appended"
        assert texts(more, "h3")[:3] == texts(few, "h3"), "and what was there stays"
        following = len(more.css(".hit")) - 3
        assert texts(few, ".next a")[0].startswith(f"{following} more post")
        assert not more.css(".next a[href*='more=1']")

    async def test_no_more_are_offered_where_none_follow(self, web: WebStage) -> None:
        coffee = [text_of(str(n), f"Coffee {word}", days_ago=4000 + n)
                  for n, word in enumerate(("is dear", "for all", "never again"))]  # fmt: skip
        await fill(web.app.database, "mine", Kind.TWEETS, coffee)
        page = read(await web.get("/prophecy", headline="Coffee", date="2024-01-01", corpus="mine"))
        assert len(page.css(".hit")) == 3
        assert not page.css("a[href*='more=1']")


class TestQuestions:
    async def test_an_answer_without_a_model_is_its_sources(self, coffee_web: WebStage) -> None:
        page = read(await coffee_web.get("/ask", question="What was said about coffee?"))
        assert texts(page, "#sources") == ["The posts that come nearest"]
        assert "model" not in one(page, "main").text()
        assert read(await coffee_web.get(href(page, ".actions a"))).css(".entries blockquote")
        assert page.css(".entries blockquote")
        assert read(await coffee_web.get(href(page, ".entries a"))).css(".alone h1")

    async def test_an_answer_of_a_model_cites_its_sources(self, coffee_url: str) -> None:
        said = '{"claims":[{"text":"It is dear.","sources":[1]}]}'
        async with (
            ModelServer([answer(said)]) as model,
            web_stage(judging(coffee_url, model)) as stage,
        ):
            page = read(await stage.get("/ask", question="What was said about coffee?"))
        assert texts(page, ".answer p") == ["It is dear. [1]"]
        assert href(page, ".cite") == f"#{one(page, '.entries li').attributes['id']}"

    async def test_empty_answer_is_reported(
        self, coffee_web: WebStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.web.examples._PATIENCE", PATIENCE)
        page = read(await coffee_web.get("/ask", question="zebra"))
        assert texts(page, ".statement") == ["Nothing found that could answer this."]
        assert page.css(".actions a") and page.css(".tries a")

    async def test_where_the_model_finds_no_answer_the_nearest_posts_are_shown(
        self, coffee_url: str
    ) -> None:
        async with (
            ModelServer([answer('{"claims":[]}')]) as model,
            web_stage(judging(coffee_url, model)) as stage,
        ):
            page = read(await stage.get("/ask", question="What was said about coffee?"))
        assert texts(page, ".statement") == ["The sources do not say."]
        assert texts(page, "#sources") == ["The posts that come nearest"]
        assert "coffee" in texts(page, ".entries blockquote")[0].casefold()

    async def test_questions_to_try_stand_beside_words_of_the_archive_and_ask_no_model(
        self, coffee_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.web.examples._PATIENCE", PATIENCE)
        async with ModelServer([]) as model, web_stage(judging(coffee_url, model)) as stage:
            for path in ("/ask", "/ask?corpus=all"):
                page = read(await stage.get(path))
                quotes = texts(page, ".tries blockquote")
                assert len(texts(page, ".tries a")) == len(quotes) > 0
                assert all(any(quote in tweet for tweet in TWEETS) for quote in quotes)
            page = read(await stage.get("/compose"))
            [quoted] = [text for text in TWEETS if text in texts(page, ".sample .tweet")[0]]
            assert texts(page, ".sample .tweet")[0].endswith(f"“{quoted}” [1]")
        assert model.calls == 0


@pytest.mark.parametrize("word", WORDS)
async def test_a_search_lists_and_counts_what_sql_finds(demo_web: WebStage, word: str) -> None:
    async with demo_web.app.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT external_id FROM document WHERE tsv @@"
            " plainto_tsquery(('presagio_' || language)::regconfig, $1) ORDER BY created_at, id",
            word,
        )
    page = read(await demo_web.get("/search", q=word, sort="date"))
    listed = [str(link.attributes["href"]) for link in page.css(".entries .meta a")]
    found = [f"/documents/demo/{row['external_id']}" for row in rows]
    assert listed == [link for link in found if link in listed][: len(listed)] != []
    assert int(texts(page, ".summary")[0].split()[0]) == len(found)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/prophecy?headline=Container+ship+blocks+canal&date=2024-01-01&corpus=demo&more=1",
        "/search",
        "/search?q=-ferry",
        "/corpora/demo",
        "/ask?question=What+was+said+about+coffee",
        "/static/page.css",
        "/static/page.js",
    ],
)
async def test_pages_of_the_bundled_corpus_are_light(demo_web: WebStage, path: str) -> None:
    asked = {"Accept-Encoding": "gzip"}
    answered = await demo_web.client.get(path, headers=asked, follow_redirects=True)
    assert answered.headers["content-encoding"] == "gzip"
    assert 500 < int(answered.headers["content-length"]) < 60_000


async def test_the_first_page_is_at_most_12000_bytes(demo_web: WebStage) -> None:
    asked = {"Accept-Encoding": "gzip"}
    home = await demo_web.client.get("/", headers=asked)
    loaded = [str(node.attributes.get("href") or node.attributes["src"])
              for node in read(home).css("link[rel=stylesheet], script[src]")]  # fmt: skip
    parts = [home, *[await demo_web.client.get(path, headers=asked) for path in loaded]]
    assert len(parts) == 3
    assert sum(int(part.headers["content-length"]) for part in parts) <= 12_000


async def test_a_text_without_a_date_has_a_page_and_stands_at_the_end(web: WebStage) -> None:
    said = [
        text_of("1", "The coffee was cold.", days_ago=3003),
        replace(text_of("2", "No coffee for the crew."), created_at=None),
    ]
    await fill(web.app.database, "books", Kind.PUBLISHED, said)
    page = read(await web.get("/documents/books/2"))
    assert texts(page, ".alone .kick")[0].endswith("Without a date")
    assert not page.css("time") and not page.css(".neighbours a")
    listed = read(await web.get("/search", q="coffee", sort="date"))
    assert len(texts(listed, ".entries li")) == 2
    assert texts(listed, ".entries .meta")[-1].startswith("Without a date")
    asked = read(await web.get("/ask", question="What about coffee for the crew?"))
    assert "Without a date" in " ".join(texts(asked, ".entries .meta"))
    assert (await web.json("/api/documents/books/2"))["created_at"] is None


async def test_a_text_that_is_found_by_its_picture_shows_the_description(web: WebStage) -> None:
    seen = document("1", "Look at this. A grey heron on the quay", shown="Look at this.")
    await load(web.app.database, "demo", [replace(seen, meta={"beside": ["image: A grey heron"]})])
    [hit] = (await web.json("/api/find", q="heron"))["hits"]
    assert (hit["text"], hit["beside"]) == ("Look at this.", ["image: A grey heron"])
    for language, said in (("en", "[picture: A grey heron]"), ("es", "[imagen: A grey heron]")):
        page = read(await web.get("/documents/demo/1", lang=language))
        assert said in one(page, ".alone").text()
        assert said not in one(page, ".alone h1").text()
    found = await find(web.app, "heron", corpus="demo")
    prophecy = await web.app.prophesy(
        SearchRequest(headline=read_headline("Grey heron lands on quay"), limit=3, now=NOW),
        corpus="demo",
    )
    for reply in (
        find_reply(found, words_for("en")),
        brief_find_reply(found, words_for("en"), longest=280),
        prophecy_reply(prophecy, prophecy.hits, now=NOW, words=words_for("en")),
    ):
        screen = io.StringIO()
        Screen(screen, width=200).show(reply)
        for shown in (
            screen.getvalue(),
            "".join(render_messages(reply)),
            str(render_blocks(reply)),
        ):
            assert "[picture: A grey heron]" in shown
