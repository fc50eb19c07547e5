"""Searches by kind find what they are asked for, and nothing else; snippets are the contract's."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import pytest

from bot.app import App, open_app
from bot.queries.find import personal_search, published_search, social_search
from bot.query_log import log_of
from bot.settings import load_settings
from engine.contracts.requests import PersonalSearch, PublishedSearch, SocialSearch
from engine.errors import CorpusNotFound
from engine.values import Kind
from tests.bot.kinds import LONG, POSTS, fill, fill_all, text_of


@pytest.fixture
async def app(database: str) -> AsyncIterator[App]:
    async with open_app(load_settings(), progress=print) as opened:
        await fill_all(opened.database)
        yield opened


async def personal(app: App, query: str = "coffee", **values: object) -> list[str]:
    search = PersonalSearch.model_validate({"query": query, **values})
    return [hit.message_id for hit in (await personal_search(app, search)).items]


async def social(app: App, query: str = "coffee", **values: object) -> list[str]:
    search = SocialSearch.model_validate({"query": query, **values})
    return [hit.post_id for hit in (await social_search(app, search)).items]


async def published(app: App, query: str = "coffee", **values: object) -> list[str]:
    search = PublishedSearch.model_validate({"query": query, **values})
    return [hit.article_id for hit in (await published_search(app, search)).items]


@pytest.mark.parametrize(
    ("search", "values", "expected"),
    [
        (personal, {}, {"m1", "m2", "m3"}),
        (personal, {"role": "me"}, {"m2"}),
        (personal, {"role": "ME", "query": "is OR coffee"}, {"m2"}),
        (personal, {"source": "slack"}, {"m1", "m2"}),
        (personal, {"source": "chatgpt", "role": "user"}, {"m3"}),
        (personal, {"thread_id": "kitchen"}, {"m1", "m2"}),
        (personal, {"thread_id": "Kitchen"}, set()),
        (personal, {"tags": ["late"]}, {"m2"}),
        (personal, {"tags": ["late", "never"]}, set()),
        (personal, {"query": "", "thread_id": "kitchen"}, {"m1", "m2", "m5"}),
        (personal, {"query": "xylophone"}, set()),
        (social, {}, {"p3"}),  # the best is of linkedin
        (social, {"platform": "all"}, {"p1", "p2", "p3"}),  # p4 says what p3 says
        (social, {"query": "coffee platform:mastodon platform:linkedin"}, {"p1", "p2", "p3"}),
        (social, {"platform": "mastodon"}, {"p1", "p2"}),
        (social, {"platform": "linkedin"}, {"p3"}),
        (social, {"platform": "x"}, set()),
        (social, {"hashtags": ["#Coffee"]}, {"p1"}),
        (social, {"mentions": ["ben"]}, {"p2"}),
        (social, {"min_engagement": 20, "platform": "All"}, {"p2", "p3"}),
        (social, {"min_engagement": 20, "platform": "mastodon"}, {"p2"}),
        (published, {}, {"a1", "a2", "a3"}),
        (published, {"author": "ben lee"}, {"a2"}),
        (published, {"domain": "example.org"}, {"a1"}),
        (published, {"domain": "example.net"}, {"a2"}),
        (published, {"domain": "ample.org"}, set()),
        (published, {"tags": ["economy"]}, {"a1"}),
    ],
)
async def test_filters_hold(
    app: App,
    search: Callable[..., Awaitable[list[str]]],
    values: dict[str, object],
    expected: set[str],
) -> None:
    assert set(await search(app, **values)) == expected


async def test_date_bounds_are_inclusive(app: App) -> None:
    day = f"{POSTS[0].created_at:%Y-%m-%d}"
    assert await social(app, date_from=day, date_to=day) == ["p1"]


async def test_platforms_are_not_mixed_unless_asked(app: App) -> None:
    one = await social_search(app, SocialSearch(query="coffee"))
    assert {hit.platform for hit in one.items} == {"linkedin"}
    assert one.notice == (
        "Only posts of linkedin; there are some of mastodon, too: name one as platform, or all."
    )
    assert one.filters == ("platform:linkedin",)
    every = await social_search(app, SocialSearch(query="coffee", platform="all"))
    assert {hit.platform for hit in every.items} == {"mastodon", "linkedin"}
    assert every.notice is None


async def test_the_log_has_the_platforms_that_were_touched(app: App) -> None:
    await social_search(app, SocialSearch(query="coffee", platform="all"))
    await social_search(app, SocialSearch(query="xylophone"))
    log = log_of(app.database, app.settings)
    entries = await log.recent(now=datetime.now(UTC), limit=2)
    assert [set(entry.platforms) for entry in entries] == [set(), {"mastodon", "linkedin"}]


async def test_default_attribution_is_author_source_and_date(app: App) -> None:
    found = await personal_search(app, PersonalSearch(query='"coffee at ten"'))
    [hit] = found.items
    assert hit.attribution == f"Ana, slack#m2, {hit.date:%Y-%m-%d}"


async def test_attachments_and_participants_are_typed(app: App) -> None:
    files = ["plan.pdf", "https://files.example/harbour.jpg?size=large", "note.ogg", "a boat"]
    meta = {"attachments": files, "participants": ["Ana", "Ben"]}
    message = text_of("f1", "The plan of the harbour", platform="slack", meta=meta)
    await fill(app.database, "files", Kind.PERSONAL, [message])
    [hit] = (await personal_search(app, PersonalSearch(query="plan", corpus="files"))).items
    assert hit.participants == ("Ana", "Ben")
    assert [(attachment.name, attachment.kind) for attachment in hit.attachments] == list(
        zip(files, ("file", "image", "audio", "file"), strict=True)
    )


async def test_thread_score_is_equal_for_all_messages_of_a_thread(app: App) -> None:
    search = PersonalSearch(query="coffee OR kind", thread_id="kitchen")
    found = (await personal_search(app, search)).items
    assert [hit.thread_id for hit in found] == ["kitchen"] * 3
    assert {hit.parts["thread"] for hit in found} == {0.75}


async def test_the_limit_holds_after_near_identical_ones_are_gone(app: App) -> None:
    copies = [text_of(f"d{n}", f"Dear coffee, number {n % 2}", days_ago=n) for n in range(150)]
    await fill(app.database, "copies", Kind.PERSONAL, copies)
    assert len(await personal(app, corpus="copies", limit=2)) == 1
    assert len(await personal(app, corpus="chats", limit=2)) == 2


async def test_the_best_of_near_identical_ones_stands_for_them(app: App) -> None:
    found = await social_search(app, SocialSearch(query="oil"))
    assert [(hit.post_id, hit.notes) for hit in found.items] == [
        ("p3", ("1 near-identical left out",))
    ]


async def test_a_recent_message_comes_before_an_old_one_of_the_same_words(app: App) -> None:
    assert (await personal(app, thread_id="kitchen")) == ["m2", "m1"]


async def test_a_long_message_is_a_window_around_its_match(app: App) -> None:
    [hit] = (await personal_search(app, PersonalSearch(query="espresso machine"))).items
    assert hit.snippet in LONG
    assert "espresso machine was mourned" in hit.snippet
    assert len(hit.snippet) <= 2 * 240 + len("espresso")
    assert "excerpt of a longer text" in hit.notes
    assert "espresso machine" in hit.voice_terms


async def test_a_post_is_shown_whole(app: App) -> None:
    long_post = text_of("long", f"{LONG} coffee", platform="linkedin")
    await fill(app.database, "more", Kind.SOCIAL, [long_post])
    [hit] = (await social_search(app, SocialSearch(query="espresso", corpus="more"))).items
    assert hit.snippet == long_post.text


async def test_snippet_has_its_source_thread_and_attribution(app: App) -> None:
    search = PersonalSearch(query='"coffee at nine"')
    [hit] = (await personal_search(app, search)).items
    assert (hit.source, hit.platform) == ("Personal", "slack")
    assert (hit.thread_id, hit.message_id) == ("kitchen", "m1")
    assert (hit.attribution, hit.role, hit.author) == ("export.zip/kitchen#m1", "others", "Ben")
    assert set(hit.parts) == {"lexical", "recency", "role", "thread"}
    assert hit.bm25 == pytest.approx(sum(match.score for match in hit.matched), abs=1e-3)


async def test_the_strongest_comments_come_with_a_post_when_asked_for(app: App) -> None:
    found = await social_search(app, SocialSearch(query="prices", comments=1))
    assert [comment.post_id for comment in found.items[0].comments] == ["c2"]
    assert (await social_search(app, SocialSearch(query="prices"))).items[0].comments == ()


async def test_a_result_carries_its_receipt(app: App) -> None:
    found = await published_search(
        app, PublishedSearch(query="coffee OR tea", domain="example.org")
    )
    assert (found.canonical, found.plan) == ("coffee OR tea domain:example.org", "ranked")
    assert (found.counts.matching, found.counts.passing) == (3, 1)
    assert found.counts.candidates == 1
    assert found.model_validate_json(found.model_dump_json()) == found


async def test_several_corpora_of_a_kind_require_a_choice(app: App) -> None:
    await fill(app.database, "diary", Kind.PERSONAL, [text_of("d1", "Coffee with Eve")])
    with pytest.raises(CorpusNotFound, match="several corpora: chats, diary"):
        await personal(app)
    assert await personal(app, corpus="diary") == ["d1"]
    assert await personal(app, "in:diary coffee") == ["d1"]


async def test_tweets_are_searched_as_posts_only_if_named(app: App) -> None:
    await fill(app.database, "tweets", Kind.TWEETS, [text_of("t1", "Coffee!", platform="x")])
    assert "t1" not in await social(app)
    assert await social(app, corpus="tweets", platform="x") == ["t1"]
