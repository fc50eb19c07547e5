"""Measures what answers are worth: would one forward the texts that they show?

`python -m bench.forward [--systems words,local,NAME...] [--sets dev,recent,labels] [--data FOLDER]
[--url URL] [--print]` measures. `words` is without a model, `local` with the model of
presagio[local], and any other name a recording in bench/played.

`python -m bench.forward --ask FOLDER --stage phrases|judgments --recording NAME` writes what the
model is asked, a prompt and a file for each headline, to be answered by a model that sees nothing
else in FILE.answer; `--record FOLDER` with the same options reads the answers into the recording.

Ratings are those of `../shared/data/forward`: 2 and 3 are worth forwarding. They were given to the
texts labelled 3 or more; bench/labels/forward.tsv has those of other texts that were shown, rated
blind by the same words. Any other counts as 0. Parts of a thread have been rated one by one;
as one text they count as the best of them. Shares have the interval in which they lie for 95 % of
10,000 resamplings of the headlines.
"""

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import fmean

from bench.measures import RIGHT, TOP, JudgedHeadline
from bench.store import folder, server
from bench.timing import Output, open_token_counter
from bench.tweets import DATA
from bench.unjudged import (
    LABELS,
    NOW,
    Collection,
    load,
    open_archives,
    read_collections,
    share_interval,
)
from bot.app import App
from db.search.aliases import AliasedSearch
from db.search.lexical import CandidateReader
from engine.judge.answer import read_judgments
from engine.judge.judge import JUDGE, JudgeRequest, build_judge_request
from engine.prophecy.expand import EXPANSION, Phrases, PhrasesRequest, read_phrases
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.search import (
    Candidate,
    Expansion,
    Headline,
    HitKind,
    Mode,
    Prophecy,
    SearchRequest,
    Verdict,
)
from engine.values import Corpus, Flag

PLAYED = Path(__file__).parent / "played"
WORTHY = 2
_COUNTED_BY, count_tokens = open_token_counter()


@dataclass(slots=True)
class Recording:
    """What a model once answered, by the key of a headline."""

    phrases: dict[str, list[str]] = field(default_factory=dict)
    # By external id: score, kind, place among the best, reason, and whether it is about the event.
    judgments: dict[str, dict[str, list[object]]] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)  # tokens of both answers

    @classmethod
    def read(cls, name: str) -> "Recording":
        """Return the recording of that name; an empty one if there is none yet."""
        path = PLAYED / f"{name}.json"
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def write(self, name: str) -> None:
        """Store the recording, a headline a line."""
        parts = []
        for part in ("phrases", "judgments", "answered"):
            lines = (
                f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
                for key, value in sorted(getattr(self, part).items())
            )
            parts.append(f'"{part}": {{\n' + ",\n".join(lines) + "\n}")
        PLAYED.mkdir(exist_ok=True)
        (PLAYED / f"{name}.json").write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Question:
    """A judged headline of a collection."""

    collection: Collection
    headline: JudgedHeadline
    labels: Mapping[str, int]

    @property
    def key(self) -> str:
        """Its name among all headlines, which is that of a file too."""
        return f"{self.collection.split}-{self.collection.files}-{self.headline.qid}"

    @property
    def read(self) -> Headline:
        """The headline as a search takes it."""
        return read_headline(self.headline.headline, date=self.headline.date)


@dataclass
class Played:
    """A model that answers what is recorded, and keeps what it is asked."""

    recording: Recording
    keys: Mapping[str, str]  # by the text of the headline
    app: App
    asked: dict[str, JudgeRequest] = field(default_factory=dict)
    external: dict[int, str] = field(default_factory=dict)  # ids of all candidates
    tokens: dict[str, int] = field(default_factory=dict)  # of both calls

    async def expand(
        self,
        corpus: Corpus,
        headline: Headline,
        *,
        now: datetime,  # noqa: ARG002 - as in the port
    ) -> Expansion:
        """Return the recorded phrases."""
        key = self.keys[headline.text]
        request = await self.ask_for_phrases(corpus, headline)
        self.tokens[key] = count_tokens(EXPANSION.system) + count_tokens(request.content)
        return Expansion(phrases=tuple(self.recording.phrases.get(key, ())), model="played")

    async def ask_for_phrases(self, corpus: Corpus, headline: Headline) -> PhrasesRequest:
        """Return what the model is asked before the search."""
        summary = await self.app.corpora.summarise(corpus)
        return PhrasesRequest(corpus=corpus, summary=summary, headline=headline.text, model="")

    async def judge(
        self, corpus: Corpus, headline: Headline, candidates: Sequence[Candidate], *, now: datetime
    ) -> Verdict:
        """Return the recorded judgments of these candidates; 0 for any other."""
        key = self.keys[headline.text]
        self.asked[key] = build_judge_request(corpus, headline, candidates, now=now)
        self.tokens[key] += count_tokens(JUDGE.system) + count_tokens(self.asked[key].content)
        self.tokens[key] += self.recording.answered.get(key, 0)
        self.external |= {each.id: each.external_id for each in candidates}
        entries = self.recording.judgments.get(key, {})
        nothing: list[object] = [0, None, None, None, False]
        by_id = {each.id: entries.get(each.external_id, nothing) for each in candidates}
        placed = sorted((entry[2], each) for each, entry in by_id.items() if entry[2] is not None)
        return Verdict(
            scores={each: int(str(entry[0])) for each, entry in by_id.items()},
            kinds={each: HitKind(str(entry[1])) for each, entry in by_id.items() if entry[1]},
            best=tuple(each for _, each in placed),
            event=tuple(each for each, entry in by_id.items() if entry[4]),
            reasons={each: str(entry[3]) for each, entry in by_id.items() if entry[3]},
            model="played",
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, what a system answered, and what that is worth."""

    question: Question
    prophecy: Prophecy
    ratings: Sequence[int]  # of the hits
    right: int  # hits with a label of 4 or more
    recall: float | None  # of the labels of 4 or more among the candidates
    tokens: int | None


def read_ratings(data: Path) -> dict[str, dict[str, int]]:
    """Return the ratings by headline and external id."""
    ratings: dict[str, dict[str, int]] = defaultdict(dict)
    for path in (LABELS / "forward.tsv", data / "forward" / "dev.tsv"):
        for line in path.read_text().splitlines():
            qid, identity, _, rating = line.split("\t")
            ratings[qid][identity] = int(rating)
    return ratings


async def read_threads(app: App) -> dict[str, str]:
    """Return the external id of the first post of a thread by that of each other part."""
    flags = int(Flag.JOINED), int(Flag.JOINED | Flag.CONTINUATION)
    async with app.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT external_id, flags & $1 <> 0 AS first FROM document WHERE flags & $2 <> 0"
            " ORDER BY corpus_id, author, created_at, length(external_id), external_id",
            *flags,
        )
    firsts, first = dict[str, str](), ""
    for row in rows:
        first = row["external_id"] if row["first"] else first
        firsts[row["external_id"]] = first
    return firsts


def move_to_threads(values: Mapping[str, int], firsts: Mapping[str, str]) -> dict[str, int]:
    """Return the values of texts, those of a thread's parts as the highest at its first post."""
    moved: dict[str, int] = {}
    for identity, value in values.items():
        first = firsts.get(identity, identity)
        moved[first] = max(value, moved.get(first, 0))
    return moved


async def answer(
    app: App, question: Question, system: str, played: Played | None
) -> tuple[Prophecy, int | None]:
    """Ask a system, and return its answer with the tokens of both calls."""
    mode = Mode.LEXICAL if system == "words" or played else None
    request = SearchRequest(
        headline=question.read, limit=TOP, now=NOW, judged=played is not None, mode=mode
    )
    corpus = await app.corpora.get(question.collection.archive)
    if played is None:
        return await app.prophet.prophesy(corpus, request), None
    index = AliasedSearch(app.database, app.glossaries, weight=0.0)
    described = CandidateReader(app.database)
    phrases = Phrases(expander=played, index=index, descriptions=described)
    prophet = Prophet(index, played, settings=app.settings.prophecy, phrases=phrases)
    prophecy = await prophet.prophesy(corpus, request)
    return prophecy, played.tokens[question.key]


def rate(
    question: Question,
    prophecy: Prophecy,
    tokens: int | None,
    ratings: Mapping[str, int],
    labels: Mapping[str, int],
) -> Answered:
    """Return what an answer is worth."""
    shown = [hit.candidate.external_id for hit in prophecy.hits[:TOP]]
    relevant = {identity for identity, label in labels.items() if label >= RIGHT}
    return Answered(
        question=question,
        prophecy=prophecy,
        ratings=[ratings.get(identity, 0) for identity in shown],
        right=sum(identity in relevant for identity in shown),
        recall=len(relevant & set(prophecy.candidates)) / len(relevant) if relevant else None,
        tokens=tokens,
    )


def describe(answers: Sequence[Answered]) -> dict[str, object]:
    """Return the figures of a row."""
    matched = [each for each in answers if each.question.headline.matchable]
    unmatched = [each for each in answers if not each.question.headline.matchable]
    worthy = [(sum(r >= WORTHY for r in each.ratings), len(each.ratings)) for each in matched]
    answered = [(int(worth > 0), 1) for worth, number in worthy if number]
    recalls = [each.recall for each in matched if each.recall is not None]
    tokens = [each.tokens for each in answers if each.tokens is not None]
    return {
        "headlines": len(matched),
        "answered": len(answered),
        "shown": sum(number for _, number in worthy),
        "worthy": share_interval(worthy),
        "mean": round(fmean(sum(each.ratings) / TOP for each in matched), 2) if matched else None,
        "one_worthy": share_interval(answered),
        "silent": f"{sum(not each.ratings for each in unmatched)} of {len(unmatched)}",
        "P@3": round(fmean(each.right / TOP for each in matched), 2) if matched else None,
        "recall": round(fmean(recalls), 3) if recalls else None,
        "tokens": round(fmean(tokens)) if tokens else None,
    }


def print_rows(output: Output, system: str, answers: Sequence[Answered]) -> None:
    """Print a row for each collection, for each language, and for all."""
    groups: dict[str, list[Answered]] = defaultdict(list)
    for each in answers:
        collection = each.question.collection
        for name in (f"{collection.split} {collection.files}", collection.language, "all"):
            groups[name].append(each)
    for name, group in groups.items():
        output.row(system=system, headlines_of=name, **describe(group))


def print_answers(answers: Sequence[Answered]) -> None:
    """Print the answers as a person reads them, each text with its rating."""
    for each in answers:
        date = each.question.headline.date
        print(f"\n## {each.question.headline.headline} ({date.date() if date else 'undated'})")
        for hit, rating in zip(each.prophecy.hits, each.ratings, strict=False):
            written, author = hit.candidate.created_at, hit.candidate.author or ""
            day = written.date() if written else "undated"
            print(f"{rating}  {hit.kind or 'not judged'}, {day} {author}: {hit.candidate.text!r}")
            if hit.why:
                print(f"     {hit.why}")


async def ask_model(arguments: argparse.Namespace, app: App, questions: Sequence[Question]) -> None:
    """Write what the model is asked, a file for each headline, and the prompt."""
    played = Played(Recording.read(arguments.recording), name_keys(questions), app)
    target: Path = arguments.ask
    target.mkdir(parents=True, exist_ok=True)
    prompt = EXPANSION if arguments.stage == "phrases" else JUDGE
    (target / "prompt.txt").write_text(prompt.system, encoding="utf-8")
    for question in questions:
        if arguments.stage == "phrases":
            corpus = await app.corpora.get(question.collection.archive)
            content = (await played.ask_for_phrases(corpus, question.read)).content
        else:
            await answer(app, question, "", played)
            content = played.asked[question.key].content if question.key in played.asked else ""
        (target / f"{question.key}.txt").write_text(content, encoding="utf-8")


async def record_answers(
    arguments: argparse.Namespace, app: App, questions: Sequence[Question]
) -> None:
    """Read what the model answered into the recording."""
    recording = Recording.read(arguments.recording)
    played = Played(recording, name_keys(questions), app)
    for question in questions:
        path: Path = arguments.record / f"{question.key}.answer"
        if not path.exists():
            continue
        text, key = path.read_text(encoding="utf-8"), question.key
        if arguments.stage == "phrases":
            recording.phrases[key] = list(read_phrases(text, headline=question.read.text) or ())
            recording.answered[key] = count_tokens(text)
            continue
        await answer(app, question, "", played)
        recording.judgments[key] = _read_judgments(text, played.asked[key], played.external)
        recording.answered[key] += count_tokens(text)
    recording.write(arguments.recording)


def _read_judgments(
    text: str, request: JudgeRequest, external: Mapping[int, str]
) -> dict[str, list[object]]:
    answer = read_judgments(text, sent=len(request.ids), finished=True)
    if answer.damage:
        print("damage:", dict(answer.damage), text[:80])
    return {
        external[request.ids[number - 1]]: [
            score,
            answer.kinds[number].value if number in answer.kinds else None,
            answer.best.index(number) if number in answer.best else None,
            answer.reasons.get(number),
            number in answer.event,
        ]
        for number, score in answer.scores.items()
        if score or number in answer.event
    }


def name_keys(questions: Sequence[Question]) -> dict[str, str]:
    """Return the key of each headline by its text."""
    return {question.read.text: question.key for question in questions}


async def run(arguments: argparse.Namespace, url: str, output: Output) -> None:
    """Ask, record or measure."""
    collections = list(read_collections(arguments.data, arguments.sets))
    if not arguments.url:
        await load(url, arguments.data, {one.archive: one.language for one, _, _ in collections})
    questions = [
        Question(collection, headline, qrels.get(headline.qid, {}))
        for collection, headlines, qrels in collections
        for headline in headlines
    ]
    async with open_archives(url) as app:
        if arguments.ask:
            await ask_model(arguments, app, questions)
        elif arguments.record:
            await record_answers(arguments, app, questions)
        else:
            await measure(arguments, app, questions, output)


async def measure(
    arguments: argparse.Namespace, app: App, questions: Sequence[Question], output: Output
) -> None:
    """Print what each system's answers are worth."""
    ratings, firsts = read_ratings(arguments.data), await read_threads(app)
    for system in arguments.systems:
        played = None
        if system not in ("words", "local"):
            played = Played(Recording.read(system), name_keys(questions), app)
        answers = []
        for question in questions:
            prophecy, tokens = await answer(app, question, system, played)
            rated = move_to_threads(ratings.get(question.headline.qid, {}), firsts)
            labels = move_to_threads(question.labels, firsts)
            answers.append(rate(question, prophecy, tokens, rated, labels))
        print_rows(output, system, answers)
        if arguments.print:
            print_answers(answers)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, and ask, record or measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.forward", description=__doc__)
    parser.add_argument("--systems", type=_split_names, default=["words", "local"])
    parser.add_argument("--sets", type=_split_names, default=["dev", "recent", "labels"])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--url", help="a database that holds both archives")
    parser.add_argument("--print", action="store_true", help="print the answers, too")
    parser.add_argument("--ask", type=Path, help="write what the model is asked to this folder")
    parser.add_argument("--record", type=Path, help="read the answers in this folder")
    parser.add_argument("--stage", choices=["phrases", "judgments"], default="judgments")
    parser.add_argument("--recording", default="", help="name of a recording in bench/played")
    arguments, output = parser.parse_args(argv), Output("forward")
    with ExitStack() as stack:
        url = arguments.url or stack.enter_context(server(stack.enter_context(folder())))
        asyncio.run(run(arguments, url, output))
    output.table()


def _split_names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
