"""Measures how often chats are told a story twice, or not at all, without and with the model.

`python -m bench.retold FOLDER [--ask FILE] [--missed 0.3] [--shared] [--runs 3]`

FOLDER/headlines.jsonl holds real headlines, one a line: `event` (`SUBJECT/STORY`), `title`, `date`
and `language`. Those of one event tell one story; others of its subject are there to be confused
with it. The headlines come in turns from four feeds, a fifth of the further ones of a story four to
seven days late, to chats that read two or more of these feeds, in all eleven ways. Three tweets
foretold each story; the judge of a further headline misses three of ten, and with `--shared` one
tweet foretold all stories of a subject.

Rows: `words` are the rules alone; `model` adds the answers in FOLDER/answers.jsonl, each with the
`content` of a question and its `answer`; `truth` adds what the file of headlines says, and `erring`
the same with errors (see `know_truth`). A post whose question nobody answered is decided by the
rules. `--ask FILE` writes these questions.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import combinations
from pathlib import Path

from bench.timing import Output
from engine.chat import Chat
from engine.feeds.stories import words_of
from engine.posting.choose import WINDOW, list_postable, remember_post, select_finds
from engine.posting.delivery import PostedTweet, StoryFind, Subscription
from engine.posting.retold import RetellingQuestion, assume_all_apart, build_question
from engine.search import HitKind
from tests.engine.posting.finds import find, hit, story

_FEEDS = range(4)
_CHATS = [ways for size in (2, 3, 4) for ways in combinations(_FEEDS, size)]
_TWEETS = 3
_PART = 3  # a run has one subject in three, as the days of the real ones are busy
_LATE = 0.2  # share of the further headlines of a story
_POST_AT = 9  # o'clock, UTC
_DAY = timedelta(days=1)
_MISSED, _CONFUSED = 0.3, 0.05  # shares of headlines, by a model that errs
_CHAT = Chat(id=1, platform="bench", external_id="1", private=False)

Answer = Callable[[RetellingQuestion], "Mapping[int, int] | None"]


@dataclass(frozen=True, slots=True)
class Telling:
    """One headline of a story, as a feed brings it."""

    event: str
    feed: int
    came_at: datetime
    find: StoryFind


@dataclass
class Tally:
    """What chats were told."""

    due: int = 0  # stories that a chat's feeds told
    told: int = 0
    twice: int = 0  # tellings of a story that the chat had been told
    untold: int = 0


def read_tellings(
    entries: Sequence[Mapping[str, str]], run: int, *, missed: float, shared: bool
) -> list[Telling]:
    """Return the headlines as feeds bring them; what the judge finds nothing for is left out."""
    drawn, by_event = random.Random(run), defaultdict(list)
    subjects = sorted({entry["event"].partition("/")[0] for entry in entries})
    wanted = set(drawn.sample(subjects, len(subjects) // _PART))
    for number, entry in enumerate(entries, start=1):
        if entry["event"].partition("/")[0] in wanted:
            by_event[entry["event"]].append((number, entry))
    tellings = []
    for event, told in by_event.items():
        feeds = drawn.sample(_FEEDS, len(_FEEDS))
        for place, (number, entry) in enumerate(told):
            tweets = [
                tweet
                for tweet in _name_tweets(event, shared)
                if not place or drawn.random() > missed
            ]
            published = datetime.fromisoformat(entry["date"])
            is_late = place and drawn.random() < _LATE
            came_at = published + (timedelta(days=drawn.uniform(4, 7)) if is_late else timedelta())
            if tweets:
                find = _build_find(number, entry["title"], published, came_at, tweets)
                tellings.append(Telling(event, feeds[place % len(feeds)], came_at, find))
    return sorted(tellings, key=lambda telling: telling.came_at)


def _name_tweets(event: str, shared: bool) -> list[str]:
    own = [f"{event} {number}" for number in range(_TWEETS)]
    return [event.partition("/")[0], *own[1:]] if shared else own


def _build_find(
    number: int, title: str, published: datetime, came_at: datetime, tweets: Sequence[str]
) -> StoryFind:
    hits = [hit(sha256(tweet.encode()).hexdigest(), kind=HitKind.PREDICTION) for tweet in tweets]
    of = story(number, title, published=published, first_seen_at=came_at)
    return replace(find(number, *hits, of=of), words=words_of(title), appeared_at=published)


def replay(tellings: Sequence[Telling], feeds: Sequence[int], answer: Answer, tally: Tally) -> None:
    """Post daily in a chat that reads some feeds, and count what it is told."""
    subscription = Subscription(chat=_CHAT, best=10)
    events = {telling.find.story.id: telling.event for telling in tellings}
    own = [telling for telling in tellings if telling.feed in feeds]
    if not own:
        return
    posted: list[PostedTweet] = []
    told: Counter[str] = Counter()
    day = own[0].came_at.replace(hour=_POST_AT, minute=0, second=0)
    while day < own[-1].came_at + _DAY:
        finds = [each.find for each in own if day - WINDOW < each.came_at <= day]
        apart = assume_all_apart(finds, posted, day)
        postable = list_postable(subscription, finds, posted, day, first_stories=apart)
        question = build_question(postable, posted, day)
        retold = (question and answer(question)) or {}
        selection = select_finds(subscription, finds, posted, day, first_stories=retold)
        posted += [remember_post(each, day) for each in selection.selected]
        told.update(events[each.find.story.id] for each in selection.selected)
        # Days without news are skipped.
        coming = [each.came_at for each in own if each.came_at > day]
        day = max(day + _DAY, coming[0].replace(hour=_POST_AT, minute=0)) if coming else day + _DAY
    due = {telling.event for telling in own}
    tally.due += len(due)
    tally.told += told.total()
    tally.twice += told.total() - len(told)
    tally.untold += len(due - set(told))


class Asking:
    """Answers from a recording, and notes which questions were asked."""

    def __init__(self, recorded: Mapping[str, str]) -> None:
        self._recorded = recorded
        self.asked: dict[str, bool] = {}  # by content, whether it was answered

    def __call__(self, question: RetellingQuestion) -> Mapping[int, int] | None:
        """Return what the model answered, or None."""
        answer = self._recorded.get(question.content)
        self.asked[question.content] = answer is not None
        return None if answer is None else question.read_answer(answer)


def know_truth(entries: Sequence[Mapping[str, str]], *, erring: bool = False) -> Answer:
    """Return what answers by the events of the headlines.

    If it is `erring`, it misses three of ten headlines that tell a story again, and says of one in
    twenty of the others that it tells what the one before it told.
    """
    events = {number: entry["event"] for number, entry in enumerate(entries, start=1)}

    def answer(question: RetellingQuestion) -> Mapping[int, int]:
        drawn = random.Random(question.content)
        firsts: dict[str, int] = {}
        retold: dict[int, int] = {}
        for story_id in (*question.told, *question.new):
            first = firsts.setdefault(events[story_id], story_id)
            if erring and story_id in question.new and retold:
                if first != story_id and drawn.random() < _MISSED:
                    first = story_id
                elif first == story_id and drawn.random() < _CONFUSED:
                    first = list(retold.values())[-1]
            retold[story_id] = first
        return retold

    return answer


def measure(rows: str, answer: Answer, runs: Sequence[Sequence[Telling]], output: Output) -> None:
    """Print what chats are told with these answers."""
    tally = Tally()
    for tellings in runs:
        for feeds in _CHATS:
            replay(tellings, feeds, answer, tally)
    asked = answer.asked if isinstance(answer, Asking) else {}
    output.row(rows=rows, **asdict(tally), asked=len(asked), answered=sum(asked.values()))


def main(argv: Sequence[str] | None = None) -> None:
    """Read the headlines and the answers, and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.retold", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--ask", type=Path, help="write the questions that nobody answered")
    parser.add_argument("--missed", type=float, default=0.3, help="share of tweets, by the judge")
    parser.add_argument("--shared", action="store_true", help="one tweet foretold a whole subject")
    parser.add_argument("--runs", type=int, default=6)
    arguments, output = parser.parse_args(argv), Output("retold")
    entries = read_lines(arguments.folder / "headlines.jsonl")
    answers = read_lines(arguments.folder / "answers.jsonl")
    runs = [
        read_tellings(entries, run, missed=arguments.missed, shared=arguments.shared)
        for run in range(arguments.runs)
    ]
    asking = Asking({entry["content"]: entry["answer"] for entry in answers})
    measure("words", lambda _: None, runs, output)
    measure("model", asking, runs, output)
    measure("truth", know_truth(entries), runs, output)
    measure("erring", know_truth(entries, erring=True), runs, output)
    if arguments.ask:
        left = [content for content, is_answered in asking.asked.items() if not is_answered]
        arguments.ask.write_text("".join(f"{json.dumps(content)}\n" for content in left))
    output.table()


def read_lines(path: Path) -> list[dict[str, str]]:
    """Return the objects in a file, one a line; none if there is no such file."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


if __name__ == "__main__":
    main()
