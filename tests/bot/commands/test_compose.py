"""/compose announces what it writes, edits the announcement, and posts nothing twice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from bot.adapter import ChatGone, SlowDown
from bot.i18n.words import words_for
from bot.replies.composition import reasons_reply, variant_reply
from bot.reply import Reply
from bot.request import Person, Request, Revision, Trigger
from db.chat.compositions import Compositions, KeptTask
from db.pool import Database
from engine.compose.composition import (
    ComposedSource,
    ComposeRequest,
    Composition,
    Removal,
    SourceKind,
    SourcePassage,
    Step,
    StepName,
    Tweet,
    Variant,
)
from engine.errors import BudgetExhausted, CorpusNotFound
from engine.messages import Message
from tests.bot.conversing import GROUP, Bot, MemoryAdapter, bot_on, event, labels
from tests.bot.prophecies import NOW
from tests.patience import PATIENCE, until

PASSAGE = SourcePassage(
    key="demo:1",
    kind=SourceKind.INTERNAL,
    text="Coffee rose by 14 %.",
    title="@ana",
    date=NOW,
    url="https://posts.example/1",
    corpus="demo",
)


def written(*tweets: str) -> Composition:
    """A composition of one variant a tweet."""
    variants = tuple(Variant(tweets=(Tweet(text=text, length=len(text)),)) for text in tweets)
    return Composition(
        request=ComposeRequest(prompt="coffee", corpora=()),
        variants=variants,
        sources=(ComposedSource(number=1, passage=PASSAGE, quote="rose by 14 %"),),
        removed=(Removal(text="It doubled.", why=Message("No source says so.")),),
        steps=(Step(name=StepName.WEB, skipped=Message("No web search is set up.")),),
    )


def test_reasons_say_whether_a_model_compared_the_sentences() -> None:
    made, words = written("Dear. [1]"), words_for("en")
    unchecked = replace(made, variants=(replace(made.variants[0], checked=False),))
    for composition, said in ((made, "\nA model compared"), (unchecked, "\nNo model compared")):
        assert said in (reasons_reply(composition, words, full=False).text or "")
    nothing = replace(made, variants=(), notice=Message("No key."))
    assert variant_reply(1, nothing, words).text == "No key."
    assert variant_reply(1, made, words).text == "Dear. [1]\n(9 of 280 characters)"


@dataclass
class StandInComposer:
    """Goes through the steps, waits for `gate`, and returns `outcome` or raises `error`."""

    outcome: Composition = field(default_factory=lambda: written("Dear. [1]", "Up. [1]"))
    error: Exception | None = None
    gate: asyncio.Event | None = None
    calls: list[KeptTask] = field(default_factory=list)

    async def __call__(
        self, kept: KeptTask, now: datetime, progress: Callable[[StepName], None]
    ) -> Composition:
        self.calls.append(kept)
        progress(StepName.WRITE)
        if self.gate:
            await self.gate.wait()
        if self.error:
            raise self.error
        return self.outcome


@pytest.fixture
def composer() -> StandInComposer:
    return StandInComposer()


@pytest.fixture
async def bot(storage: Database, composer: StandInComposer) -> AsyncIterator[Bot]:
    async with bot_on(storage, compose=composer) as ready:
        yield ready


async def outcome(bot: Bot) -> Reply:
    """What stands in the announcement in the end."""
    await bot.conversation.wait_for_compositions()
    return bot.adapter.changed[-1][1]


async def test_the_step_under_way_is_shown(storage: Database, composer: StandInComposer) -> None:
    composer.gate = asyncio.Event()
    async with bot_on(storage, compose=composer) as bot:
        await bot.say("/compose Coffee prices")
        await until(lambda: bot.adapter.changed)
        message, step = bot.adapter.changed[0]
        assert (message, step.text, labels(step)) == ("m1", "Writing…", ["Stop"])
        composer.gate.set()
        assert "Dear." in ((await outcome(bot)).text or "")


async def test_a_chat_is_answered_while_something_is_written(
    bot: Bot, composer: StandInComposer
) -> None:
    composer.gate = asyncio.Event()
    await bot.say("/compose Coffee prices")
    assert (await bot.say("Coffee prices soar")).hits
    composer.gate.set()
    await outcome(bot)


async def test_buttons_show_the_next_variant_sources_and_reasons(bot: Bot) -> None:
    await bot.say("/compose Coffee prices")
    shown = await outcome(bot)
    following = await bot.press(shown, "next_tweet")
    assert following.replaces
    assert "Variant 2 of 2\nUp. [1]" in (following.text or "")
    assert "Variant 1 of 2" in ((await bot.press(following, "next_tweet")).text or "")
    sources = (await bot.press(shown, "tweet_sources")).text or ""
    assert "[1] @ana" in sources
    assert "“rose by 14 %”" in sources
    assert "https://posts.example/1" in sources
    reasons = (await bot.press(shown, "tweet_reasons")).text or ""
    assert "It doubled.\n   No source says so." in reasons
    assert "No web search is set up." in reasons
    assert " ms" not in reasons


class TestStopping:
    @pytest.fixture(autouse=True)
    def _waits(self, composer: StandInComposer) -> None:
        composer.gate = asyncio.Event()

    async def test_other_person_cannot_stop_the_composition(
        self, bot: Bot, composer: StandInComposer
    ) -> None:
        announced = await bot.say("/compose Coffee prices", place=GROUP)
        said = await bot.press(announced, "stop_tweet", place=GROUP, person=Person(id="bob"))
        assert said.toast == "Only who asked for it can stop it."
        assert composer.gate
        composer.gate.set()
        assert "Dear." in ((await outcome(bot)).text or "")
        late = await bot.press(announced, "stop_tweet", place=GROUP)
        assert late.toast == "It is finished already."

    async def test_composition_stopped_by_another_process_is_not_shown(
        self, bot: Bot, composer: StandInComposer, storage: Database
    ) -> None:
        announced = await bot.say("/compose Coffee prices")
        async with bot_on(storage, compose=composer) as other:
            assert (await other.press(announced, "stop_tweet")).text == "Stopped."
        assert composer.gate
        composer.gate.set()
        assert (await outcome(bot)).text == "Stopped."


async def left_for_others(storage: Database) -> list[KeptTask]:
    """What another process would take up now."""
    return await Compositions(storage).take_left(MemoryAdapter.platform, 0)


class TestRestart:
    @pytest.fixture(autouse=True)
    def _waits(self, composer: StandInComposer) -> None:
        composer.gate = asyncio.Event()

    async def left(self, storage: Database, composer: StandInComposer) -> None:
        """A process that ends in the middle."""
        async with bot_on(storage, compose=composer) as bot:
            await bot.say("/compose Coffee prices")
            await until(lambda: composer.calls)
            assert await bot.conversation.drain(PATIENCE)

    async def taken_up(self, bot: Bot, *, later: timedelta = timedelta()) -> Reply:
        bot.conversation.resume_compositions(bot.adapter, lambda: NOW + later)
        await until(lambda: any(not labels(reply) or "Why?" in labels(reply)
                                for _, reply in bot.adapter.changed))  # fmt: skip
        await bot.conversation.wait_for_compositions()  # and noted as shown
        return bot.adapter.changed[-1][1]

    async def test_composition_older_than_an_hour_is_given_up(
        self, storage: Database, composer: StandInComposer
    ) -> None:
        await self.left(storage, composer)
        async with bot_on(storage, compose=composer) as bot:
            shown = await self.taken_up(bot, later=timedelta(hours=1))
            assert shown.text == "I was interrupted while I wrote this. Ask me again."
            assert len(composer.calls) == 1

    async def test_composition_that_keeps_crashing_is_given_up(
        self, storage: Database, composer: StandInComposer
    ) -> None:
        await self.left(storage, composer)
        async with bot_on(storage, compose=composer) as bot:
            bot.conversation.resume_compositions(bot.adapter, lambda: NOW)
            await until(lambda: len(composer.calls) == 2)
        async with bot_on(storage, compose=composer) as third:
            assert "I was interrupted" in ((await self.taken_up(third)).text or "")

    async def test_composition_of_a_living_process_is_not_taken_over(
        self, storage: Database, composer: StandInComposer
    ) -> None:
        async with bot_on(storage, compose=composer) as bot:
            await bot.say("/compose Coffee prices")
            await until(lambda: composer.calls)
            assert await left_for_others(storage) == []
            assert composer.gate
            composer.gate.set()
            await outcome(bot)

    async def test_finished_composition_is_shown_after_a_restart(
        self, storage: Database, composer: StandInComposer
    ) -> None:
        assert composer.gate
        composer.gate.set()
        async with bot_on(storage, compose=composer) as bot:
            adapter = Unchangeable()
            asking = asyncio.create_task(
                bot.conversation.answer(event("/compose Coffee prices"), adapter)
            )
            await until(lambda: adapter.tried)
            await asking
            assert await bot.conversation.drain(PATIENCE)
        async with bot_on(storage, compose=composer) as bot:
            assert "Dear. [1]" in ((await self.taken_up(bot)).text or "")
            assert len(composer.calls) == 1, "it is not written again"


@dataclass
class Unchangeable(MemoryAdapter):
    """Can deliver, but has to be asked again for the outcome."""

    tried: bool = False

    async def change(self, request: Request, message: str, reply: Reply) -> str:
        if "Why?" in labels(reply):
            self.tried = True
            raise SlowDown(20)
        return message


class TestRefusals:
    async def test_without_a_model(self, storage: Database) -> None:
        async with bot_on(storage) as bot:
            said = await bot.say("/compose Coffee prices")
            assert "No language model is set up here" in (said.text or "")
            assert "/ask" in (said.text or "")
            assert said.writes is None
            row = (await bot.say("Coffee prices soar")).buttons[1]
            assert [button.label for button in row] == ["More", "Why?", "Picture"]

    async def test_without_a_prompt(self, bot: Bot) -> None:
        assert "such as: /compose Coffee prices" in await bot.told("/compose")

    async def test_a_daily_quota_of_its_own(
        self, storage: Database, composer: StandInComposer
    ) -> None:
        async with bot_on(storage, compose=composer, daily=1) as bot:
            await bot.say("/compose Coffee prices")
            await outcome(bot)
            said = await bot.say("/compose Coffee prices")
            assert "Enough was written for you today" in (said.text or "")
            assert len(composer.calls) == 1
            assert (await bot.say("Coffee prices soar")).hits, "searches have their own"

    async def test_compose_from_an_unknown_corpus_is_refused(self, bot: Bot) -> None:
        await bot.set_up(event("x").place, corpus="nobody")
        said = await bot.say("/compose Coffee prices")
        assert said.text == "There is no corpus 'nobody'. See /corpus."

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (BudgetExhausted(Message("The budget is spent.")), "My model has done all that it may"),
            (CorpusNotFound(Message("There is no corpus demo.")), "There is no corpus demo."),
            (RuntimeError("secret"), "Sorry, something went wrong."),
        ],
    )
    async def test_failure_is_shown_in_the_announcement(
        self, bot: Bot, composer: StandInComposer, error: Exception, said: str
    ) -> None:
        composer.error = error
        await bot.say("/compose Coffee prices")
        shown = await outcome(bot)
        assert said in (shown.text or "")
        assert "secret" not in (shown.text or "")
        assert shown.buttons == ()

    async def test_compose_is_not_run_for_a_chat_that_is_gone(
        self, bot: Bot, composer: StandInComposer
    ) -> None:
        bot.adapter.error = ChatGone(Message("Kicked."))
        await bot.conversation.answer(event("/compose Coffee prices"), bot.adapter)
        await bot.conversation.wait_for_compositions()
        assert composer.calls == []

    async def test_an_edited_command_is_not_written_again(
        self, bot: Bot, composer: StandInComposer
    ) -> None:
        asked = event("/compose Coffee prices")
        await bot.hear(asked)
        await outcome(bot)
        changed = len(bot.adapter.changed)
        await bot.hear(
            replace(
                asked,
                event_id="edited",
                revision=Revision(event_id=asked.event_id),
                text="/compose Tea",
            )
        )
        assert (len(composer.calls), len(bot.adapter.changed)) == (1, changed)

    async def test_a_button_that_is_too_old(self, bot: Bot) -> None:
        for name in ("write", "next_tweet", "as_thread", "tweet_sources", "stop_tweet"):
            said = await bot.say(f"{name}:99:0", trigger=Trigger.BUTTON)
            assert said.toast == "This button is too old."
