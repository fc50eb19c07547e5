"""The bench of posts: which days it draws, and what a chat is told on them."""

from datetime import UTC, date, datetime, timedelta

from bench.forward import Question
from bench.measures import JudgedHeadline
from bench.posts import Found, draw_days, post_days
from bench.unjudged import COLLECTIONS
from engine.chat import Chat
from engine.posting.delivery import Subscription
from engine.search import Hit, HitKind
from tests.engine.posting.finds import find, hit

CHAT = Chat(id=1, platform="test", external_id="1", private=False)
FIRST = datetime(2026, 3, 2, tzinfo=UTC)


def found(day: int, shown: Hit) -> Found:
    headline = JudgedHeadline(qid=str(day), headline=f"Headline of day {day}")
    question = Question(COLLECTIONS[0], headline, {})
    return Found(question, find(day, shown).prophecy, FIRST + timedelta(days=day))


def test_whole_weeks_are_drawn() -> None:
    days = [date(2026, 3, 2) + timedelta(days=number) for number in range(17)]
    drawn = draw_days(days, 2)
    assert drawn == days[:14]


def test_each_day_is_told_with_what_was_told_before_in_mind() -> None:
    case = HitKind.EARLIER_CASE
    founds = [
        found(0, hit("one", kind=case)),
        found(1, hit("two", kind=case)),
        found(2, hit("three", kind=HitKind.DEMAND)),
        found(3, hit("three", kind=HitKind.DEMAND)),
    ]
    posts = post_days(Subscription(chat=CHAT, threshold=case), founds)
    texts = [[each.hit.candidate.text for each in post] for post in posts]
    assert texts == [["one"], [], ["three"], []]
