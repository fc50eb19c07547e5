"""Measures the benefit and the cost of phrases that a model suggests before a search.

`python -m bench.expansion --corpus NAME --headlines FILE --qrels FILE --expansions FILE...
[--judgments FILE] [--candidates 80,100,150] [--seconds 1,2] [--mode MODE]`

The corpus is in the database that the settings name; its description is part of both requests. A
stand-in model on a real socket answers requests for phrases from `--expansions` (JSON lines of
`qid` and `phrases`, or one object of lists by "split:qid"; of several files, as many of each as
make twelve) and requests for judgments from `--judgments`, which has the form of the qrels
and holds what a model once answered; without it from the qrels, like a judge who is always right.
Texts that are in neither score 0. Every number of candidates is measured with and without phrases,
with 95 % intervals over the headlines (bootstrap); then answers are timed while the model takes
some seconds. Tokens are those of both calls of a headline.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from bench.measures import (
    RIGHT,
    TOP,
    JudgedHeadline,
    Run,
    evaluate,
    read_headlines,
    read_qrels,
)
from bench.timing import Output, mean_interval, milliseconds, open_token_counter, progress
from bot.app import App, open_app
from bot.settings import load_settings
from db.search.shown import DocumentLookup
from engine.judge.answer import MIN_SCORE
from engine.judge.judge import HEADLINE_LENGTH
from engine.prophecy.expand import MAX_PHRASES
from engine.prophecy.headline import read_headline
from engine.search import Mode, SearchRequest
from engine.text.clean import drop_links
from engine.text.snippet import one_line
from tests.fakes.model import Asked, ModelServer, answer

_COUNTED_BY, count_tokens = open_token_counter()
_HITS = 10
_LISTED = 3  # the least score that the prompt asks for
_WHY = "He warned in 2012 that fuel prices would double within four years"
_WHOLE = 1000  # characters that identify a text
# Of a text that is shown in part, so many characters identify it.
_TELLING = 60


@dataclass(frozen=True)
class Known:
    """What the stand-in knows about one headline."""

    phrases: Sequence[str]
    labels: Mapping[str, int]  # by the whole text

    def label(self, shown: str) -> int:
        """Return how well a text, perhaps shown only in part, foretells the headline."""
        if shown in self.labels:
            return self.labels[shown]
        author, _, said = shown.partition(": ")
        if said and " " not in author:  # of an archive with several
            return self.label(said)
        parts = [part for part in shown.split("…") if part.strip()]
        if sum(map(len, parts)) < _TELLING:
            return 0
        fitting = (
            label
            for text, label in self.labels.items()
            if all(part.strip() in text for part in parts)
        )
        return max(fitting, default=0)


@dataclass
class StandIn:
    """A model that answers what is known, after a given delay."""

    known: Mapping[str, Known]  # by headline
    seconds: float = 0.0

    async def step(self, asked: Asked, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        await asyncio.sleep(self.seconds)
        known = self.known[asked.headline]
        said = {"phrases": known.phrases} if asked.for_phrases else _judgments(known, asked)
        content = json.dumps(said, ensure_ascii=False)
        prompt = "".join(message["content"] for message in asked.body["messages"])
        usage = {
            "prompt_tokens": count_tokens(prompt),
            "completion_tokens": count_tokens(content),
        }
        return await answer(content, usage=usage)(asked, request)


def _judgments(known: Known, asked: Asked) -> dict[str, object]:
    pairs = [(candidate["i"], known.label(candidate["text"])) for candidate in asked.candidates]
    scores = [[number, label] for number, label in pairs if label >= _LISTED]
    why = [{"i": number, "why": _WHY} for number, label in scores if label >= MIN_SCORE]
    return {"n": len(pairs), "scores": scores, "why": why}


class Bench:
    """One corpus, its headlines, and the model that answers about them."""

    def __init__(self, arguments: argparse.Namespace, url: str, output: Output) -> None:
        self.arguments, self.url, self.output = arguments, url, output
        self.headlines = read_headlines(arguments.headlines)
        self.qrels = read_qrels(arguments.qrels)
        self.judgments = read_qrels(arguments.judgments) if arguments.judgments else self.qrels
        self.model = StandIn({})
        self.runs = 0

    async def know(self, app: App) -> None:
        """Load the headlines and what the model answers about them."""
        corpus, shown = await app.corpora.get(self.arguments.corpus), DocumentLookup(app.database)
        files = [read_phrases(path) for path in self.arguments.expansions]
        known = {}
        for headline in self.headlines:
            labels: dict[str, int] = {}
            for identity, label in self.judgments.get(headline.qid, {}).items():
                if label and (found := await shown.document(corpus, identity)):
                    text = one_line(drop_links(found.candidate.text), _WHOLE)
                    labels[text] = max(label, labels.get(text, 0))
            asked = one_line(read_headline(headline.headline).text, HEADLINE_LENGTH)
            of_each = MAX_PHRASES // len(files)
            named = [phrase for file in files for phrase in file.get(headline.qid, ())[:of_each]]
            known[asked] = Known(named, labels)
        self.model.known = known

    async def row(self, *, expansion: str, candidates: int, seconds: float = 0.0) -> None:
        """Answer all headlines once, and print the results."""
        self.runs += 1
        self.model.seconds = seconds
        async with ModelServer([self.model.step], phrases=self.model.step) as server:
            environ = {
                "DATABASE_URL": self.url,
                "PRESAGIO_LLM__BASE_URL": server.base_url,
                # Nothing may be answered from caches.
                "PRESAGIO_LLM__MODEL": f"stand-in-{os.getpid()}-{time.time_ns()}",
                "PRESAGIO_LLM__DAILY_TOKENS": "-1",
                "PRESAGIO_LLM__DAILY_USD": "-1",
                "PRESAGIO_SEARCH__EXPANSION": expansion,
            }
            if expansion == "off":  # else results without phrases are as usual
                environ["PRESAGIO_SEARCH__CANDIDATES"] = str(max(candidates, 150))
            settings = load_settings(environ={**os.environ, **environ})
            async with open_app(settings, progress=progress) as app:
                chosen = replace(settings.prophecy, maximum=candidates, max_with_phrases=candidates)
                app.prophet.apply_settings(chosen)
                measured = [await self._measured(app, headline) for headline in self.headlines]
            calls = server.calls + len(server.expansions)
        self._print(measured, calls, expansion, candidates, seconds)

    async def _measured(self, app: App, headline: JudgedHeadline) -> tuple[Run, float, int]:
        request = SearchRequest(
            headline=read_headline(headline.headline, date=headline.date),
            limit=_HITS,
            now=datetime.now(UTC),
            mode=self.arguments.mode,
        )
        started = time.perf_counter()
        found = await app.prophesy(request, corpus=self.arguments.corpus)
        taken = time.perf_counter() - started
        usage = found.usage
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) if usage else 0
        run = Run(
            ids=tuple(hit.candidate.external_id for hit in found.hits),
            candidates=found.candidates,
            coverage=found.coverage,
            score=None,
        )
        return run, taken, tokens

    def _print(
        self,
        measured: Sequence[tuple[Run, float, int]],
        calls: int,
        expansion: str,
        candidates: int,
        seconds: float,
    ) -> None:
        runs = {one.qid: run for one, (run, _, _) in zip(self.headlines, measured, strict=True)}
        # Only one of several copies is shown, and it may be unjudged: see eval's notes.
        report = evaluate(self.headlines, self.qrels, runs)
        names = ("recall", "best P@3", "P@3", "nDCG@3")
        rows = [row.as_json() for row in report.rows]
        figures: dict[str, object] = {}
        for name in names:
            known = [value for row in rows if isinstance(value := row[name], (int, float))]
            figures[name] = round(sum(known) / len(known), 3)
            figures[f"{name} 95%"] = mean_interval(known)
        self.output.row(
            corpus=self.arguments.corpus,
            headlines=len(rows),
            expansion=expansion,
            candidates=candidates,
            **figures,
            **self._count_shown(runs),
            calls=round(calls / len(measured), 2),
            tokens=round(sum(tokens for _, _, tokens in measured) / len(measured)),
            tokens_by=_COUNTED_BY,
            model_seconds=seconds,
            **milliseconds([taken for _, taken, _ in measured]),
        )

    def _count_shown(self, runs: Mapping[str, Run]) -> dict[str, object]:
        """Count the texts shown, those labelled less than 3, and headlines that stay silent."""
        shown = [
            (headline, found)
            for headline in self.headlines
            for found in runs[headline.qid].ids[:TOP]
        ]
        silent = [
            headline
            for headline in self.headlines
            if not headline.matchable and not runs[headline.qid].ids
        ]
        return {
            "shown": len(shown),
            "labelled 3+": sum(self._label(one, found) >= _LISTED for one, found in shown),
            "labelled 4+": sum(self._label(one, found) >= RIGHT for one, found in shown),
            "unlabelled": sum(found not in self.qrels.get(one.qid, {}) for one, found in shown),
            "silent": f"{len(silent)} of {sum(not asked.matchable for asked in self.headlines)}",
        }

    def _label(self, headline: JudgedHeadline, found: str) -> int:
        return self.qrels.get(headline.qid, {}).get(found, 0)


def read_phrases(path: Path) -> dict[str, list[str]]:
    """Return the phrases for each headline, by its qid."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return {key.rpartition(":")[2]: phrases for key, phrases in json.loads(text).items()}
    return {line["qid"]: line["phrases"] for line in map(json.loads, text.splitlines())}


async def run(arguments: argparse.Namespace, output: Output) -> None:
    """Measure every number of candidates, then the times."""
    async with open_app(load_settings(), progress=progress) as app:
        url = app.server.url() if app.server else os.environ["DATABASE_URL"]
        bench = Bench(arguments, url, output)
        await bench.know(app)
        for candidates in arguments.candidates:
            for expansion in ("off", "auto"):
                await bench.row(expansion=expansion, candidates=candidates)
        chosen = app.settings.search
        usual = {"off": chosen.candidates, "auto": app.settings.prophecy.max_with_phrases}
        for seconds in arguments.seconds:
            for expansion, candidates in usual.items():
                await bench.row(expansion=expansion, candidates=candidates, seconds=seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.expansion", description=__doc__)
    parser.add_argument("--corpus", required=True)
    for name in ("--headlines", "--qrels"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--expansions", type=Path, nargs="+", required=True)
    parser.add_argument("--judgments", type=Path)
    parser.add_argument("--candidates", type=_numbers, default=[80, 100, 150])
    parser.add_argument("--seconds", type=_numbers, default=[1, 2])
    parser.add_argument("--mode", type=Mode, default=None)
    arguments, output = parser.parse_args(argv), Output("expansion")
    asyncio.run(run(arguments, output))
    output.table()


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",") if one]


if __name__ == "__main__":
    main()
