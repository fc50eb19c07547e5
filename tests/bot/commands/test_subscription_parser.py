"""What people type about their subscription is understood, and written so that it can be typed."""

from dataclasses import replace
from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.subscribe import type_in_words
from bot.commands.subscription_parser import as_typed, read_subscription
from bot.i18n.words import words_for
from engine.chat import Chat
from engine.errors import UsageError
from engine.posting.delivery import PostingMode, Subscription
from engine.search import HitKind

CHAT = Chat(id=1, platform="test", external_id="1", private=True)
NEW = Subscription(chat=CHAT, thread="7")
SPANISH, ENGLISH = words_for("es"), words_for("en")


def read(text: str, before: Subscription | None = None) -> Subscription:
    return read_subscription(text, before, NEW, ENGLISH)


@pytest.mark.parametrize(
    ("typed", "changes"),
    [
        ("daily", {}),
        ("daily 8:30", {"at": time(8, 30)}),
        ("23:05", {"at": time(23, 5)}),
        ("daily 9", {"at": time(9)}),
        ("daily 9am", {"at": time(9)}),
        ("daily 9 pm", {"at": time(21)}),
        ("daily 12 a.m.", {"at": time(0)}),
        ("daily 9:30pm best 5", {"at": time(21, 30), "best": 5}),
        ("daily at 9", {"at": time(9)}),
        ("daily a las 9", {"at": time(9)}),
        ("las 9", {"at": time(9)}),
        ("a las 21:30 best 5", {"at": time(21, 30), "best": 5}),
        ("9am", {"at": time(9)}),
        ("9 am", {"at": time(9)}),
        ("daily 21h", {"at": time(21)}),
        ("instant", {"mode": PostingMode.INSTANT}),
        ("off", {"mode": PostingMode.OFF}),
        ("best 5", {"best": 5}),
        ("THRESHOLD Demands", {"threshold": HitKind.DEMAND}),
        ("weekdays mon-fri", {"weekdays": (0, 1, 2, 3, 4)}),
        ("weekdays 9:00", {"weekdays": (0, 1, 2, 3, 4), "at": time(9)}),
        ("weekdays at 7:30 best 2", {"weekdays": (0, 1, 2, 3, 4), "at": time(7, 30), "best": 2}),
        ("weekends 10:00", {"weekdays": (5, 6), "at": time(10)}),
        ("weekdays sat-mon", {"weekdays": (0, 5, 6)}),
        ("9:00 except weekends", {"weekdays": (0, 1, 2, 3, 4), "at": time(9)}),
        ("daily 8:30 but not on Sundays", {"weekdays": (0, 1, 2, 3, 4, 5), "at": time(8, 30)}),
        ("diario 8:30 menos el finde", {"weekdays": (0, 1, 2, 3, 4), "at": time(8, 30)}),
        ("9hs salvo los lunes y martes", {"weekdays": (2, 3, 4, 5, 6), "at": time(9)}),
        ("not sun", {"must_not": ("sun",)}),
        ("not sunak except fridays", {"must_not": ("sunak",), "weekdays": (0, 1, 2, 3, 5, 6)}),
        ("not sunak, friday night", {"must_not": ("sunak", "friday night")}),
        ("weekdays Monday, wednesday", {"weekdays": (0, 2)}),
        ("weekdays lun,mié,Sábado", {"weekdays": (0, 2, 5)}),
        ("weekdays mar-jue", {"weekdays": (1, 2, 3)}),
        ("weekdays any", {}),
        ("must coffee, climate change", {"must": ("coffee", "climate change")}),
        ("must coffee,coffee", {"must": ("coffee",)}),
        ('must "not", x not "a, b"', {"must": ("not", "x"), "must_not": ("a, b",)}),
        ("not football best 2", {"must_not": ("football",), "best": 2}),
        ("languages EN, es", {"languages": ("en", "es")}),
        ("categories tech, Research", {"categories": ("tech", "Research")}),
        ("unjudged on coverage 70%", {"unjudged": True, "unjudged_coverage": 0.7}),
        ("nothing on", {"say_nothing_found": True}),
        ("daily 9:00 compose best 5", {"compose": True, "best": 5}),
        ("compose on", {"compose": True}),
        ("compose off", {}),
        ("here", {"thread": "7"}),
        ("here chat", {}),
        (
            "instant threshold foretold must tea not football",
            {
                "mode": PostingMode.INSTANT,
                "threshold": HitKind.PREDICTION,
                "must": ("tea",),
                "must_not": ("football",),
            },
        ),
    ],
)
def test_typed_options_set_the_subscription(typed: str, changes: dict[str, object]) -> None:
    assert read(typed) == replace(NEW, **({"thread": None} | changes))  # type: ignore[arg-type]  # fields of Subscription


WEEKDAYS = (0, 1, 2, 3, 4)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(
    ("typed", "changes"),
    [
        ("noon", {"at": time(12)}),
        ("every day at midnight", {"at": time(0)}),
        ("weekdays at noon", {"weekdays": WEEKDAYS, "at": time(12)}),
        ("on weekdays 8:30", {"weekdays": WEEKDAYS, "at": time(8, 30)}),
        ("a las 7 de la tarde", {"at": time(19)}),
        ("diario a las siete y media de la tarde", {"at": time(19, 30)}),
        ("daily at 7 in the evening best 2", {"at": time(19), "best": 2}),
        ("cada lunes 9h", {"weekdays": (0,), "at": time(9)}),
        ("lunes a viernes 9hs", {"weekdays": WEEKDAYS, "at": time(9)}),
        ("de lunes a viernes a las 21:30 hs", {"weekdays": WEEKDAYS, "at": time(21, 30)}),
        ("todos los sábados al mediodía", {"weekdays": (5,), "at": time(12)}),
        ("on Mondays and Fridays at nine", {"weekdays": (0, 4), "at": time(9)}),
        ("los días hábiles a las 8", {"weekdays": WEEKDAYS, "at": time(8)}),
        ("mediodía", {"at": time(12)}),
        ("830", {"at": time(8, 30)}),
        ("daily 1930", {"at": time(19, 30)}),
        ("al instante", {"mode": PostingMode.INSTANT}),
        (
            "at once umbral anunciado",
            {"mode": PostingMode.INSTANT, "threshold": HitKind.PREDICTION},
        ),
        ("every morning", {"at": time(9)}),
        ("todas las noches", {"at": time(20)}),
        ("every evening at 7", {"at": time(19)}),
        ("every Monday morning at 8 am", {"weekdays": (0,), "at": time(8)}),
        ("mejores 2 silencio sí", {"best": 2, "silent": True}),
        ("diario 9:00 fuentes La Tarde, El Lunes", {"feeds": ("La Tarde", "El Lunes")}),
        ("must weekends, midnight daily noon", {"must": ("weekends", "midnight"), "at": time(12)}),
    ],
)
def test_times_and_options_are_understood_in_both_languages(
    language: str, typed: str, changes: dict[str, object]
) -> None:
    read_here = read_subscription(typed, None, NEW, words_for(language))
    assert read_here == replace(NEW, **({"thread": None} | changes))  # type: ignore[arg-type]  # as above


def all_but(*days: int) -> tuple[int, ...]:
    return tuple(day for day in range(7) if day not in days)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(
    ("typed", "weekdays"),
    [
        ("all days but friday at 10", all_but(4)),
        ("every day except friday at 10", all_but(4)),
        ("every day but not Fri 10am", all_but(4)),
        ("everyday except on fridays at 10", all_but(4)),
        ("daily except friday at 10", all_but(4)),
        ("daily at 10 but friday", all_but(4)),
        ("any day other than sunday at 10", all_but(6)),
        ("all week apart from Wednesdays at 10", all_but(2)),
        ("every day besides sunday at 10", all_but(6)),
        ("every day bar sundays at 10", all_but(6)),
        ("all days save for fri at 10", all_but(4)),
        ("every day excluding the weekend at 10", WEEKDAYS),
        ("every day but the weekend at 10", WEEKDAYS),
        ("every day except sat and sun at 10", WEEKDAYS),
        ("every day except from friday to sunday at 10", all_but(4, 5, 6)),
        ("weekdays except friday at 10", (0, 1, 2, 3)),
        ("mon-fri except wed at 10", (0, 1, 3, 4)),
        ("weekdays mon-fri except wed at 10", (0, 1, 3, 4)),
        ("at 10 every day except friday and except sunday", all_but(4, 6)),
        ("daily Mondays at 10", (0,)),
        ("todos los días menos el viernes a las 10", all_but(4)),
        ("todos los dias excepto viernes 10h", all_but(4)),
        ("todos los días quitando el lunes a las 10", all_but(0)),
        ("a diario exceptuando los domingos a las 10", all_but(6)),
        ("todos los días excluyendo sáb y dom a las 10", WEEKDAYS),
        ("cada día salvo el vie a las 10", all_but(4)),
        ("toda la semana menos el miércoles a las 10", all_but(2)),
        ("todos los días menos los sábados y los domingos a las 10", WEEKDAYS),
        ("todos los días menos los fines de semana a las 10", WEEKDAYS),
        ("todos los días con excepción de los viernes a las 10", all_but(4)),
        ("todos los días pero no el viernes a las 10", all_but(4)),
        ("todos los días sin los domingos a las 10", all_but(6)),
        ("diario menos el viernes a las 10 de la mañana", all_but(4)),
        ("a diario menos el viernes a las 10", all_but(4)),
        ("a las 10 menos del viernes al domingo", all_but(4, 5, 6)),
        ("de lunes a viernes menos el miércoles a las 10", (0, 1, 3, 4)),
        ("entre semana salvo los lunes a las 10", (1, 2, 3, 4)),
    ],
)
def test_days_that_are_left_out_are_taken_from_those_that_are_named(
    language: str, typed: str, weekdays: tuple[int, ...]
) -> None:
    read_here = read_subscription(typed, None, NEW, words_for(language))
    assert read_here == replace(NEW, thread=None, at=time(10), weekdays=weekdays)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("weekly", "I do not understand weekly. There are: daily, instant, off,"),
        ("daily 25", "25 is no time of the day."),
        ("daily 13pm", "13pm is no time of the day."),
        ("9", "I do not understand 9."),
        ("las uvas", "I do not understand las."),
        ("daily 25:00", "25:00 is no time of the day. An example: daily 8:30."),
        ("daily ٨:٣٠", "٨:٣٠ is no time of the day."),
        ("best", "What is best to be?"),
        ("best 0", "best takes a number from 1 to 10."),
        ("best 11", "best takes a number from 1 to 10."),
        ("threshold", "What is threshold to be?"),
        (
            "threshold 5",
            "5 does not fit threshold. Use one of: foretold, demands, mirrors, earlier.",
        ),
        ("coverage 101", "coverage takes a number from 0 to 100."),
        ("best 99999999999999999999", "best takes a number from 1 to 10."),
        ("except", "I do not understand except."),
        ("every day except the weekend except weekdays", "What is weekdays to be?"),
        ("weekdays someday", "someday is no weekday. An example: weekdays mon-fri."),
        ("languages english", "english is no language code."),
        ("unjudged maybe", "unjudged takes on or off."),
        ("must", "What is must to be? any takes it away."),
        ("must , ,", "What is must to be?"),
        ("must best 3", "What is must to be?"),
        (f"must {'x' * 51}", "must takes at most 20 words of 50 letters."),
        (f"not {','.join(map(str, range(21)))}", "not takes at most 20 words of 50 letters."),
        (f"{'z' * 500}", "I do not understand zzz"),
    ],
)
def test_invalid_options_are_refused_with_a_message(typed: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(typed)
    assert caught.value.message.startswith(said)
    assert len(caught.value.message) < 250


WORD = st.text(
    st.characters(exclude_characters='"', exclude_categories=("Cs", "Cc", "Z")), min_size=1
)
WORDS = st.lists(WORD.filter(lambda word: len(word) <= 50), max_size=5, unique=True).map(tuple)
WISHES = st.builds(
    Subscription,
    chat=st.just(CHAT),
    mode=st.sampled_from(PostingMode),
    at=st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    weekdays=st.sets(st.integers(0, 6), min_size=1).map(lambda days: tuple(sorted(days))),
    best=st.integers(1, 10),
    threshold=st.sampled_from(HitKind),
    unjudged=st.booleans(),
    unjudged_coverage=st.integers(0, 100).map(lambda share: share / 100),
    say_nothing_found=st.booleans(),
    compose=st.booleans(),
    must=WORDS,
    must_not=WORDS,
    languages=st.lists(st.sampled_from(["en", "es", "pt"]), unique=True).map(tuple),
    categories=WORDS,
)


@given(WISHES)
def test_as_typed_round_trips(subscription: Subscription) -> None:
    back = read(as_typed(subscription))
    in_spanish = type_in_words(subscription, SPANISH)
    assert read_subscription(in_spanish, None, NEW, SPANISH) == back
    assert back == (
        subscription
        if subscription.mode is PostingMode.DAILY
        else replace(subscription, at=back.at)
    )


@given(st.text())
def test_any_text_is_parsed_or_raises_usage_error(text: str) -> None:
    try:
        read(text)
    except UsageError as error:
        assert error.message
