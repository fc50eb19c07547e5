"""Headlines and tweets full of markup, tricks and far too much: shown as text or cut."""

from bot.replies.limits import utf16_length
from tests.fakes.model import scoring
from tests.fakes.telegram import Chat
from tests.scenarios.stage import HEADLINE, Stage, asks_for_full_answers, load_tweets

EVIL = "https://evil.example"
NASTY = (
    f"<b>bold</b> <a href='{EVIL}'>free coffee</a>",
    "</b></i></blockquote> coffee <b",
    "&lt;b&gt; &amp; &#60; coffee &notanentity;",
    "coffee \u202eeceps\u202c \u2066 \u200f prices",
    "coffee <!channel> @everyone @alice_in prices /start",
    "coffee \U0001f600" * 500,
    "coffee " * 15_000,
    "c" * 99_000 + " coffee",
)
# Telegram itself takes them away.
OVERRIDES = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


async def test_a_headline_with_markup_is_shown_as_plain_text(bot: Stage) -> None:
    for number, text in enumerate(NASTY):
        await assert_shown_as_text(bot, text, f"alice_in_{number}")


async def assert_shown_as_text(bot: Stage, text: str, username: str) -> None:
    alice = bot.telegram.user("Alice", username=username)
    chat = bot.telegram.private_chat(alice)
    asked = len(bot.web.asked)
    text = text.replace(EVIL, evil := bot.web.url("/evil"))
    await alice.says(chat, f"/prophecy {text}")
    await until_answered(chat, 1)
    await asks_for_full_answers(alice, chat)  # which repeat the headline
    await alice.says(chat, f"/prophecy {text}")
    await until_answered(chat, 3)
    await bot.telegram.until_acknowledged()
    short, _, full = chat.bot_messages
    for answer in (short, full):
        assert utf16_length(answer.text) <= 4096
        assert all("evil" not in address for _, address in answer.links)
        shown = {entity.type for entity in answer.entities}
        assert "mention" not in shown
        assert shown <= {"bold", "italic", "underline", "blockquote", "bot_command"}
    written = " ".join(text.translate(OVERRIDES).split())
    assert full.text.replace("\u2060", "").startswith(written[:15])
    # A linked page is asked for its date; that there is none costs nothing.
    assert bot.web.asked[asked:] == ["/evil"] * 2 * (evil in text)
    assert all("before ·" in one.text for one in (short, full)) or "No results" in short.text


async def until_answered(chat: Chat, times: int) -> None:
    await chat.until(lambda _: len(chat.bot_messages) >= times)


async def test_tweets_with_markup_are_shown_as_plain_text_in_one_message(stage: Stage) -> None:
    await stage.rows("DELETE FROM document RETURNING id")
    await load_tweets(stage.database_url, NASTY)
    stage.model.script = [scoring(lambda *_: 4)]
    async with stage.serving():
        alice = stage.telegram.user("Alice", username="alice_in")
        chat = stage.telegram.private_chat(alice)
        await alice.says(chat, "free coffee prices")
        await chat.until(lambda one: one.from_bot)
        for number in (2, 3):
            await alice.says(chat, "/more")
            await until_answered(chat, number)
        shown = chat.bot_messages
    texts = "\n".join(one.text for one in shown)
    assert "<b>bold</b> <a href='https://evil.example'>free coffee</a>" in texts
    assert "</b></i></blockquote> coffee <b" in texts
    for answer in shown:
        assert utf16_length(answer.text) <= 4096
        assert not {"mention", "text_link"} & {entity.type for entity in answer.entities}


async def test_long_tweets_share_the_message_limit(stage: Stage) -> None:
    await stage.rows("DELETE FROM document RETURNING id")
    goes_on = ("and so on ", "to be continued ", "more of the same ")  # else they count as one
    long = tuple(f"{HEADLINE} {number} " + goes_on[number] * 900 for number in range(3))
    await load_tweets(stage.database_url, long)
    async with stage.serving():
        alice, chat = stage.telegram.alone("Alice")
        short = await (await alice.says(chat, HEADLINE)).answer()
        await asks_for_full_answers(alice, chat)
        full = await (await alice.says(chat, HEADLINE)).answer()
    for answer in (short, full):
        assert 3500 < utf16_length(answer.text) <= 4096
        assert answer.text.count("…") == 3
