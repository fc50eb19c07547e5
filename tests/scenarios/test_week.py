"""Seven days on both platforms, in two languages, with three kills: what people get to read."""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.ages import read_years
from tests.fakes.model import Asked, Step
from tests.fakes.slack import App
from tests.fakes.web import page
from tests.patience import PATIENCE, until
from tests.scenarios.seats import Seat
from tests.scenarios.week import news
from tests.scenarios.week.catalogue import misplaced
from tests.scenarios.week.people import People
from tests.scenarios.week.stage import DAYS, Week, week
from tests.scenarios.week.transcript import lines, posted, too_long, unasked, written

_KEPT_AS = os.environ.get("PRESAGIO_TEST_TRANSCRIPT")
# Of Carla, Dani, Zoe and Bob; nobody expects an answer.
REMARKS = (
    ("😂😂😂", "jajaja qué genio", "wow", "that's wrong, it was in 2011"),
    ("lol", "no puede ser", "this is so accurate", "thanks!"),
    ("haha nailed it", "Eso lo dijo Messi en 2014", "👏👏", "you are so dumb"),
)


class Play:
    """The week, day by day."""

    def __init__(self, stage: Week) -> None:
        self.week = stage
        self.people = People(stage)
        people = self.people
        # Each is told once a day, in this language; Dora's clock is that of Madrid.
        self.early: dict[Seat[Any], str] = {people.dora: "es"}
        self.subscribed: dict[Seat[Any], str] = {
            people.alice: "en",
            people.bob_with_friends: "en",
            people.luz_with_neighbours: "es",
            people.luz_in_the_topic: "es",
            people.carol_in_general: "en",
        }

    # Monday, before anybody is up

    async def owners(self) -> None:
        """Own the bot, and let people in."""
        people, week = self.people, self.week
        assert "You own this bot now." in await people.alice.says(
            f"/start {await week.code('telegram')}"
        )
        assert "You own this bot now." in await people.carol.commands(
            f"/start {await week.code('slack')}"
        )
        assert "Ana Ruiz" in await people.alice_with_friends.says("/start")
        await people.carol_in_general.commands("/start")
        for seat in (people.luz_with_neighbours, people.luz_in_the_topic):
            assert "ya le he preguntado" in await seat.says("/start")
            assert "may use me now" in await people.alice.presses("Allow")
        assert "has been asked" in await people.eve_at_home.says("/start")
        assert "may not use me" in await people.alice.presses("Refuse")
        assert "ya le he preguntado" in await people.dora.says("hola")
        assert "may use me now" in await people.carol.presses("Allow")

    async def subscriptions(self) -> None:
        """Choose archives, and let every chat be told daily."""
        people = self.people
        await people.alice.says("/corpus ana")
        await people.alice_with_friends.says("/corpus ana")
        await people.luz_with_neighbours.says("/corpus luis")
        await people.luz_in_the_topic.says("/corpus luis")
        await people.alice.says("/corpus @daily_omen nico")
        await people.alice.says("/settings @daily_omen picture post")
        await people.carol_in_general.commands("/corpus nico")
        await people.dora.commands("/corpus luis")
        for seat, language in (self.early | self.subscribed).items():
            topic = "topic " if seat is people.luz_in_the_topic else ""
            admin = people.alice_with_friends if seat is people.bob_with_friends else seat
            said = await admin.commands(f"/subscribe {topic}daily 9:00 languages {language}")
            assert "9:00" in said
        assert "9:00" in await people.alice.says("/subscribe @daily_omen daily 9:00 languages en")

    # Every morning

    async def morning(self, day: int) -> None:
        """Publish the day's stories; each chat is told of its own, once."""
        week = self.week
        week.publish(day + 1)  # read when the papers are next due, which they are at six
        week.set_time(day, 6)
        await week.stories_were_judged(len(news.ARCHIVES))
        for hour, seats in ((8, self.early), (9, self.subscribed)):
            before = {seat: len(seat.said) for seat in seats}
            photos = len(self.people.omen.bot_messages)
            await self._told_at(day, hour)
            for seat, language in seats.items():
                (post,) = seat.said[before[seat] :]
                headline = (news.ENGLISH if language == "en" else news.SPANISH)[day]
                assert headline in getattr(post, "visible", post.text)
            if hour == 9:
                (photo,) = self.people.omen.bot_messages[photos:]
                assert photo.photo
                assert news.ENGLISH[day] in photo.text

    async def _told_at(self, day: int, hour: int) -> None:
        week = self.week
        posts = len(self.early) + len(self.subscribed) + 1  # and the channel
        due = day * posts + (len(self.early) if hour == 8 else posts)
        aimed = None
        if hour == 9 and day == 1:
            aimed = week.aims["slack"].at("chat.postMessage", shown=True)
        if hour == 9 and day == 3:
            aimed = week.aims["telegram"].at("sendMessage", shown=False)
        week.set_time(day, hour, 1)
        if aimed:
            async with asyncio.timeout(PATIENCE):
                await aimed
            await week.until_rows("SELECT count(*) FROM delivery WHERE state = 'owed'", 1)
            await week.kill()
            week.set_time(day, hour, 10)
            await week.start()
        await week.decided(due)
        await week.delivered()

    # What people say among themselves, and of what the bot says

    async def remarks(self, day: int) -> None:
        """Laugh at, doubt and thank for the bot's last answer; it says nothing."""
        people = self.people
        answer = people.bob_with_friends.said[-1]
        said = REMARKS[day % len(REMARKS)]
        everybody = (people.carla, people.dani, people.zoe, people.bob_with_friends)
        for seat, text in zip(everybody, said, strict=True):
            await seat.says(text, answers=0, reply_to=answer)
        await people.carla.says(f"@presagio_bot {said[0]}", answers=0)
        general = people.carol_in_general
        if general.said:
            await self.silently(
                people.dave.user.says(general.channel, said[3], thread=general.said[-1])
            )
            for member, text in ((people.erin, said[0]), (people.ines, "jajaja qué genio")):
                told_there = general.said[-1]
                await self.silently(member.user.says(general.channel, text, thread=told_there))
        await self.silently(people.dave.user.mentions_bot(general.channel, "thanks!"))
        await self.silently(people.frank.user.mentions_bot(general.channel, "you are so dumb"))

    async def silently(self, doing: Awaitable[object]) -> None:
        """Do something on Slack that nobody answers."""
        channel = self.people.carol_in_general
        before = len(channel.said)
        await doing
        await self.week.slack.quiet(PATIENCE)
        assert len(channel.said) == before

    async def comings_and_goings(self) -> None:
        """Somebody joins, an admin leaves; a voice and a sticker are for the others."""
        zoe, carla = self.people.zoe, self.people.carla
        friends, before = zoe.chat, len(zoe.said)
        voice = {"file_id": "v", "file_unique_id": "v", "duration": 3}
        dice = {"emoji": "🎲", "value": 3}
        for fields in (
            {"new_chat_members": [zoe.user.payload()]},
            {"left_chat_member": self.people.alice.user.payload()},
            {"voice": voice},
        ):
            await carla.user.sends(friends, **fields)
        await carla.user.sends(friends, dice=dice, reply_to=carla.said[-1])
        await self.week.telegram.until_acknowledged(PATIENCE)
        assert len(zoe.said) == before
        workspace, general = self.week.slack.workspace, self.people.carol_in_general.channel
        await self.silently(self._happen(workspace.join, general, self.people.gina))
        carol = self.people.carol_in_general.user
        left = partial(workspace.post, subtype="channel_leave")
        await self.silently(self._happen(left, general, carol, f"{carol.mention} has left"))

    async def _happen(self, event: Callable[..., object], *about: object) -> None:
        event(*about)

    async def outage(self) -> None:
        """The database is away while somebody asks on each platform; both are answered later."""
        bob, erin = self.people.bob_with_friends, self.people.erin
        said = len(bob.said), len(erin.said)
        async with self.week.without_database():
            sorry = await bob.says("/prophecy Robot takes laundry from the hotel")
            assert sorry == "Sorry, I cannot reach my archive just now. I answer as soon as I can."
            await erin.user.mentions_bot(erin.channel, "Streaming service raises prices in March")
            await self.week.slack.until(lambda: len(erin.said) > said[1], PATIENCE)
        answer = bob.said[-1]
        await until(lambda: "before" in answer.text)
        await until(lambda: any(13 in read_years(one.visible) for one in erin.said[said[1] :]))
        assert len(bob.said) == said[0] + 1, "in place of the apology"

    # What people do by day

    async def monday(self) -> None:
        bob, alice = self.people.bob_with_friends, self.people.alice
        await bob.says("good morning everybody", answers=0)
        await bob.says("@presagio_bot hi")
        assert read_years(await bob.says("/prophecy Robot folds laundry in every hotel room"))
        for button in ("👍", "👍 1", "👍"):  # for, withdrawn, for
            await bob.presses(button)
        await bob.presses("Why?")
        assert read_years(await alice.says("Bank raises interest rates again"))
        await alice.says("/more")
        await alice.says("/why")
        await alice.says("/picture 1")
        await alice.says("thanks")
        await bob.says("/settings threshold foretold")
        said = await self.people.dani.says("@presagio_bot ¿puedes ayudarme?")
        assert "Mándame un titular" in said
        said = await self.people.dani.says("@presagio_bot The bank raises its interest rates")
        assert read_years(said, "es"), "each is answered in their own language"
        alice = self.people.alice_with_friends
        await alice.says("Their final was decided by a video referee", answers=0)
        assert read_years(await bob.says("/prophecy", reply_to=alice.asked))
        assert read_years(await alice.says("A heat wave at London airport", reply_to=bob.said[-1]))

    async def tuesday(self) -> None:
        luz, alice = self.people.luz_with_neighbours, self.people.alice
        await luz.says("/settings listening all")
        assert read_years(await luz.says("Nuevo apagón deja sin luz a medio país esta noche"), "es")
        await luz.says("¿quién trae el pan mañana?", answers=0)
        await luz.says("@presagio_bot gracias", answers=0)
        await luz.says("/porque", answers=0)  # perhaps that of another bot
        self.week.papers.pages["/story"] = page(
            "<title>Airport runway melts in the heat wave</title>"
            '<meta property="article:published_time" content="2025-07-19T00:00:00Z">'
        )
        assert read_years(await alice.says(f"look at this {self.week.papers.url('/story')} lol"))
        two = f"{self.week.papers.url('/story')} {self.week.papers.url('/other')}"
        self.week.papers.pages["/other"] = page("<title>Robot folds laundry in every hotel</title>")
        said = await self.people.carla.says(f"@presagio_bot {two}")
        assert len(read_years(said)) == 2
        assert self.people.carla.buttons == ["1. More", "2. More"]
        listed = "\n".join(f"{number}. {one}" for number, one in enumerate(news.ENGLISH[:4], 1))
        said = await self.people.zoe.says(f"@presagio_bot {listed}")
        assert len(read_years(said)) == 3
        assert f"Left out: {news.ENGLISH[3]}" in said
        await self.people.zoe.presses("3. More")
        bob = self.people.bob_with_friends
        await bob.says("@presagio_bot Zebras xylophone quietly")
        assert read_years(await bob.edits("@presagio_bot Container ship in the canal again"))
        await self.links_on_slack()
        await alice.says("Zebras xylophone quietly")
        assert read_years(await alice.edits("Parliament abolishes daylight saving time at last"))

    async def links_on_slack(self) -> None:
        """Several links, an edit, votes of two people, in two languages."""
        erin, frank, ines = self.people.erin, self.people.frank, self.people.ines
        two = " ".join(self.week.papers.url(path) for path in ("/story", "/other"))
        assert len(read_years(await erin.calls(two))) == 2
        assert erin.buttons == ["1. More", "2. More"]
        assert read_years(await ines.calls("Container ship blocks a canal in spring"), "es")
        await erin.presses("👍")
        answer = erin.said[-1]
        await frank.user.clicks(answer, "👍 1")
        await self.week.slack.until(lambda: "👍 2" in answer.labels, PATIENCE)
        await frank.calls("Zebras xylophone quietly")
        assert frank.asked
        answer = frank.said[-1]
        written = f"{erin.server.bot.mention} Robot folds laundry"
        await frank.user.edits(frank.asked, written, raw=True)
        await self.week.slack.until(lambda: read_years(answer.visible), PATIENCE)

    async def wednesday(self) -> None:
        dora, dave = self.people.dora, self.people.dave
        await dora.says("hola")
        assert read_years(
            await dora.says("El volcán de la isla despierta y evacúan el pueblo"), "es"
        )
        await dora.commands("/why")
        await dora.commands("/porque")
        await dora.says("Otra reforma de la educación que anuncia el gobierno")
        await dora.deletes()
        await dora.commands("/settings answers full")
        assert read_years(await dora.says("Alquileres del centro cierran más librerías"), "es")
        await dora.commands("/find tren")
        await dave.says("has anybody seen my mug?", answers=0)
        assert read_years(await dave.calls("Video referee decides the football final"))
        await dave.presses("Picture")
        await dave.commands("/settings threshold foretold")
        await dave.commands("/prophecy Streaming service doubles prices, adds advertising")

    async def thursday(self) -> None:
        luz, alice = self.people.luz_in_the_topic, self.people.alice
        await luz.says("/preview")
        await luz.says("/history")
        await luz.says("/today")
        await luz.says("/subscribe")
        await luz.says("/subscribe help")
        await luz.says("/settings language es")
        assert read_years(
            await luz.says("/prophecy Pierde la final por penales la selección"), "es"
        )
        await alice.says("/preview @daily_omen")
        await alice.says("/history @daily_omen")
        await alice.says("/corpus all")
        await alice.says("Streaming service raises its prices again")
        await alice.says("/corpus ana")

    async def friday(self) -> None:
        eve, alice = self.people.eve_at_home, self.people.alice
        await eve.says("/prophecy Bank raises interest rates again", answers=0)
        await eve.says("/settings language es", answers=0)
        await alice.says("/access")
        await alice.says("/usage")
        await alice.says("/help")
        await alice.says("/help settings")
        assert "threshold foretold, demands" in await alice.says("/help threshold")
        await self.comings_and_goings()
        await self.outage()
        await alice.says("subscribe daily 9")

    async def saturday(self) -> None:
        """The process dies while the model reads a headline, which is answered by the next."""
        week, alice = self.week, self.people.alice
        asked, script = asyncio.Event(), week.model.script
        week.model.script = [_hanging(asked)]
        before = len(alice.said)
        await alice.user.says(alice.chat, "Scientists say a robot can fold their laundry")
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await week.kill()
        week.model.script = script
        await week.start()
        await week.telegram.until_acknowledged(PATIENCE)
        (answer,) = alice.said[before:]
        assert read_years(answer.text)
        await alice.presses("Why?")

    async def sunday(self) -> None:
        people = self.people
        alice, carol = people.alice_with_friends, people.carol_in_general
        await alice.says("/settings answers full")
        await people.bob_with_friends.says("/prophecy Container ship blocks canal once more")
        await alice.says("/top")
        await alice.says("/history")
        await alice.says("/today")
        await alice.says("/unsubscribe")
        await carol.commands("/history")
        await carol.commands("/unsubscribe")
        await people.luz_with_neighbours.says("/subscribe")


def _list_misplaced(text: str, language: str) -> list[str]:
    """Return what is in the wrong language; among people of two, no message mixes them."""
    spoken = [language] if language else ["en", "es"]
    return min((misplaced(text, one) for one in spoken), key=len)


def _hanging(asked: asyncio.Event) -> Step:
    async def step(_: Asked, __: object) -> NoReturn:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    return step


@pytest.mark.parametrize(
    ("text", "language", "wrong"),
    [
        ("Corpus demo is empty.", "es", 1),
        ("Corpus demo is empty.", "en", 0),
        ("El corpus demo está vacío.", "en", 1),
        ("El corpus demo está vacío.", "es", 0),
        ("listening: all\nWhy?", "es", 1),
        ("¿Por qué?", "en", 1),
        ("La harvest is bad. /settings threshold foretold", "es", 0),
    ],
)
def test_the_language_check_detects_a_wrong_sentence(text: str, language: str, wrong: int) -> None:
    assert len(misplaced(text, language)) == wrong


@pytest.mark.slow
async def test_every_post_of_a_week_is_sent_once_in_the_right_language(
    database_url: str, tmp_path: Path, installed: App
) -> None:
    async with week(database_url, tmp_path, installed) as stage:
        play = Play(stage)
        try:
            await stage.start()
            await stage.feeds_were_read()
            await play.owners()
            await play.subscriptions()
            days = (
                *(play.monday, play.tuesday, play.wednesday, play.thursday),
                *(play.friday, play.saturday, play.sunday),
            )
            assert len(days) == DAYS
            for number, day in enumerate(days):
                await play.morning(number)
                stage.set_time(number, 11)
                await day()
                await play.remarks(number)
            await stage.telegram.until_acknowledged(PATIENCE)
            await stage.slack.quiet(PATIENCE)
        finally:
            said = lines(stage.telegram, stage.slack, stage.passing)
            kept = Path(_KEPT_AS) if _KEPT_AS else tmp_path / "transcript.txt"
            kept.write_text(written(said), encoding="utf-8")
        assert stage.kills == 3
        assert unasked(said) == []
        assert too_long(said) == []
        posts = posted(said, (*news.ENGLISH, *news.SPANISH))
        chats = len(play.early) + len(play.subscribed) + 1
        assert set(posts.values()) == {1}
        assert len(posts) == DAYS * chats
        languages = play.people.languages()
        wrong = Counter(
            (one.chat, sentence)
            for one in said
            if one.bot
            for sentence in _list_misplaced(
                "\n".join([one.text, *one.buttons]), languages[one.chat]
            )
        )
        assert wrong == {}
