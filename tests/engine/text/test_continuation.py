"""Posts that go on from each other are told from neighbours that only stand beside each other."""

from datetime import UTC, datetime, timedelta

import pytest

from engine.text.continuation import JoinedText, Post, is_continuation, join_posts
from engine.values import Flag

START = datetime(2019, 1, 21, 6, tzinfo=UTC)


def post(
    number: int,
    text: str,
    *,
    minutes: float = 0,
    reply_to: int | None = None,
    flags: Flag = Flag.NONE,
) -> Post:
    return Post(
        id=number,
        external_id=f"x{number}",
        text=text,
        search_text=text.lower(),
        created_at=START + timedelta(minutes=minutes),
        reply_to=None if reply_to is None else f"x{reply_to}",
        flags=flags,
    )


@pytest.mark.parametrize(
    ("before", "after", "minutes"),
    [
        ("The tide will take strong measures to....", "....stem the flow of mud.", 4),
        ("It is 100% safe. If not, it is GONE!", "...And the ferry too.", 2),
        ("The number of jobs..", "will only get higher.", 8),
        ("El sueldo de los empleados,", "que no alcanza, sube poco", 1),
        ("Hemos hecho tres obras. ⬇️ https://t.co/abc", "La primera es el puente.", 1),
        ("Policía y voluntarios (cont)", "... y todos los vecinos.", 2),
        ("Se quedan en casa. (1/4) https://t.co/abc", "Hay camas. (2/4)", 0),
        ("1/ How to tie a knot", "2/ Make a loop.", 3),
    ],
)
def test_a_post_whose_marks_say_so_goes_on(before: str, after: str, minutes: float) -> None:
    assert is_continuation(post(1, before), post(2, after, minutes=minutes))


@pytest.mark.parametrize(
    ("before", "after", "minutes"),
    [
        ("Landed.", "The suitcase did not.", 0),
        ("My appearance from today....", "Congratulations to the winners!", 2),
        ("I told you so...", "...and now it is here", 25),
        ("Two of them, and", "Three of these", 0),
        ("5. The last one", "2. The second", 0),
        ("In 1984 it rained...", "1984 was wet", 1),
        ('"@fan: he is right..."', "...thank you!", 1),
        ("He is right about the (cont) http://t.co/L7NuAMWi", "... of the harbour!", 1),
    ],
)
def test_other_neighbours_are_texts_of_their_own(before: str, after: str, minutes: float) -> None:
    assert not is_continuation(post(1, before), post(2, after, minutes=minutes))


def test_a_reply_to_oneself_goes_on_within_an_hour_and_one_to_others_never() -> None:
    first = post(1, "The goat has eaten the tide table.")
    assert is_continuation(first, post(2, "She got off.", minutes=59, reply_to=1))
    assert not is_continuation(first, post(2, "She got off.", minutes=61, reply_to=1))
    assert not is_continuation(post(1, "It was..."), post(2, "...the goat", reply_to=7))


def test_a_chain_is_one_text_and_a_break_ends_it() -> None:
    a, b, c = post(1, "One..."), post(2, "...Two..."), post(3, "...Three")
    d, e = (post(4, "Other"), post(5, "New..."))
    f = post(6, "...text")
    pairs = [(a, b), (b, c), (c, d), (d, e), (e, f)]
    assert join_posts(pairs) == [
        JoinedText(
            first=1, rest=(2, 3), text="...Two...\n...Three", search_text="...two... ...three"
        ),
        JoinedText(first=5, rest=(6,), text="...text", search_text="...text"),
    ]
