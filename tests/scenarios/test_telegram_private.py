"""One person and the bot in a private chat."""

from tests.scenarios.stage import HEADLINE, Stage


async def test_answers_name_their_headline_if_several_were_pasted(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    alone = await (await alice.says(chat, HEADLINE)).answer()
    assert alone.reply_to is None
    asked = await alice.says(chat, "Coffee harvest fails in the third country")
    assert (await asked.answer()).reply_to is asked


async def test_an_edit_that_changes_no_answer_is_no_failure(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    asked = await alice.says(chat, "Zebras xylophone quietly")
    answer = await asked.answer()
    await alice.edits(asked, "Zebras xylophone quietly!")
    await bot.telegram.until_called("editMessageText", 1)
    await bot.telegram.until_acknowledged()
    assert (answer.edits, len(chat.bot_messages)) == (0, 1)
    assert not [line for line in bot.said if "not delivered" in line]


async def test_a_forwarded_post_and_a_photos_caption_are_headlines(bot: Stage) -> None:
    alice, channel = bot.telegram.user("Alice"), bot.telegram.channel("News")
    chat = bot.telegram.private_chat(alice)
    forwarded = await alice.forwards(chat, HEADLINE, origin=channel)
    assert "mark my words" in (await forwarded.answer()).text
    photo = await alice.sends_photo(chat, caption=HEADLINE, origin=channel)
    assert "mark my words" in (await photo.answer()).text


async def test_inline_mode_offers_tweets_anywhere(bot: Stage) -> None:
    alice, bob = bot.telegram.user("Alice"), bot.telegram.user("Bob")
    elsewhere = bot.telegram.group("Elsewhere", members=[alice, bob])
    typed = [await alice.asks_inline(HEADLINE[:length]) for length in (6, 13, len(HEADLINE))]
    found = await typed[-1].answered()
    assert bot.model.calls == 1, "only what was typed last is looked for"
    assert (found.is_personal, found.cache_time) == (True, 60)
    assert 3 <= len(found.results) <= 50
    sent = await alice.chooses(typed[-1], 0, elsewhere)
    assert "mark my words" in sent.text
    await bot.telegram.until_acknowledged()
    assert elsewhere.bot_messages == []


async def test_menus_are_set_in_both_languages(bot: Stage) -> None:
    for language, said in (("en", "explain the last answer"), ("es", "explica")):
        person = bot.telegram.user("Somebody", language=language)
        menu = bot.telegram.menu(person, bot.telegram.private_chat(person))
        assert said in menu["why"]
        assert set(menu) >= {"prophecy", "more", "why", "top", "settings", "corpus", "help"}
