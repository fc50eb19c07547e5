"""What every adapter must do, in the same words on each: one answer to whatever a person does."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from bot.commands import standard_commands
from engine.vectors import TUNED, Vector
from tests.ages import read_years
from tests.fakes.model import failure, slow
from tests.fakes.web import feed, page
from tests.png import read_size
from tests.scenarios.adapters import ConsoleTalk, Shown, Talk
from tests.scenarios.stage import HEADLINE, load_tweets

# /compose is answered by a message that changes: see test_composing.py.
COMMANDS = [one.example for one in standard_commands().commands if one.name != "compose"]
ADDRESS = re.compile(r"https?://\S+")


@pytest.fixture
async def adapter(talk: Talk) -> AsyncIterator[Talk]:
    """The same with a bot that listens, and has shown nothing unasked when it ends."""
    async with talk.serving():
        yield talk


def is_answer(shown: Shown) -> bool:
    """Three tweets, each with its age."""
    return len(read_years(shown.text)) == 3


@pytest.mark.each_platform
async def test_a_pasted_headline_is_answered_with_three_dated_tweets(adapter: Talk) -> None:
    answer = await adapter.says(HEADLINE)
    assert is_answer(answer)
    assert "Coffee prices will hit a record high, mark my words." in answer.text
    assert "October 28, 2010" in answer.text
    assert "not judged" not in answer.text
    assert HEADLINE not in answer.text, "it stands right above"
    assert list(answer.buttons)[:2] == ["👍", "👎"]
    assert list(answer.buttons)[-3:] == ["More", "Why?", "Share"]
    assert adapter.stage.model.calls == 1


async def test_a_link_is_read_for_its_title_and_date(adapter: Talk) -> None:
    date = '<meta property="article:published_time" content="2012-01-01T00:00:00Z">'
    adapter.stage.web.pages["/news"] = page(f"<title>{HEADLINE}</title>{date}")
    answer = await adapter.says(adapter.stage.web.url("/news"))
    assert HEADLINE in answer.text
    assert 1 in read_years(answer.text)
    assert "The headline is of January 1, 2012." in answer.text
    assert answer.text.count("2012") == 1, "no tweet is younger than the news"
    assert adapter.stage.web.asked == ["/news"]


@pytest.mark.each_platform
async def test_every_command_gets_its_answer(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    adapter.stage.web.pages["/rss"] = feed(HEADLINE)
    for example in COMMANDS:
        command = ADDRESS.sub(adapter.stage.web.url("/rss"), example)
        shown = await adapter.commands(command)
        assert shown.text or shown.picture, command
        assert "I know no command" not in shown.text
    assert "/rss" in adapter.stage.web.asked


@pytest.mark.each_platform
async def test_start_greets_shortly_and_sets_up_by_buttons(adapter: Talk) -> None:
    await adapter.stage.rows(
        "UPDATE corpus SET display_name = 'Ana Ruiz', author = 'ana' RETURNING id"
    )
    greeting = await adapter.commands("/start")
    assert "the old tweets of Ana Ruiz" in greeting.text
    assert len(greeting.text) <= 500, "with what the platform adds for buttons"
    assert greeting.buttons == ["Set me up"]
    assert "Which language shall I speak here?" in (await adapter.presses("Set me up")).text
    news = await adapter.presses("Español")
    assert "¿Qué noticias leo?" in news.text
    assert "BBC Mundo" in news.buttons
    asked = await adapter.presses("Dejarlo como está")
    if "¿Qué hora es" in asked.text:  # Slack tells the zone
        asked = await adapter.presses("Dejarlo como está")
    assert "¿A qué hora publico" in asked.text
    assert "Todo listo." in (await adapter.presses("8:00")).text
    assert await adapter.stage.rows("SELECT mode FROM subscription") == [("daily",)]
    assert "Ana Ruiz" in (await adapter.says(HEADLINE)).text


async def test_the_bot_asks_which_archive_to_use_and_then_answers_the_headline(talk: Talk) -> None:
    await load_tweets(talk.stage.database_url, (f"{HEADLINE}, said Luis.",), name="luis")
    await talk.stage.rows("UPDATE corpus SET role = 'archive' RETURNING id")
    await talk.stage.rows(
        "UPDATE corpus SET display_name = 'Luis Pérez', author = 'luis' WHERE name = 'luis'"
        " RETURNING id"
    )
    async with talk.serving():
        asked = await talk.says(HEADLINE)
        assert "Whose texts shall I search?" in asked.text
        assert asked.buttons == ["demo", "Luis Pérez", "All of them"]
        assert "said Luis" in (await talk.presses("Luis Pérez")).text
        assert "said Luis" in (await talk.says(HEADLINE)).text, "the choice is kept"
        assert "the configured archive again" in (await talk.commands("/corpus default")).text
        assert "Whose texts shall I search?" in (await talk.commands("/subscribe daily 9:00")).text
        everybody = await talk.commands("/corpus all")
        assert "Here I search: all of them." in everybody.text
        both = (await talk.says(HEADLINE)).text
        assert "Luis Pérez" in both
        assert "ana · " in both, "each hit names its voice"
        found = (await talk.commands("/find luis OR moon")).text
        assert "Luis Pérez" in found
        assert "ana\n" in found
        assert "No text says" not in found, "one of them does"


@pytest.mark.each_platform
async def test_questions_about_the_last_answer_are_answered(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    assert "ana · October 28, 2010" in (await adapter.says("source?")).text
    assert "coffee" in (await adapter.says("and in 2012?")).text.lower()
    assert "4. " in (await adapter.says("show me more")).text
    does = (await adapter.says("cambia el idioma a inglés")).text
    assert does.strip().endswith("settings language en")


@pytest.mark.each_platform
async def test_more_results_come_by_button_and_by_command(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    second = await adapter.presses("More")
    assert "4. " in second.text
    assert "1. " not in second.text
    assert "7. " in (await adapter.commands("/more")).text
    assert "That is all I found." in (await adapter.commands("/more")).text
    assert adapter.stage.model.calls == 1


@pytest.mark.each_platform
async def test_a_vote_counts_once_and_can_be_changed(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    assert (await adapter.presses("👍")).buttons[:2] == ["👍 1", "👎"]
    assert (await adapter.presses("👍 1")).buttons[:2] == ["👍", "👎"]
    voted = await adapter.presses("👎")
    assert voted.buttons[:2] == ["👍", "👎 1"]
    if "2 👍" not in voted.buttons:
        await adapter.presses("2 … 3: 👍 👎")  # Slack shows them to one person alone
    assert "2 👍 1" in (await adapter.presses("2 👍")).buttons
    top = (await adapter.commands("/top")).text
    assert HEADLINE in top
    assert "👍 1 👎 0" in top
    assert "👎 1" not in top, "what was voted down is no favourite"


@pytest.mark.each_platform
async def test_settings_are_changed_by_button_and_by_command(adapter: Talk) -> None:
    shown = await adapter.commands("/settings")
    assert "language: auto" in shown.text
    assert "idioma: es" in (await adapter.presses("es")).text
    assert "28 de octubre de 2010" in (await adapter.says(HEADLINE)).text
    assert "language: en" in (await adapter.commands("/settings language en")).text
    assert await adapter.stage.rows("SELECT language FROM chat") == [("en",)]


@pytest.mark.each_platform
async def test_a_picture_comes_by_button_and_by_command(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    await adapter.presses("Share")
    for shown in (await adapter.presses("Picture"), await adapter.commands("/picture")):
        assert read_size(adapter.picture_of(shown)) == (1080, 1350)


async def test_an_answer_without_the_model_says_that_nobody_judged(adapter: Talk) -> None:
    adapter.stage.model.script = [failure(503)]
    answer = await adapter.says(HEADLINE)
    assert is_answer(answer)
    said = "I cannot judge just now; ranked by words."
    # Whoever sits at the terminal runs the bot, and is told the reason.
    assert (said in answer.text) is not isinstance(adapter, ConsoleTalk)


@dataclass
class SlowModel:
    """Gives vectors once it may; what it compares is near if it tells of a record harvest."""

    may: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = TUNED
    dimensions: int | None = 2

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        await self.may.wait()
        return [(1.0, 0.0) if text.startswith("Record coffee") else (0.5, 0.866) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return (1.0, 0.0)


@pytest.mark.each_platform
async def test_an_answer_comes_at_once_and_is_edited_after_reranking(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SlowModel()
    monkeypatch.setattr("engine.embed.local.find_spec", lambda _: object())
    monkeypatch.setattr("bot.evidence._open_local", lambda *_: model)
    talk.stage.environment["PRESAGIO_EMBEDDINGS__BACKEND"] = "local"
    talk.stage.environment["PRESAGIO_EMBEDDINGS__KEEP_UP"] = "false"
    talk.stage.model.script = [failure(503)]
    if isinstance(talk, ConsoleTalk):  # nothing printed is changed: it waits
        model.may.set()
    async with talk.serving():
        answer = await talk.says(HEADLINE)
        if not isinstance(talk, ConsoleTalk):
            assert not read_years(answer.text)
            assert "the answer comes here in a moment." in answer.text
            model.may.set()
            answer = await talk.changed()
        assert len(read_years(answer.text)) == 1
        assert "Record coffee harvest, they say." in answer.text
        assert "in a moment" not in answer.text
        assert "record, harvest" in (await talk.presses("Why?")).text


@pytest.mark.each_platform
async def test_a_redelivered_message_is_answered_once(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    await adapter.presses("👍")
    await adapter.commands("/why")
    await adapter.is_told_again()
    await adapter.says(HEADLINE)
    assert adapter.stage.model.calls == 1, "a judgment is kept"


@pytest.mark.each_platform
async def test_after_a_restart_buttons_work(talk: Talk) -> None:
    talk.outlives_process()
    async with talk.serving():
        await talk.says(HEADLINE)
    async with talk.serving():
        assert "The model read it" in (await talk.presses("Why?")).text
        assert "4. " in (await talk.presses("More")).text


OTHER_HEADLINE = "A festival of the moon draws thousands to London"


@pytest.mark.each_platform
async def test_more_why_and_picture_in_reply_refer_to_the_quoted_answer(adapter: Talk) -> None:
    first = await adapter.says(HEADLINE)
    assert "mark my words" in first.text
    drawn = adapter.picture_of(await adapter.commands("/picture"))
    assert "The harvest moon is high." in (await adapter.says(OTHER_HEADLINE)).text
    assert (await adapter.commands("/picture")).picture != drawn
    assert (await adapter.replies_to_first("/picture")).picture == drawn
    assert "prices" in (await adapter.replies_to_first("/why 1")).text
    more = (await adapter.replies_to_first("/more")).text
    assert "4. " in more
    assert "mark my words" not in more
    assert "moon" in (await adapter.commands("/why 1")).text, "without a reply it is the last one"


async def test_the_more_command_shows_the_next_texts_of_a_query(adapter: Talk) -> None:
    first = await adapter.commands("/find coffee")
    assert "Shown: 1 to 5." in first.text
    assert not re.search(r"\d\.\d\d", first.text), "a score"
    assert "6. " in (await adapter.commands("/more")).text


@pytest.mark.each_platform
async def test_the_answer_to_an_edited_headline_is_edited(adapter: Talk) -> None:
    await adapter.says("Zebras xylophone quietly")
    assert is_answer(await adapter.edits(HEADLINE))


@pytest.mark.each_platform
async def test_deleting_a_headline_deletes_its_answer(adapter: Talk) -> None:
    await adapter.says(HEADLINE)
    assert await adapter.deletes()


@pytest.mark.slow
@pytest.mark.each_platform
async def test_a_slow_answer_shows_its_step_which_the_answer_replaces(
    talk: Talk, show_steps_after: Callable[[float], None]
) -> None:
    show_steps_after(1.0)
    talk.stage.model.script = [slow(4.0, talk.stage.model.script[-1])]
    async with talk.serving():
        step, shown = await talk.says_slowly(HEADLINE)
    assert step == "Searching …"
    assert is_answer(shown)
