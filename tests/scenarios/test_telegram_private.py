"""One person and the bot in a private chat."""

from datetime import UTC, datetime

from tests.ages import read_years
from tests.scenarios.stage import HEADLINE, Stage, asks_for_full_answers


async def test_answers_name_their_headline_if_several_were_pasted(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    alone = await (await alice.says(chat, HEADLINE)).answer()
    assert alone.reply_to is None
    asked = await alice.says(chat, "Coffee harvest fails in the third country")
    assert (await asked.answer()).reply_to is asked


async def test_several_headlines_are_answered_in_one_message(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    following = "Coffee harvest fails in the third country"
    answer = await (await alice.says(chat, f"{HEADLINE}\n{following}")).answer()
    assert answer.labels == ["1. More", "2. More"]
    assert answer.text.index(HEADLINE) < answer.text.index(following)
    await (await alice.presses(answer, "2. More")).answered()
    await bot.telegram.until_acknowledged()
    assert chat.bot_messages[-1].text.startswith(following)


async def test_an_edit_that_changes_no_answer_is_no_failure(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    asked = await alice.says(chat, "Zebras xylophone quietly")
    answer = await asked.answer()
    await alice.edits(asked, "Zebras xylophone quietly!")
    await bot.telegram.until_called("editMessageText", 1)
    await bot.telegram.until_acknowledged()
    assert (answer.edits, len(chat.bot_messages)) == (0, 1)
    assert not [line for line in bot.said if "not delivered" in line]


async def test_unsupported_content_gets_a_hint_once_a_day(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    sticker = {"file_id": "s", "file_unique_id": "s", "type": "regular", "width": 9, "height": 9}
    sticker |= {"is_animated": False, "is_video": False}
    first = await alice.sends(chat, sticker=sticker)
    assert (await first.answer()).text == "I read text, links and captions."
    voice = {"file_id": "v", "file_unique_id": "v", "duration": 3}
    await alice.sends(chat, voice=voice)
    await bot.telegram.until_acknowledged()
    assert len(chat.bot_messages) == 1
    group = bot.telegram.group("Friends", admins=[alice], privacy_mode=False)
    await alice.sends(group, voice=voice)
    await bot.telegram.until_acknowledged()
    assert group.bot_messages == [], "nobody asked"


async def test_a_full_answer_repeats_the_headline_and_has_votes_for_each_tweet(bot: Stage) -> None:
    alice, chat = bot.telegram.alone("Alice")
    await asks_for_full_answers(alice, chat)
    answer = await (await alice.says(chat, HEADLINE)).answer()
    assert answer.text.startswith(HEADLINE)
    assert answer.text.count("before ·") == 3
    assert answer.labels[:2] == ["1. 👍 0", "1. 👎 0"]
    assert answer.labels[-4:] == ["More", "Why?", "Picture", "Write about it"]


async def test_the_answer_speaks_the_language_of_the_person(bot: Stage) -> None:
    luz = bot.telegram.user("Luz", language="es-AR")
    asked = await luz.says(bot.telegram.private_chat(luz), HEADLINE)
    assert "28 de octubre de 2010" in (await asked.answer()).text


async def test_a_forwarded_post_and_a_photos_caption_are_headlines(bot: Stage) -> None:
    alice, channel = bot.telegram.user("Alice"), bot.telegram.channel("News")
    chat = bot.telegram.private_chat(alice)
    forwarded = await alice.forwards(chat, HEADLINE, origin=channel)
    assert "mark my words" in (await forwarded.answer()).text
    photo = await alice.sends_photo(chat, caption=HEADLINE, origin=channel)
    assert "mark my words" in (await photo.answer()).text


async def test_a_forwarded_post_is_answered_as_of_the_day_it_was_written(bot: Stage) -> None:
    alice, channel = bot.telegram.user("Alice"), bot.telegram.channel("News")
    chat = bot.telegram.private_chat(alice)
    new_year = int(datetime(2012, 1, 1, tzinfo=UTC).timestamp())
    forwarded = await alice.forwards(chat, HEADLINE, origin=channel, date=new_year)
    answer = (await forwarded.answer()).text
    assert "The headline is of January 1, 2012." in answer
    assert 1 in read_years(answer)
    assert answer.count("2012") == 1, "no tweet is younger than the news"


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


async def test_a_lone_surrogate_does_not_prevent_an_answer(stage: Stage) -> None:
    alice, chat = stage.telegram.alone("Al\ud83dice")
    async with stage.serving():
        payload = (await alice.says(chat, HEADLINE)).payload()
        await stage.telegram.until_acknowledged()
        asked = payload | {"message_id": 999, "text": HEADLINE.replace("record", "\ud83d record")}
        stage.telegram.malformed_update(content=asked)
        await stage.telegram.until_acknowledged()
    first, second = (message.text for message in chat.bot_messages)
    assert first == second
