"""Who may use the bot: the owner, whom the owner lets in, whom the settings name."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from bot.adapter import DeliveryError
from bot.commands.rights import CODE_SHOWN, CODE_VALID, Ownership
from bot.reply import Reply
from bot.request import Inquiries, Person, Place, Trigger
from db.chat.chats import Access
from db.pool import Database
from engine.chat import AdmissionState, Chat
from engine.messages import Message
from tests.bot.conversing import GROUP, Bot, bot_on, event
from tests.bot.prophecies import NOW
from tests.patience import until

HEADLINE = "Coffee prices soar"
SECOND = timedelta(seconds=1)
OWNER, BOB = Person(id="o", name="Olga"), Person(id="b", name="@bob", language="es")
HOME = Place(platform="test", chat_id="o", private=True)
BOBS = Place(platform="test", chat_id="b", private=True)
INLINE = Place(platform="test", chat_id="inline:b", private=True, kept=False)


@dataclass
class Post:
    """A poster that remembers what it posted where."""

    platform: str = "test"
    error: DeliveryError | None = None
    posted: list[tuple[str, Reply]] = field(default_factory=list)

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        if self.error:
            raise self.error
        self.posted.append((chat.external_id, reply))
        return key

    async def find_posted(self, *_: object) -> None:
        return None

    async def close(self) -> None: ...


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
async def bot(storage: Database, post: Post) -> AsyncIterator[Bot]:
    """A bot that is owned by nobody yet."""
    async with bot_on(storage, access="owner", posters=[post]) as ready:
        yield ready


async def owned(bot: Bot) -> Bot:
    code = await Ownership(bot.app).code("test", now=NOW)
    greeting = await bot.say(f"/start {code}", person=OWNER, place=HOME)
    assert (greeting.text or "").startswith("You own this bot now. There is always a tweet.")
    return bot


async def test_advice_on_unjudged_answers_is_told_to_the_owner_once(
    storage: Database, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = "By words alone: a model on this machine leaves out most junk."
    monkeypatch.setattr("bot.commands.start.advise_local_model", lambda _: Message(advice))
    async with bot_on(storage, access="owner", posters=[post], has_model=False) as bot:
        code = await Ownership(bot.app).code("test", now=NOW)
        greetings = [
            await bot.told(text, person=OWNER, place=HOME) for text in (f"/start {code}", "/start")
        ]
    assert [advice in greeting for greeting in greetings] == [True, False]


async def test_without_an_owner_nobody_is_answered(bot: Bot) -> None:
    reply = await bot.say(HEADLINE, person=BOB, place=BOBS)
    assert (reply.text or "").startswith("Este bot todavía no tiene dueño")
    assert bot.engine.calls == []


async def test_owner_code_works_once(bot: Bot) -> None:
    ownership = Ownership(bot.app)
    code = await ownership.code("test", now=NOW)
    assert code == await ownership.code("test", now=NOW), "each start shows the same one"
    assert await bot.hear(event(f"/start {code}X", person=BOB, place=BOBS))
    assert await ownership.access.owner("test") is None
    await owned(bot)
    assert await ownership.code("test", now=NOW) is None
    await bot.hear(event(f"/start {code}", person=BOB, place=BOBS))
    owner = await ownership.access.owner("test")
    assert owner
    assert owner.person == "o"
    assert (await bot.say(HEADLINE, person=OWNER, place=HOME)).hits


@pytest.mark.parametrize(("later", "owns"), [(CODE_VALID - SECOND, True), (CODE_VALID, False)])
async def test_a_code_expires(bot: Bot, later: timedelta, owns: bool) -> None:
    ownership = Ownership(bot.app)
    code = await ownership.code("test", now=NOW - later)
    await bot.hear(event(f"/start {code}", person=OWNER, place=HOME))
    assert (await ownership.access.owner("test") is not None) is owns


async def test_shown_owner_code_is_replaced_before_it_expires(bot: Bot) -> None:
    ownership = Ownership(bot.app)
    first = await ownership.code("test", now=NOW - CODE_SHOWN)
    assert first == await ownership.code("test", now=NOW - SECOND)
    second = await ownership.code("test", now=NOW)
    assert second != first
    assert second == await ownership.code("test", now=NOW + CODE_SHOWN - SECOND)
    await bot.hear(event(f"/start {first}", person=BOB, place=BOBS))
    assert await ownership.access.owner("test") is None
    await bot.hear(event(f"/start {second}", person=OWNER, place=HOME))
    assert await ownership.access.owner("test")


async def test_a_wrong_code_is_told_and_asks_nobody(bot: Bot, post: Post) -> None:
    wrong = await bot.say("/start ABCD2345", person=BOB, place=BOBS)
    assert (wrong.text or "").startswith("Este código no es correcto o ya se usó")
    assert (wrong.text or "").endswith("presagio setup muestra otro.")
    await owned(bot)
    wrong = await bot.say("/start abcd2345", person=ANA, place=private_chat(ANA))
    assert "presagio setup --new-owner" in (wrong.text or "")
    assert post.posted == []
    asked = await bot.say("/start hello", person=DAN, place=private_chat(DAN))
    assert asked.text == "My owner decides who may use me, and has been asked.", "it is no code"


async def test_a_code_in_a_group_is_worth_nothing(bot: Bot) -> None:
    code = await Ownership(bot.app).code("test", now=NOW)
    await bot.hear(event(f"/start {code}", person=OWNER, place=GROUP))
    assert await Access(bot.app.database).owner("test") is None


@pytest.mark.parametrize("broadcast", [False, True])
async def test_the_owner_lets_a_group_in_by_starting_the_bot_there(
    bot: Bot, broadcast: bool
) -> None:
    await owned(bot)
    place = replace(GROUP, broadcast=broadcast)
    for person, groups in ((BOB, set[str]()), (OWNER, {"g"})):
        await bot.hear(event("/start", person=person, place=place, trigger=Trigger.COMMAND))
        assert await admitted(bot) == groups


async def test_the_owner_lets_a_channel_in_by_setting_it_up_in_private(bot: Bot) -> None:
    await owned(bot)

    async def find_channel(name: str) -> Place:
        return Place(platform="test", chat_id=name, private=False)

    asked = Inquiries(find_channel=find_channel)
    for command, channels in (("/history @news", set[str]()), ("/subscribe @news off", {"@news"})):
        said = await bot.say(command, person=OWNER, place=HOME, inquiries=asked)
        assert (said.text or "").startswith("@news: ")
        assert await admitted(bot) == channels


async def test_a_stranger_asks_and_the_owner_lets_in_with_a_button(bot: Bot, post: Post) -> None:
    await owned(bot)
    waiting = await bot.say("/start", person=BOB, place=BOBS)
    assert waiting.text == "Mi dueño decide quién puede usarme; ya le he preguntado."
    ((where, question),) = post.posted
    assert (where, question.text) == ("o", "@bob (test:b) asks to use this bot.")
    assert await bot.hear(event("/start", person=BOB, place=BOBS)) is None, "told once a minute"
    assert len(post.posted) == 1, "the owner is asked once"
    assert bot.engine.calls == []
    done = await bot.press(question, "access", person=OWNER, place=HOME)
    assert done.replaces
    assert done.text == "@bob (test:b) may use me now. /access changes that."
    assert post.posted[1][0] == "b"
    assert (post.posted[1][1].text or "").startswith("El dueño de este bot te ha dejado")
    assert (await bot.say(HEADLINE, person=BOB, place=BOBS)).hits
    assert (await bot.say(HEADLINE, person=BOB, place=INLINE)).hits


@pytest.mark.parametrize("asked", [HEADLINE, f"/p {HEADLINE}"])
async def test_headline_asked_before_admission_is_answered_after_it(
    bot: Bot, post: Post, asked: str
) -> None:
    await owned(bot)
    await bot.say("/start", person=BOB, place=BOBS)
    assert await bot.hear(event("hola", person=BOB, place=BOBS)) is None
    assert await bot.hear(event(asked, person=BOB, place=BOBS)) is None
    assert await bot.hear(event("/help", person=BOB, place=BOBS)) is None
    await bot.conversation.answer(
        event(_allow(post), person=OWNER, place=HOME, trigger=Trigger.BUTTON), bot.adapter
    )
    await until(lambda: bot.adapter.replies[-1].hits)
    request, reply = bot.adapter.delivered[-1]
    assert (request.place.chat_id, reply.headline) == ("b", HEADLINE)
    assert reply.words.language == "es"
    assert [call[0] for call in bot.engine.calls] == [HEADLINE]


def _allow(post: Post) -> str:
    return str(post.posted[0][1].buttons[0][0].action)


ANA, DAN = Person(id="a", name="Ana Ruiz", language="es"), Person(id="d", name="Dan")
DAN_TOO = Person(id="e", name="@dan")


def private_chat(person: Person) -> Place:
    return Place(platform="test", chat_id=person.id, private=True)


@pytest.fixture
async def asked(bot: Bot) -> Bot:
    """A bot that everybody here has asked to be let in."""
    await owned(bot)
    for person in (BOB, ANA, DAN, DAN_TOO):
        await bot.hear(event("/start", person=person, place=private_chat(person)))
    return bot


async def admitted(bot: Bot) -> set[str]:
    admissions = await Access(bot.app.database).admissions("test")
    return {each.external_id for each in admissions if each.state is AdmissionState.ALLOWED}


@pytest.mark.parametrize(
    ("typed", "person"),
    [
        ("allow bob", BOB),
        ("allow @Bob", BOB),
        ("allow test:b", BOB),
        ("allow b", BOB),
        ("permitir ana", ANA),
        ("deja entrar a Bob", BOB),
        ("let bob in", BOB),
        ("allow Ana Ruíz", ANA),
        ("allow @ana ruiz", ANA),
    ],
)
async def test_owner_lets_in_and_refuses_by_name(
    asked: Bot, post: Post, typed: str, person: Person
) -> None:
    done = await asked.say(f"/access {typed}", person=OWNER, place=HOME)
    assert (done.text or "").startswith(f"{person.name} (test:{person.id}) may use me now.")
    assert await admitted(asked) == {person.id}
    assert (await asked.say(HEADLINE, person=person, place=private_chat(person))).hits
    refusal = re.sub("allow|permitir|deja|let", "block", typed)
    for _ in range(2):
        done = await asked.say(f"/access {refusal}", person=OWNER, place=HOME)
        assert (done.text or "").startswith(f"{person.name} (test:{person.id}) may not use me.")
    assert await asked.hear(event(HEADLINE, person=person, place=private_chat(person))) is None
    told = [reply.text or "" for chat, reply in post.posted if chat == person.id]
    assert len(told) == 2, "once each"
    assert (
        told[1]
        == {
            "en": "The owner of this bot has not let you in.",
            "es": "El dueño de este bot no te ha dejado entrar.",
        }[person.language or "en"]
    )


async def test_a_name_alone_asks_what_to_decide(asked: Bot) -> None:
    shown = await asked.say("/access Bob", person=OWNER, place=HOME)
    assert shown.text == "@bob (test:b): waits"
    assert [button.label for row in shown.buttons for button in row] == [
        "Allow @bob",
        "Refuse @bob",
    ]
    assert await admitted(asked) == set()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("carol", "Nobody called carol has asked"),
        ("refuse carol", "Nobody called carol has asked, so nothing was changed. /access lists"),
        ("allow Ana Gómez", "Nobody called Ana Gómez has asked"),
        ("allow @", "Nobody called @ has asked"),
        (
            "allow dan",
            "Several are called dan, so nothing was changed: Dan (test:d), @dan (test:e)",
        ),
    ],
)
async def test_a_name_of_nobody_or_of_several_changes_nothing(
    asked: Bot, typed: str, said: str
) -> None:
    before = await Access(asked.app.database).admissions("test")
    done = await asked.say(f"/access {typed}", person=OWNER, place=HOME)
    assert (done.text or "").startswith(said)
    assert await Access(asked.app.database).admissions("test") == before


async def test_the_owner_is_asked_again_if_the_question_was_not_delivered(
    bot: Bot, post: Post
) -> None:
    await owned(bot)
    post.error = DeliveryError("away")
    said = await bot.told(HEADLINE, person=BOB, place=BOBS)
    assert "no puedo avisarle" in said
    post.error = None
    await bot.hear(event(HEADLINE, person=BOB, place=BOBS))
    assert len(post.posted) == 1


async def test_overheard_headline_does_not_ask_the_owner(bot: Bot, post: Post) -> None:
    await owned(bot)
    request = event(
        "Senate Passes The Budget After A Long Night",
        person=BOB,
        place=GROUP,
        trigger=Trigger.OVERHEARD,
    )
    assert await bot.hear(request) is None
    assert post.posted == []


async def test_beyond_a_limit_strangers_are_told_that_nobody_was_asked(
    bot: Bot, post: Post
) -> None:
    await owned(bot)

    async def ask(number: int, *, days: float = 0) -> str | None:
        person, place = replace(BOB, id=str(number)), replace(BOBS, chat_id=str(number))
        now = NOW + timedelta(days=days)
        return (await bot.say(HEADLINE, person=person, place=place, now=now)).text

    told = {await ask(number) for number in range(20)}
    assert told == {"Mi dueño decide quién puede usarme; ya le he preguntado."}
    refused = await ask(20) or ""
    assert refused.startswith("Mi dueño decide quién puede usarme, y no le he preguntado")
    assert len(post.posted) == 20
    assert "wait" not in (post.posted[0][1].text or "")
    assert (post.posted[19][1].text or "").endswith("\n20 wait for your answer: /access")
    listed = await bot.say("/access", person=OWNER, place=HOME)
    assert (listed.text or "").startswith("20 wait.\nWho asked to use this bot:")
    assert await ask(20, days=1.1) in told
    assert len(post.posted) == 21


async def test_the_owner_sees_who_asked(bot: Bot) -> None:
    await owned(bot)
    assert "Nobody has asked yet." in await bot.told("/access", person=OWNER, place=HOME)
    await bot.say(HEADLINE, person=BOB, place=BOBS)
    listed = await bot.say("/access", person=OWNER, place=HOME)
    assert listed.text == "Who asked to use this bot:\n@bob (test:b): waits"
    assert [b.label for row in listed.buttons for b in row] == ["Allow @bob", "Refuse @bob"]
