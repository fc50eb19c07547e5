"""What people ask and tell the bot about its answers and about each other's messages."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.commands.dialogue_acts import interpret_text
from bot.commands.intents import Classification, Intent, IntentClassifier, read_examples
from bot.commands.subscription_parser import read_subscription
from bot.i18n.words import words_for
from bot.request import Person, RepliedMessage, Trigger
from db.pool import Database
from engine.chat import Chat, Listening
from engine.posting.delivery import Subscription
from engine.search import HitKind
from tests.bot.commands.test_ask import StandInAsk
from tests.bot.commands.test_find import engine_of
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, event
from tests.bot.prophecies import NOW

NEWS = "Coffee prices hit a record high"
ANSWER = RepliedMessage(message="m1", mine=True)  # the bot's first message
_OF_POSTS = (Intent.SUBSCRIBE, Intent.UNSUBSCRIBE)
THEIRS = RepliedMessage(message="t1", text=NEWS, written_at=NOW - timedelta(hours=2))


@pytest.fixture
def asked() -> StandInAsk:
    return StandInAsk()


@pytest.fixture
async def bot(storage: Database, asked: StandInAsk) -> AsyncIterator[Bot]:
    async with bot_on(storage, ask=asked) as ready:
        yield ready


@pytest.mark.parametrize(
    "text",
    ["Source?", "When was this?", "¿Quién lo escribió?", "link?", "sauce?", "¿te lo inventas?",
     "how many retweets did that one get?", "can you translate that for Sofi",
     "¿esto es posta o es falso?",
     "is it real or did somebody forge it", "what day was it exactly, asking for a friend",
     "¿cuántos likes tuvo eso?",
     "did you make this up?", "enlace al tuit porfa", "is it real tho"],
)  # fmt: skip
@pytest.mark.parametrize("trigger", [Trigger.REPLY, Trigger.ADDRESSED])
async def test_author_date_and_link_of_an_answer_are_repeated(
    bot: Bot, text: str, trigger: Trigger
) -> None:
    answer = await bot.say(NEWS, place=GROUP)
    said = await bot.say(text, place=GROUP, trigger=trigger, quoted=ANSWER)
    lines = (said.text or "").splitlines()
    assert [line for line in lines if line.startswith("http")] == [hit.url for hit in answer.hits]
    described = [f"{hit.rank}. {hit.signature} · {hit.date_text}" for hit in answer.hits]
    assert [line for line in lines if not line.startswith("http")] == described
    assert bot.engine.calls[1:] == []


@pytest.mark.parametrize(
    "text",
    [
        "why did you pick the coffee one for that lol",
        "no lo pillo, ¿me explicas qué tiene que ver?",
    ],
)
async def test_the_choice_of_an_answer_is_explained(bot: Bot, text: str) -> None:
    await bot.say(NEWS, place=GROUP)
    said = await bot.say(text, place=GROUP, trigger=Trigger.REPLY, quoted=ANSWER)
    why = await bot.say("/why", place=GROUP, quoted=ANSWER)
    assert said.text == why.text


@pytest.mark.parametrize(
    "text",
    [
        "how many tweets do you have?",
        "whose tweets are those, im new",
        "hasta qué año llega tu archivo",
    ],
)
async def test_a_question_about_the_archives_lists_them(bot: Bot, text: str) -> None:
    said = await bot.say(text, place=GROUP)
    assert said.text == (await bot.say("/corpus", place=GROUP)).text


@pytest.mark.parametrize(
    "text",
    ["everything he has on tariffs, hand it over", "show me all he wrote about tariffs please"],
)
async def test_everything_about_a_subject_is_found(bot: Bot, text: str) -> None:
    await bot.say(text, place=GROUP)
    assert [call[0].split()[0] for call in engine_of(bot).calls] == ["tariffs"]
    assert bot.engine.calls == []


@pytest.mark.parametrize(
    "text", ["now this one: Tea prices hit a record high", "¿y esta? Suben los aranceles en Brasil"]
)
async def test_a_headline_after_words_that_point_at_it_is_searched_for_in_reply(
    bot: Bot, text: str
) -> None:
    await bot.say(NEWS, place=GROUP)
    await bot.say(text, place=GROUP, trigger=Trigger.REPLY, quoted=ANSWER)
    assert len(bot.engine.calls) == 2


@pytest.mark.parametrize("text", ["Source?", "Show me more", "why?"])
async def test_question_about_something_else_that_the_bot_said_gets_no_words(
    bot: Bot, text: str
) -> None:
    gone = RepliedMessage(message="gone", mine=True)
    assert await bot.hear(event(text, place=GROUP, trigger=Trigger.REPLY, quoted=gone)) is None
    assert (await bot.say(text, place=GROUP)).text == "Send me a headline first."


@pytest.mark.parametrize(
    "text",
    ["Show me more", "¿hay otros?", "anything else?", "Más, por favor", "anything older?",
     "show me the next one", "¿solo eso?", "ponme otro"],
)  # fmt: skip
async def test_words_for_more_show_the_next_page(bot: Bot, text: str) -> None:
    await bot.say(NEWS, place=GROUP)
    said = await bot.say(text, place=GROUP, trigger=Trigger.REPLY, quoted=ANSWER)
    assert [hit.rank for hit in said.hits] == [4, 5]


@pytest.mark.parametrize("text", ["can you draw me a picture of the second one", "pasalo a imagen"])
async def test_a_picture_of_an_answer_is_drawn(bot: Bot, text: str) -> None:
    await bot.say(NEWS, place=GROUP)
    said = await bot.say(text, place=GROUP, quoted=ANSWER)
    assert said.picture or "picture" in (said.text or "").lower()
    assert "This does it" not in (said.text or "")


@pytest.mark.parametrize(
    "text",
    ["and in 2012?", "and what did he say in 2012?", "¿y de Irán?", "y de Irán qué pensaba",
     "buscame qué decía de Irán jaja", "did he ever say the contrary"],
)  # fmt: skip
@pytest.mark.parametrize("trigger", [Trigger.REPLY, Trigger.ADDRESSED])
async def test_a_question_below_an_answer_is_asked_with_its_headline(
    bot: Bot, asked: StandInAsk, text: str, trigger: Trigger
) -> None:
    await bot.say(NEWS, place=GROUP)
    await bot.say(text, place=GROUP, trigger=trigger, quoted=ANSWER)
    assert asked.calls == [(text, "demo", (NEWS,))]


async def test_a_question_in_private_follows_the_last_answer_of_the_hour(
    bot: Bot, asked: StandInAsk
) -> None:
    await bot.say(NEWS)
    await bot.say("and in 2012?", now=NOW + timedelta(minutes=5))
    await bot.say("and in 2013?", now=NOW + timedelta(hours=3))
    assert [earlier for _, _, earlier in asked.calls] == [(NEWS,), ()]


async def test_of_an_answer_and_a_question_the_newer_is_followed(
    bot: Bot, asked: StandInAsk
) -> None:
    await bot.say("/ask What about wind?")
    await bot.say(NEWS, now=NOW + timedelta(minutes=1))
    await bot.say("and in 2012?", now=NOW + timedelta(minutes=2))
    await bot.say("and in 2013?", now=NOW + timedelta(minutes=3))
    assert [earlier for _, _, earlier in asked.calls[1:]] == [(NEWS,), (f"{NEWS}: and in 2012?",)]


@pytest.mark.parametrize("text", ["anything?", "¿y esto?", "what about this one?", "thoughts?"])
async def test_a_question_about_somebodys_message_searches_for_that(bot: Bot, text: str) -> None:
    await bot.say(text, place=GROUP, quoted=THEIRS)
    assert [call[0] for call in bot.engine.calls] == [NEWS]
    assert bot.engine.dates == [None], "it is of today"


async def test_anything_in_reply_to_the_bot_is_about_nobodys_headline(bot: Bot) -> None:
    quoted = replace(ANSWER, text="No results, nothing spooky.")
    said = await bot.say("anything?", place=GROUP, quoted=quoted)
    assert (said.text or "").startswith("Send me a headline or a link;")
    assert (
        await bot.hear(event("anything?", place=GROUP, trigger=Trigger.REPLY, quoted=quoted))
        is None
    )
    assert bot.engine.calls == []


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("/ask what did he say about this?", Trigger.COMMAND),
        ("what did he say about this?", Trigger.ADDRESSED),
        ("¿qué dijo de esto?", Trigger.ADDRESSED),
    ],
)
async def test_a_question_about_this_is_asked_of_the_message_replied_to(
    bot: Bot, asked: StandInAsk, text: str, trigger: Trigger
) -> None:
    await bot.say("/ask What about wind?", place=GROUP)
    await bot.say(text, place=GROUP, trigger=trigger, quoted=THEIRS)
    assert asked.calls[1] == (text.removeprefix("/ask "), "demo", (NEWS,))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("stop posting", "/unsubscribe"),
        ("cambia el idioma a inglés", "/settings language en"),
        ("why no post today?", "/preview"),
        ("post every day at 8:30", "/subscribe daily 8:30"),
        ("no molestes de noche", "/settings quiet 23:00-08:00"),
        ("seguí a Infobae", "/feeds add Infobae"),
        ("turn off headlines", "/settings headlines off"),
        ("deja de leer el grupo", "/settings headlines off"),
        ("publica todos los días a las nueve de la mañana", "/subscribe daily 9:00"),
        ("ponlo en español", "/settings language es"),
        ("ok stop now, dont publish anything here", "/unsubscribe"),
        ("could u show me the settings", "/settings"),
        ("mándame los ajustes", "/settings"),
        ("move the daily one to 7:15, im never up before", "/subscribe daily 7:15"),
        ("cambiá lo de la mañana a las 10h", "/subscribe daily 10:00"),
        ("u can start listening to us again", "/settings headlines on"),
        ("en inglés por favor, que Ana no entiende", "/settings language en"),
        ("let sofia use you", "/access allow sofia"),
        ("dale acceso a pedro", "/access allow pedro"),
        ("bloquea a nico", "/access refuse nico"),
        ("más corto por favor", "/settings answers"),
    ],
)
@pytest.mark.parametrize("trigger", [Trigger.ADDRESSED, Trigger.REPLY])
async def test_an_instruction_is_answered_with_the_command_that_does_it(
    bot: Bot, text: str, command: str, trigger: Trigger
) -> None:
    said = await bot.say(text, place=GROUP, trigger=trigger, quoted=ANSWER)
    assert (said.text, said.ephemeral) == (f"This does it: {command}", True)
    spanish = await bot.say(text, place=PRIVATE, person=Person(id="ana", language="es"))
    assert spanish.text == f"Esto lo hace: {command}"


@pytest.mark.parametrize(
    "text",
    ["Number 2 is the best one", "Dan se lo va a tatuar", "Nos vemos el sábado en lo de Eva",
     "jaja dale, nos vemos mañana", "let me guess", "give me a break", "enough, let's go",
     "Who's bringing the beers tonight?", "¿Venís el viernes a lo de Sami?"],
)  # fmt: skip
@pytest.mark.parametrize("trigger", [Trigger.ADDRESSED, Trigger.REPLY])
async def test_a_remark_on_an_answer_gets_no_words(bot: Bot, text: str, trigger: Trigger) -> None:
    await bot.say(NEWS, place=GROUP)
    assert await bot.hear(event(text, place=GROUP, trigger=trigger, quoted=ANSWER)) is None
    assert len(bot.engine.calls) == 1


async def test_a_remark_on_an_answer_in_private_gets_a_hint_and_no_search(bot: Bot) -> None:
    await bot.say(NEWS)
    said = await bot.say("Number 2 is the best one", quoted=ANSWER)
    assert (said.text or "").startswith("Send me a headline or a link;")
    assert (await bot.say("Tea prices hit a record high", quoted=ANSWER)).hits
    assert len(bot.engine.calls) == 2


@pytest.fixture
async def listening(bot: Bot) -> Bot:
    """The same, which hears headlines in the group."""
    await bot.set_up(GROUP, listening=Listening.parse("all"), threshold=HitKind.EARLIER_CASE)
    return bot


@pytest.mark.parametrize("text", [f"🚨 {NEWS}", f"{NEWS} 🇧🇷", f"{NEWS}!", NEWS.lower()])
async def test_a_headline_is_heard_however_it_is_decorated(listening: Bot, text: str) -> None:
    assert await listening.hear(event(text, place=GROUP, trigger=Trigger.OVERHEARD))


@pytest.mark.parametrize(
    "again", [NEWS, f"{NEWS} https://news.example/a", f"“{NEWS}”, says the paper", f"🚨 {NEWS}!"]
)
async def test_a_headline_that_was_answered_is_heard_again_after_a_day(
    listening: Bot, again: str
) -> None:
    assert await listening.hear(event(NEWS, place=GROUP, trigger=Trigger.OVERHEARD))
    late = NOW + timedelta(hours=23)
    assert (
        await listening.hear(event(again, place=GROUP, trigger=Trigger.OVERHEARD, now=late)) is None
    )
    assert len(listening.engine.calls) == 1
    later = NOW + timedelta(hours=25)
    assert await listening.hear(event(again, place=GROUP, trigger=Trigger.OVERHEARD, now=later))
    assert await listening.say(NEWS, place=GROUP, now=later), "who asks is answered"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("callate una hora", "/settings quiet"),
        ("ok enough posts for good", "/unsubscribe"),
        ("not on weekends please", "/subscribe except weekends"),
        ("no mandes nada los findes", "/subscribe except findes"),
        ("basta de posts los domingos", "/subscribe except domingos"),
        ("post every day besides sundays", "/subscribe except sundays"),
        ("publica todos los días quitando el lunes", "/subscribe except lunes"),
        ("don't post on fridays and saturdays", "/subscribe except fridays, saturdays"),
        ("solo los martes a las 8", "/subscribe daily 8 martes"),
        ("de lunes a viernes 7:30", "/subscribe daily 7:30 lunes a viernes"),
        ("no mandes nada entre las 23 y las 7", "/settings quiet 23-7"),
        ("follow the guardian", "/feeds add guardian"),
        ("add this https://news.example/rss please", "/feeds add https://news.example/rss"),
        ("sacá la nación de mis fuentes", "/feeds remove"),
        ("ponete más exigente con lo que mandás", "/settings threshold"),
        ("set the timezone to New York", "/settings timezone New York"),
        ("make the second one an image", "/picture 2"),
        ("haceme una imagen de eso", "/picture"),
        ("start posting pictures again", "/settings picture on"),
        ("poné fotos en cada posteo", "/settings picture on"),
    ],
)
def test_an_order_becomes_a_command_with_what_it_names(text: str, command: str) -> None:
    interpretation = interpret_text(text)
    assert interpretation
    assert interpretation.command == command


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("make it so that we can all see", "Perhaps this does it: /subscribe\n/help lists what"),
        ("no entiendo", "Perhaps this does it: /settings language es\n/help lists what"),
        ("i dont get it", "Send me a headline or a link;"),
        ("give me less of the boring ones", "Send me a headline or a link;"),
    ],
)
async def test_an_instruction_that_may_be_another_is_not_promised_to_be_done(
    bot: Bot, text: str, said: str
) -> None:
    assert (await bot.told(text)).startswith(said)
    below = event(text, place=GROUP, trigger=Trigger.REPLY, quoted=ANSWER)
    assert await bot.hear(below) is None


def test_what_is_offered_for_posts_can_be_typed() -> None:
    start = Subscription(chat=Chat(id=1, platform="test", external_id="1", private=True))
    interpreted = [interpret_text(text) for intent, text in read_examples() if intent in _OF_POSTS]
    commands = {each.command for each in interpreted if each and each.intent in _OF_POSTS}
    options = {command.partition(" ")[2] for command in commands if command != "/unsubscribe"}
    assert len(options) > 20
    for each in options:
        assert read_subscription(each, None, start, words_for("en")).chat is start.chat


@pytest.mark.parametrize(
    "text",
    [
        "Pará, Goyo, ¿vos no estabas en Londres?",
        "nothing works on sundays",
        "jaja https://news.example/a",
        "/r/politics bans bots",
        "10/10",
        "The Tweets That Foretold The Fall Of A Minister",
    ],
)
def test_what_others_are_told_and_what_is_news_asks_nothing_of_the_bot(text: str) -> None:
    assert interpret_text(text) is None


@pytest.mark.parametrize("text", ["stock market falls again", "se cae el peso otra vez"])
async def test_short_news_in_lower_case_is_searched_for_in_private(bot: Bot, text: str) -> None:
    await bot.say(text)
    assert len(bot.engine.calls) == 1


async def test_thanks_with_more_to_say_get_a_smiley(bot: Bot) -> None:
    said = await bot.say("thank you so much, made my morning", place=GROUP)
    assert not said.text


@pytest.mark.parametrize("text", ["a bad harvest makes coffee dear again", "who are you?"])
async def test_a_message_is_classified_once(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    classified: list[str] = []
    classify = IntentClassifier.classify

    def note(self: IntentClassifier, text: str) -> Classification:
        classified.append(text)
        return classify(self, text)

    monkeypatch.setattr(IntentClassifier, "classify", note)
    await bot.say(text)
    assert classified == [text]
