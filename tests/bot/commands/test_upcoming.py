"""/today, /preview and /history: what would be posted, is posted now, and was posted."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.commands.upcoming import HISTORY
from bot.i18n.words import words_for
from bot.jobs.content import NothingFound, content_to_json, render_delivery
from bot.jobs.digest import decide_due_posts
from bot.replies.buttons import post_buttons
from bot.reply import Button, Reply
from bot.request import Person
from db.chat.answers import Answers
from db.pool import Database
from db.posting.outbox import Outbox, owe_notices
from db.posting.subscriptions import Subscriptions
from engine.compose.composition import Composition
from engine.messages import as_message
from engine.posting.delivery import LeasedDelivery, OwedNotice, Subscription
from tests.ages import say_years
from tests.bot.commands.news import News, news_on
from tests.bot.commands.test_compose import StandInComposer
from tests.bot.conversing import GROUP, event
from tests.bot.prophecies import NOW

MINUTE = timedelta(minutes=1)
COFFEE, TEA = "Coffee prices soar everywhere", "Parliament debates the harbour"


@pytest.fixture
async def news(storage: Database) -> AsyncIterator[News]:
    async with news_on(storage) as news:
        yield news


async def with_finds(news: News) -> None:
    coffee, tea = await news.stories(COFFEE, TEA)
    await news.found(coffee, 6, text="Coffee will be dear, mark my words")
    await news.found(tea, 3, text="The harbour again")


async def leased(news: News) -> list[LeasedDelivery]:
    return await Outbox(news.bot.app.database).lease(["test"], now=NOW, limit=9, lease=MINUTE)


async def owed(news: News) -> list[Reply]:
    found, app = await leased(news), news.bot.app
    replies = [await render_delivery(app, one.delivery) for one in found]
    return [reply for reply in replies if reply]


class TestToday:
    async def test_today_posts_through_the_outbox_once(self, news: News) -> None:
        await with_finds(news)
        assert await news.bot.hear(event("/today")) is None
        (reply,) = await owed(news)
        assert reply.text == "The news of June 1, 2024. What was foretold:"
        assert [item.headline for item in reply.items] == [f"{COFFEE}!"]
        again = await news.bot.say("/today")
        assert again.text == "Nothing to tell just now; /preview says why."
        chat = await news.bot.chat()
        subscription = await Subscriptions(news.bot.app.database).set(
            replace((await _subscribed(news)), chat=chat, since=None), now=NOW - 2 * MINUTE
        )
        assert await decide_due_posts(news.bot.app, now=NOW + 21 * 60 * MINUTE) == 0
        assert subscription.chat == chat

    async def test_today_posts_to_the_thread_of_the_request(self, news: News) -> None:
        await with_finds(news)
        place = replace(GROUP, thread="42")
        assert await news.bot.hear(event("/today", place=place)) is None
        (one,) = await leased(news)
        assert (one.delivery.chat.external_id, one.delivery.thread) == (GROUP.chat_id, "42")

    async def test_today_includes_news_from_before_the_subscription(self, news: News) -> None:
        await with_finds(news)
        await _subscribed(news)
        assert await news.bot.hear(event("/today")) is None
        assert len(await owed(news)) == 1

    async def test_today_answers_directly_without_a_deliverer(self, storage: Database) -> None:
        async with news_on(storage, posters=()) as news:
            await with_finds(news)
            reply = await news.bot.say("/today")
            assert [item.headline for item in reply.items] == [f"{COFFEE}!"]
            assert f"1. {say_years(10, 3)}: " in ((await news.bot.press(reply, "why")).text or "")
            assert await owed(news) == []


class TestNumbers:
    async def test_a_story_has_the_same_number_in_its_post_its_why_and_its_picture(
        self, news: News
    ) -> None:
        coffee, tea = await news.stories(f"{COFFEE}!", f"{TEA}!")
        await news.found(coffee, 6, text="Coffee will be dear, mark my words")
        await news.found(tea, 5, text="Nobody will have any tea left")
        assert await news.bot.hear(event("/today")) is None
        (post,) = await owed(news)
        assert [item.hit.rank for item in post.items] == [1, 2]
        why = (await news.bot.press(post, "why")).text or ""
        assert [line.split(":")[0] for line in why.splitlines() if line[:1].isdigit()] == [
            "1. 10 years, 3 months before",
            "2. 10 years, 3 months before",
        ]
        (pictured,) = (await news.bot.say("/picture 2")).items
        assert (pictured.headline, pictured.hit.rank) == (f"{TEA}!", 2)
        await news.bot.say("/settings answers full")
        assert "2. score" in await news.bot.told("/why 2")


class TestPreview:
    async def test_preview_counts_the_reasons_of_many_left_out_stories(self, news: News) -> None:
        titles = [f"The minister of number {n} resigns over {n * 7} cows" for n in range(10, 23)]
        for story in await news.stories(*titles):
            await news.found(story, 1, text=f"Cow {story.id} will do it")
        lines = (await news.bot.told("/preview")).splitlines()
        at = lines.index("Left out:")
        assert lines[at + 10].endswith(": judged too weak for a post")
        assert lines[at + 11] == "- 3 more: judged too weak for a post"

    async def test_preview_shows_stories_next_post_and_reasons_for_the_rest(
        self, news: News
    ) -> None:
        await with_finds(news)
        subscription = await _subscribed(news)
        async with news.database.connection() as connection:
            await connection.execute("UPDATE subscription SET since = $1", NOW - timedelta(days=2))
        reply = await news.bot.say("/preview")
        assert reply.ephemeral
        assert (reply.text or "").splitlines() == [
            "Next post: June 2, 2024, 09:00 (UTC).",
            "",
            "A post would now tell:",
            f"1. {COFFEE}!",
            f"   March 1, 2014, {say_years(10, 3)}: Coffee will be dear, mark my words",
            "",
            "Left out:",
            f"- {TEA}!: judged too weak for a post",
        ]
        assert await owed(news) == []
        assert subscription.best == 3

    async def test_news_from_before_the_chat_subscribed_is_left_out(self, news: News) -> None:
        await with_finds(news)
        await _subscribed(news)
        text = await news.bot.told("/preview")
        assert "A post would now be empty." in text
        assert f"- {COFFEE}!: from before this chat subscribed" in text

    async def test_preview_reports_a_chat_without_feeds(self, news: News) -> None:
        await news.bot.say("/subscribe daily 9:00")
        text = await news.bot.told("/preview")
        assert (
            "A post would now be empty.\nNo feed is chosen: I post nothing until there is one."
            in text
        )

    async def test_preview_reports_feeds_without_news(self, news: News) -> None:
        await news.bot.say(f"/feeds add {news.feed}")
        await news.bot.say("/subscribe daily 9:00")
        text = await news.bot.told("/preview")
        assert text.endswith("No news has come from the feeds in the last day.")

    async def test_stories_that_nothing_was_found_for_are_counted(self, news: News) -> None:
        await news.stories(COFFEE, TEA)
        text = await news.bot.told("/preview")
        assert "This chat is told nothing unasked; /subscribe changes that." in text
        assert "2 stories are not judged yet." in text


class TestDraft:
    @pytest.fixture
    def composer(self) -> StandInComposer:
        return StandInComposer()

    @pytest.fixture
    async def news(self, storage: Database, composer: StandInComposer) -> AsyncIterator[News]:
        async with news_on(storage, compose=composer) as news:
            yield news

    async def test_a_preview_shows_the_draft_on_request(
        self, news: News, composer: StandInComposer
    ) -> None:
        await with_finds(news)
        await news.bot.say("/subscribe daily 9:00 compose")
        await _from_before(news)
        preview = await news.bot.say("/preview")
        assert (preview.text or "").endswith(
            "A draft of a tweet about its first story follows it; the button writes one."
        )
        assert composer.calls == [], "nothing is paid for unasked"
        announced = await news.bot.press(preview, "write")
        assert announced.text == "Looking into the archives…"
        await news.bot.conversation.wait_for_compositions()
        assert "Dear. [1]" in (news.bot.adapter.changed[-1][1].text or "")
        [kept] = composer.calls
        assert kept.task.prompt == COFFEE
        assert kept.task.answer_id

    async def test_preview_without_the_compose_option_has_no_button(self, news: News) -> None:
        await with_finds(news)
        await news.bot.say("/subscribe daily 9:00")
        await _from_before(news)
        preview = await news.bot.say("/preview")
        assert preview.buttons == ()
        assert "draft" not in (preview.text or "")

    async def test_a_post_made_now_can_be_written_about(
        self, news: News, composer: StandInComposer
    ) -> None:
        await with_finds(news)
        await news.bot.hear(event("/today"))
        found, app = await leased(news), news.bot.app

        async def draft(*_: object) -> Composition:
            raise AssertionError

        delivery = found[0].delivery
        post = await render_delivery(app, delivery, draft=draft)
        assert post is not None
        await news.bot.press(post, "write")
        await news.bot.conversation.wait_for_compositions()
        assert composer.calls[0].task.prompt == COFFEE


async def test_a_preview_says_that_no_draft_follows_without_a_model(news: News) -> None:
    await with_finds(news)
    await news.bot.say("/subscribe daily 9:00 compose")
    await _from_before(news)
    preview = await news.bot.say("/preview")
    assert (preview.text or "").endswith("No draft follows it: no language model is set up.")
    assert preview.buttons == ()


class TestHistory:
    async def test_history_of_a_chat_without_posts_is_empty(self, news: News) -> None:
        assert (await news.bot.say("/history")).text == "Nothing was posted here unasked yet."

    async def test_posts_and_what_became_of_them(self, news: News) -> None:
        await with_finds(news)
        outbox = Outbox(news.bot.app.database)
        await news.bot.hear(event("/today"))
        (sent,) = await leased(news)
        await outbox.sent(sent, "1", now=NOW)
        for key, content in (
            ("a", content_to_json(NothingFound(day=NOW.date()))),
            ("b", '{"kind": "?"}'),
        ):
            notice = OwedNotice(chat=sent.delivery.chat, thread=None, key=key, content=content)
            async with outbox._database.connection() as connection:
                await owe_notices(connection, [notice], now=NOW)
        (refused,) = await leased(news)
        await outbox.fail(refused, as_message("It could not be sent for a day."), now=NOW)
        assert (await news.bot.told("/history")).splitlines() == [
            "The last posts of this chat:",
            "June 1, 2024, 12:00 · not sent yet: …",
            "June 1, 2024, 12:00 · given up: No old tweet foretold the news since May 31, 2024.",
            f"June 1, 2024, 12:00: {COFFEE}!",
        ]
        runs_it = words_for("en", operator=True)
        asked = event("/history", chat=await news.bot.chat(), words=runs_it)
        told = await HISTORY.handler(asked, news.bot.app)
        assert told
        assert "given up (It could not be sent for a day.)" in (told.text or "")


async def _from_before(news: News) -> None:
    """Count stories from before the chat subscribed."""
    async with news.database.connection() as connection:
        await connection.execute("UPDATE subscription SET since = $1", NOW - timedelta(days=2))


async def _subscribed(news: News) -> Subscription:
    await news.bot.say("/subscribe daily 9:00")
    return await news.bot.subscription()


async def find_three(news: News) -> Sequence[str]:
    """Let three stories be foretold."""
    titles = ("Coffee prices soar", "Tea prices soar", "Milk prices soar")
    for title, story in zip(titles, await news.stories(*titles), strict=True):
        await news.found(story, 6, text=f"Mark my words: {title}")
    return titles


async def test_why_and_picture_accept_the_item_numbers_of_a_post(news: News) -> None:
    titles = await find_three(news)
    assert await news.bot.hear(event("/today")) is None, "the post comes by itself"
    posted = [await news.bot.say(f"/why {number}") for number in (1, 2, 3)]
    headlines = [(reply.text or "").splitlines()[0] for reply in posted]
    assert sorted(headlines) == sorted(titles)
    whole = await news.bot.told("/why")
    assert [whole.index(headline) for headline in headlines] == sorted(map(whole.index, headlines))
    assert (await news.bot.say("/why 4")).text == "I showed 1, 2, 3. Ask /why or /why NUMBER."
    first, third = [(await news.bot.say(f"/picture {number}")).picture for number in (1, 3)]
    assert first
    assert third
    assert first != third


async def test_the_button_of_a_post_explains_all_stories_and_that_of_a_row_its_own(
    news: News,
) -> None:
    titles = await find_three(news)
    await news.bot.hear(event("/today"))
    answers, words = Answers(news.bot.app.database), words_for("en")
    last = await answers.last(await news.bot.chat(), None)
    assert last is not None
    posted = await answers.posted_with(last)

    async def explained(*rows: tuple[Button, ...]) -> list[str]:
        said = (await news.bot.press(Reply(words=words, buttons=rows), "why")).text or ""
        return [title for title in titles if title in said]

    assert await explained(*post_buttons(posted, {}, words, compact=True)) == [*titles]
    await news.bot.say("/settings answers full")
    rows = post_buttons(posted, {}, words)
    own = [[one.prophecy.headline.text] for one in posted]
    assert [await explained(row) for row in rows] == own


async def test_a_vote_on_a_post_is_shown_in_its_row(news: News) -> None:
    await find_three(news)
    await news.bot.hear(event("/today"))
    (post,) = await owed(news)
    later = Reply(words=post.words, buttons=(post.buttons[0][2:],))
    votes, *rest = (await news.bot.press(later, "down")).buttons
    assert [button.label for button in votes] == ["👍", "👎", "2 👍", "2 👎 1", "3 👍", "3 👎"]
    assert tuple(rest) == post.buttons[1:]


async def test_posts_speak_the_language_of_whoever_subscribed(news: News) -> None:
    await news.bot.say("/top")
    assert (await news.bot.chat()).posts_in == "en"
    await news.bot.say("/subscribe daily 9", person=Person(id="maria", language="es"))
    assert (await news.bot.chat()).posts_in == "es"
    await news.bot.say("/settings language en")
    assert (await news.bot.chat()).posts_in == "en"
