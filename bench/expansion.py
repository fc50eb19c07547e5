"""Measures the benefit and the cost of phrases that a model suggests before a search.

`python -m bench.expansion --corpus NAME --headlines FILE --qrels FILE --expansions FILE
[--candidates 80,150,240] [--seconds 1,2] [--mode MODE] [--url URL]`

The corpus is in the database that the settings name. A stand-in model on a real socket answers
requests for phrases from `--expansions` (JSON lines of `qid` and `phrases`) and requests for
judgments from the qrels; unjudged texts score 0. Every number of candidates is measured with and
without phrases; then answers are timed while the model takes some seconds.
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
from typing import Any

from aiohttp import web

from bench.timing import Output, milliseconds, progress
from bot.app import App, open_app
from bot.settings import load_settings
from db.search.shown import Shown
from engine.evaluate.measures import JudgedHeadline, Run, evaluate, read_headlines, read_qrels
from engine.judge.request import HEADLINE_LENGTH, one_line
from engine.prophecy.headline import read_headline
from engine.search import Mode, SearchRequest
from tests.fakes.model import Asked, ModelServer, answer

_CHARACTERS_A_TOKEN = 4  # roughly, in both languages
_HITS = 10
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
    """A model that is always right, after a given delay."""

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
            "prompt_tokens": len(prompt) // _CHARACTERS_A_TOKEN,
            "completion_tokens": len(content) // _CHARACTERS_A_TOKEN,
        }
        return await answer(content, usage=usage)(asked, request)


def _judgments(known: Known, asked: Asked) -> dict[str, object]:
    pairs = [(one["i"], known.label(one["text"])) for one in asked.candidates]
    return {"n": len(pairs), "scores": [[number, label] for number, label in pairs if label]}


class Bench:
    """One corpus, its headlines, and the model that answers about them."""

    def __init__(self, arguments: argparse.Namespace, url: str, output: Output) -> None:
        self.arguments, self.url, self.output = arguments, url, output
        self.headlines = read_headlines(arguments.headlines)
        self.qrels = read_qrels(arguments.qrels)
        self.model = StandIn({})
        self.runs = 0

    async def know(self, app: App) -> None:
        """Load the headlines and their labels."""
        corpus, shown = await app.corpora.get(self.arguments.corpus), Shown(app.database)
        named = read_phrases(self.arguments.expansions)
        known = {}
        for headline in self.headlines:
            labels: dict[str, int] = {}
            for identity, label in self.qrels.get(headline.qid, {}).items():
                if label and (found := await shown.document(corpus, identity)):
                    text = one_line(found.candidate.text, _WHOLE)
                    labels[text] = max(label, labels.get(text, 0))
            asked = one_line(read_headline(headline.headline).text, HEADLINE_LENGTH)
            known[asked] = Known(named.get(headline.qid, ()), labels)
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
                chosen = replace(settings.prophecy, most=candidates, most_with_phrases=candidates)
                app.prophet.use(chosen)
                measured = [await self._measured(app, one) for one in self.headlines]
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
        report: dict[str, Any] = evaluate(self.headlines, self.qrels, runs).as_json()
        names = ("recall", "best P@3", "P@3", "nDCG@3")
        self.output.row(
            corpus=self.arguments.corpus,
            expansion=expansion,
            candidates=candidates,
            **{name: round(report[name], 3) for name in names},
            calls=round(calls / len(measured), 2),
            tokens=round(sum(tokens for _, _, tokens in measured) / len(measured)),
            model_seconds=seconds,
            **milliseconds([taken for _, taken, _ in measured]),
        )


def read_phrases(path: Path) -> dict[str, list[str]]:
    """Return the phrases for each headline, by its qid."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["qid"]: line["phrases"] for line in lines}


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
        usual = {"off": chosen.candidates, "auto": app.settings.prophecy.most_with_phrases}
        for seconds in arguments.seconds:
            for expansion, candidates in usual.items():
                await bench.row(expansion=expansion, candidates=candidates, seconds=seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.expansion", description=__doc__)
    parser.add_argument("--corpus", required=True)
    for name in ("--headlines", "--qrels", "--expansions"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--candidates", type=_numbers, default=[40, 60, 80, 100, 150, 240])
    parser.add_argument("--seconds", type=_numbers, default=[1, 2])
    parser.add_argument("--mode", type=Mode, default=None)
    arguments, output = parser.parse_args(argv), Output("expansion")
    asyncio.run(run(arguments, output))
    output.table()


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",") if one]


if __name__ == "__main__":
    main()
