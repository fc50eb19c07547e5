"""Buttons carry what they ask for; what a platform sends back is believed only if we wrote it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.reply import Action, HitView, name_beside, reply_aside, say_date
from bot.request import Trigger
from engine.prophecy.score import Sureness
from engine.search import HitKind
from engine.values import DateKind
from tests.bot.conversing import event
from tests.bot.prophecies import make_hit

names = st.sampled_from(["up", "down", "more", "why", "set", "más"])
ids = st.none() | st.integers(1, 2**63 - 1)
values = st.text(st.characters(codec="utf-8"), max_size=15)


@given(names, ids, values)
def test_action_round_trips_through_its_text(name: str, answer_id: int | None, value: str) -> None:
    try:
        action = Action(name=name, answer_id=answer_id, value=value)
    except ValueError:
        assert len(f"{name}:{answer_id or ''}:{value}".encode()) > 64
        return
    assert len(str(action).encode()) <= 64
    assert Action.parse(str(action)) == action


@given(st.text(st.characters(codec=None)))
def test_parsing_any_text_returns_an_equal_action_or_none(text: str) -> None:
    action = Action.parse(text)
    assert action is None or str(action) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "::",
        "up",
        "up:1",
        "up:x:1",
        "up:-1:1",
        "up:01:1",
        "up:٣:1",
        "up: 1:1",
        f"up:{2**63}:1",
        "up:" + "9" * 60 + ":1",
        "a b:1:1",
        "up:1:" + "x" * 60,
        "up:1:" + "é" * 30,
        "\ud800:1:1",
    ],
)
def test_malformed_action_text_is_refused(text: str) -> None:
    assert Action.parse(text) is None


def test_an_action_too_long_to_send_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="64 bytes"):
        Action(name="set", value="corpus=" + "ñ" * 30)


def view(flags: tuple[str, ...], *, judged: bool, sureness: Sureness | None = None) -> HitView:
    return HitView(
        rank=1,
        text="x",
        author=None,
        date=datetime(2014, 3, 1, tzinfo=UTC),
        date_text="",
        age="",
        url=None,
        sureness=sureness,
        flags=flags,
        label_unjudged=not judged,
    )


@pytest.mark.parametrize(
    ("flags", "judged", "english", "spanish"),
    [
        ((), True, (), ()),
        ((), False, ("not judged",), ("sin evaluar",)),
        (("repost", "truncated"), True, ("repost", "cut"), ("reenvío", "texto incompleto")),
        (("reply", "media", "thread"), True, ("reply",), ("respuesta",)),
        (
            ("quote", "deleted"),
            False,
            ("not judged", "quote", "deleted"),
            ("sin evaluar", "cita", "borrado"),
        ),
    ],
)
def test_hit_marks_show_flags_and_missing_judgment(
    flags: tuple[str, ...], judged: bool, english: tuple[str, ...], spanish: tuple[str, ...]
) -> None:
    assert view(flags, judged=judged).marks(words_for("en")) == english
    assert view(flags, judged=judged).marks(words_for("es")) == spanish


def test_small_hit_keeps_only_the_quote_mark() -> None:
    small = replace(view(("quote", "media"), judged=False, sureness=Sureness.CLOSE), small=True)
    assert small.marks(words_for("en")) == ("quote",)


@pytest.mark.parametrize(
    ("kind", "english", "spanish"),
    [
        (HitKind.PREDICTION, "foretold", "anunciado"),
        (HitKind.DEMAND, "asked for it", "lo pidió"),
        (HitKind.MIRROR, "held against others", "se lo reprochaba a otros"),
        (HitKind.EARLIER_CASE, "has happened before", "ya pasó antes"),
    ],
)
def test_the_kind_takes_the_place_of_sureness_and_stays_in_one_line(
    kind: HitKind, english: str, spanish: str
) -> None:
    whole = replace(view(("repost",), judged=True, sureness=Sureness.CLOSE), kind=kind)
    for shown in (whole, replace(whole, small=True)):
        assert shown.marks(words_for("en")) == (english, "repost")
        assert shown.marks(words_for("es"))[0] == spanish


@pytest.mark.parametrize(
    ("sureness", "english", "spanish"),
    [
        (Sureness.FORETOLD, "foretold", "anunciado"),
        (Sureness.CLOSE, "close", "cercano"),
        (Sureness.PERHAPS, "perhaps", "quizá"),
    ],
)
def test_sureness_is_the_first_mark(sureness: Sureness, english: str, spanish: str) -> None:
    shown = view(("repost",), judged=False, sureness=sureness)
    assert shown.marks(words_for("en")) == (english, "not judged", "repost")
    assert shown.marks(words_for("es")) == (spanish, "sin evaluar", "reenvío")


def test_reason_is_prefixed_with_why_in_each_language() -> None:
    said = replace(view((), judged=True), why="he said so")
    assert said.reason(words_for("en")) == "Why: he said so"
    assert said.reason(words_for("es")) == "Por qué: he said so"
    assert view((), judged=True).reason(words_for("en")) is None


def test_aside_is_a_toast_for_a_button_and_a_message_otherwise() -> None:
    pressed = reply_aside(event("up:1:1", trigger=Trigger.BUTTON), "Noted.")
    assert (pressed.toast, pressed.text, pressed.ephemeral) == ("Noted.", None, True)
    said = reply_aside(event("x"), "Noted.")
    assert (said.toast, said.text, said.ephemeral) == (None, "Noted.", True)


@pytest.mark.parametrize(
    ("date", "dated_by", "english", "spanish"),
    [
        (datetime(2012, 3, 14, tzinfo=UTC), None, "March 14, 2012", "14 de marzo de 2012"),
        (
            datetime(2012, 3, 14, tzinfo=UTC),
            DateKind.CREATED,
            "file made March 14, 2012",
            "archivo del 14 de marzo de 2012",
        ),
        (
            datetime(2012, 3, 14, tzinfo=UTC),
            DateKind.MODIFIED,
            "changed March 14, 2012",
            "cambiado el 14 de marzo de 2012",
        ),
        (None, None, "", ""),
    ],
)
def test_dates_are_labelled_and_missing_dates_are_not_invented(
    date: datetime | None, dated_by: DateKind | None, english: str, spanish: str
) -> None:
    assert say_date(date, dated_by, words_for("en")) == english
    assert say_date(date, dated_by, words_for("es")) == spanish


def test_what_stands_beside_a_text_is_named_as_what_it_is() -> None:
    beside = ("image: A heron: grey", "poll: Yes, No", "venue: The quay", "image: of the sea")
    found = replace(make_hit(text="A photo of the sea").candidate, beside=beside)
    assert name_beside(found, words_for("en")) == (
        "[picture: A heron: grey]", "[poll: Yes, No]", "[venue: The quay]"
    )  # fmt: skip
    assert name_beside(found, words_for("es"))[0] == "[imagen: A heron: grey]"
    shown = replace(HitView.of(found, words_for("en"), rank=1, text=found.text), why="so it is")
    assert shown.remarks(words_for("en")) == (
        "[picture: A heron: grey] [poll: Yes, No] [venue: The quay]", "Why: so it is"
    )  # fmt: skip
