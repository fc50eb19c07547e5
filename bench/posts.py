"""Measures what a group is told unasked: posts a week, and whether one would forward them.

`python -m bench.posts [--recordings general,second] [--year 2021] [--weeks 2] [--stories 3]
[--data FOLDER] [--url URL] [--print]`

Rows: `words`, every real headline of a year on its own day, posted by words alone to a chat that
wants that (`unjudged on`). A recording and a language: the headlines of bench.forward, each the
only story of its day, with a model's recorded answers, at each threshold. These were selected by
hand, so that their number in a week says nothing, but what they are worth does. `weeks`: whole
weeks of that year, drawn at random, of each day the stories that promise most, with a recording
of their own: posts a week, and their worth as far as the texts are rated.

`--ask FOLDER --stage phrases|judgments --recording year` writes what the model is asked about the
weeks, and `--record FOLDER` reads its answers, as in bench.forward. Texts that are posted without a
rating are printed with `--print`, to be rated blind into bench/labels/forward.tsv.
"""

import argparse
import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Collection as Values
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from bench.forward import (
    WORTHY,
    Played,
    Question,
    Recording,
    answer,
    ask_model,
    move_to_threads,
    name_keys,
    read_ratings,
    read_threads,
    record_answers,
)
from bench.measures import JudgedHeadline
from bench.store import folder, server
from bench.timing import Output
from bench.tweets import DATA
from bench.unjudged import (
    NOW,
    Collection,
    load,
    open_archives,
    read_collections,
    share_interval,
)
from bot.app import App
from engine.chat import Chat
from engine.feeds.feed import Story
from engine.posting.choose import PROMISE_HITS, measure_promise, remember_post, select_finds
from engine.posting.delivery import PostedTweet, SelectedFind, StoryFind, Subscription
from engine.search import HitKind, Mode, Prophecy, SearchRequest

_YEAR_OF = Collection("year", "trump_archive", "english", "en")
_SEED = 11
_WEEK = 7  # days
_MINIMUM_AGE = timedelta(days=30)
_CHAT = Chat(id=1, platform="bench", external_id="1", private=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A story of a day, and what was found for it."""

    question: Question
    prophecy: Prophecy
    moment: datetime  # when the story came


def read_year(data: Path, year: int) -> dict[date, list[Question]]:
    """Return the real headlines of a year by day."""
    days: dict[date, list[Question]] = defaultdict(list)
    with (data / "headlines" / "en.jsonl").open(encoding="utf-8") as file:
        for entry in map(json.loads, file):
            day = date.fromisoformat(entry["date"][:10])
            if day.year == year:
                qid = f"{day:%Y%m%d}-{len(days[day])}"
                moment = datetime.combine(day, datetime.min.time(), UTC)
                headline = JudgedHeadline(qid=qid, headline=entry["title"], date=moment)
                days[day].append(Question(_YEAR_OF, headline, {}))
    return dict(sorted(days.items()))


def _date(question: Question, prophecy: Prophecy) -> Found:
    return Found(question, prophecy, question.headline.date or NOW)


async def search_words(app: App, question: Question) -> Prophecy:
    """Return what words alone find, as for a new story."""
    request = SearchRequest(
        headline=question.read, limit=PROMISE_HITS, now=question.headline.date or NOW, judged=False
    )
    corpus = await app.corpora.get(question.collection.archive)
    return await app.prophet.prophesy(corpus, replace(request, mode=Mode.LEXICAL))


def draw_days(days: Values[date], weeks: int) -> list[date]:
    """Return the days of whole weeks that are drawn at random."""
    by_week: dict[tuple[int, int], list[date]] = defaultdict(list)
    for day in days:
        by_week[day.isocalendar()[:2]].append(day)
    whole = sorted(week for week, of_week in by_week.items() if len(of_week) == _WEEK)
    drawn = sorted(random.Random(_SEED).sample(whole, weeks))
    return [day for week in drawn for day in by_week[week]]


async def choose_promising(app: App, questions: Sequence[Question], number: int) -> list[Question]:
    """Return the most promising stories of a day, which are judged first."""
    promises = {each.key: measure_promise(await search_words(app, each)) for each in questions}
    return sorted(questions, key=lambda each: -promises[each.key])[:number]


def post_days(subscription: Subscription, founds: Sequence[Found]) -> list[list[SelectedFind]]:
    """Return what a chat is posted each day, which remembers what it was told."""
    posted: list[PostedTweet] = []
    posts = []
    by_day: dict[date, list[StoryFind]] = defaultdict(list)
    for number, found in enumerate(founds, start=1):
        by_day[found.moment.date()].append(_build_find(number, found))
    for finds in (by_day[day] for day in sorted(by_day)):
        now = max(find.story.published for find in finds) + timedelta(hours=12)
        selected = select_finds(subscription, finds, posted, now).selected
        posted += [remember_post(each, now) for each in selected]
        posts.append(list(selected))
    return posts


def _build_find(number: int, found: Found) -> StoryFind:
    moment, title = found.moment, found.question.headline.headline
    hits = tuple(
        hit
        for hit in found.prophecy.hits
        if hit.candidate.created_at and hit.candidate.created_at < moment - _MINIMUM_AGE
    )
    story = Story(id=number, title=title, text=title, published=moment, first_seen_at=moment)
    prophecy = replace(found.prophecy, hits=hits)
    return StoryFind(
        id=number, story=story, corpus=found.question.collection.archive, prophecy=prophecy
    )


class Rater:
    """The ratings of texts by headline, those of a thread at its first post."""

    def __init__(self, data: Path, firsts: Mapping[str, str]) -> None:
        self._ratings = {
            qid: move_to_threads(rated, firsts) for qid, rated in read_ratings(data).items()
        }

    def rate(self, qid: str, selected: SelectedFind) -> int | None:
        """Return the rating of what is posted for a headline, or None if nobody gave one."""
        return self._ratings.get(qid, {}).get(selected.hit.candidate.external_id)


def describe(
    founds: Sequence[Found], posts: Sequence[Sequence[SelectedFind]], rater: Rater
) -> dict[str, object]:
    """Return the figures of a row."""
    qids = {found.question.headline.headline: found.question.headline.qid for found in founds}
    told = [each for post in posts for each in post]
    ratings = [rater.rate(qids[each.find.story.title], each) for each in told]
    rated = [rating for rating in ratings if rating is not None]
    weeks = len(posts) / _WEEK
    return {
        "days": len(posts),
        "stories": len(founds),
        "posts_a_week": round(sum(bool(post) for post in posts) / weeks, 1),
        "texts_a_week": round(len(told) / weeks, 1),
        "texts": len(told),
        "unrated": len(told) - len(rated),
        "worthy": share_interval([(int(rating >= WORTHY), 1) for rating in rated]),
    }


def print_unrated(
    founds: Sequence[Found], posts: Sequence[Sequence[SelectedFind]], rater: Rater
) -> None:
    """Print what is posted without a rating: headline, id and text."""
    qids = {found.question.headline.headline: found.question.headline.qid for found in founds}
    for selected in (each for post in posts for each in post):
        title, candidate = selected.find.story.title, selected.hit.candidate
        if rater.rate(qids[title], selected) is None:
            text = " ".join(candidate.text.split())
            print(f"{qids[title]}\t{candidate.external_id}\t{title}\t{text}")


async def measure_words(
    app: App, questions: Sequence[Question], rater: Rater, output: Output
) -> None:
    """Print what a chat is told by words alone."""
    founds = [_date(question, await search_words(app, question)) for question in questions]
    posts = post_days(Subscription(chat=_CHAT, unjudged=True), founds)
    output.row(rows="words", **describe(founds, posts, rater))


async def measure_recordings(
    arguments: argparse.Namespace, app: App, rater: Rater, output: Output
) -> None:
    """Print what a chat is told of the judged headlines, by each recording and language."""
    for recording in arguments.recordings:
        founds: dict[str, list[Found]] = defaultdict(list)
        for collection, headlines, qrels in read_collections(arguments.data, ["dev", "recent"]):
            asked = [Question(collection, each, qrels.get(each.qid, {})) for each in headlines]
            founds[collection.language] += await replay(app, asked, recording)
        for language, of_language in founds.items():
            spread = spread_days(of_language)
            measure_judged(f"{recording} {language}", spread, rater, output, printed=False)


def measure_judged(
    kind: str, founds: Sequence[Found], rater: Rater, output: Output, *, printed: bool
) -> None:
    """Print what a chat is told at each threshold."""
    for threshold in HitKind:
        posts = post_days(Subscription(chat=_CHAT, threshold=threshold), founds)
        output.row(rows=kind, threshold=threshold, **describe(founds, posts, rater))
    if printed:
        print_unrated(founds, posts, rater)


async def replay(app: App, questions: Sequence[Question], recording: str) -> list[Found]:
    """Return what the recorded answers find for each headline that has one."""
    recorded = Recording.read(recording)
    played = Played(recorded, name_keys(questions), app)
    return [
        _date(question, (await answer(app, question, recording, played))[0])
        for question in questions
        if question.key in recorded.judgments
    ]


def spread_days(founds: Sequence[Found]) -> list[Found]:
    """Return the finds on a day each, in a random order: how near they were tells nothing."""
    shuffled = random.Random(_SEED).sample(founds, len(founds))
    return [
        replace(found, moment=NOW + timedelta(days=number)) for number, found in enumerate(shuffled)
    ]


async def run(arguments: argparse.Namespace, url: str, output: Output) -> None:
    """Ask, record or measure."""
    if not arguments.url:
        archives = read_collections(arguments.data, ["dev", "recent"])
        await load(url, arguments.data, {one.archive: one.language for one, _, _ in archives})
    days = read_year(arguments.data, arguments.year)
    async with open_archives(url) as app:
        weeks = [
            question
            for day in draw_days(days, arguments.weeks)
            for question in await choose_promising(app, days[day], arguments.stories)
        ]
        if arguments.ask:
            await ask_model(arguments, app, weeks)
        elif arguments.record:
            await record_answers(arguments, app, weeks)
        else:
            rater = Rater(arguments.data, await read_threads(app))
            every = [question for of_day in days.values() for question in of_day]
            await measure_words(app, every, rater, output)
            await measure_recordings(arguments, app, rater, output)
            found = await replay(app, weeks, arguments.recording)
            output.row(rows="weeks", stories=len(weeks), recorded=len(found))
            if found:
                measure_judged("weeks", found, rater, output, printed=arguments.print)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, and ask, record or measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.posts", description=__doc__)
    parser.add_argument("--recordings", type=lambda text: text.split(","), default=["general"])
    parser.add_argument("--year", type=int, default=2021)
    parser.add_argument("--weeks", type=int, default=2, help="of the year, drawn at random")
    parser.add_argument("--stories", type=int, default=3, help="of each of their days")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--url", help="a database that holds both archives")
    parser.add_argument("--print", action="store_true", help="print what is posted unrated, too")
    parser.add_argument("--ask", type=Path, help="write what the model is asked to this folder")
    parser.add_argument("--record", type=Path, help="read the answers in this folder")
    parser.add_argument("--stage", choices=["phrases", "judgments"], default="judgments")
    parser.add_argument("--recording", default="year", help="name of a recording in bench/played")
    arguments, output = parser.parse_args(argv), Output("posts")
    with ExitStack() as stack:
        url = arguments.url or stack.enter_context(server(stack.enter_context(folder())))
        asyncio.run(run(arguments, url, output))
    output.table()


if __name__ == "__main__":
    main()
