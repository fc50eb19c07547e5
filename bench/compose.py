"""Measures the time that writing from evidence takes, and how much of it is Presagio's own.

`python -m bench.compose [--data FOLDER] [--corpus NAME ...] [--runs N] [--quick]`
`python -m bench.compose --guard`

Models, web and pages are stand-ins: first they answer at once, so that what remains is the time of
the pipeline itself; then a model takes 2.5 seconds a call and the web one second. The corpora are
real ones: with --data, those of a data folder, else archives beside the project.

With --guard, the guard alone reads bench/claims.jsonl: sentences in seven languages, right and
planted ones, none of which it was made from. What it takes for the other is printed.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.compositions import Flaw, find_faults, read_labelled
from bench.timing import Output, milliseconds
from bot.app import App, open_app
from bot.queries.compose import build_composer
from bot.settings import load_settings
from engine.compose.composition import ComposeRequest, Composition
from engine.compose.run import Composer
from engine.values import Corpus
from engine.web.results import WebFindings, WebPage
from tests.fakes.model import ModelServer, slow
from tests.fakes.writer import Writer

CLAIMS = Path(__file__).with_name("claims.jsonl")
MODEL, PAGES = 2.5, 1.0  # seconds of a call, and of searching and reading pages
OWN, WHOLE = 600.0, 12_000.0  # milliseconds that the median may take
PROMPTS = (
    "Write a tweet about coffee prices",
    "the economy and jobs",
    "climate change and the weather",
    "la inflación y el dólar",
    "elections and polls",
    "football world cup",
    "health care costs",
    "la educación pública",
)
_STEPS: dict[str, list[float]] = defaultdict(list)  # milliseconds by step
_FILLER = "Prices of coffee rose by 14 percent in 2011, the board said. Nobody knows why they did. "
_PARAGRAPHS = 40


@dataclass
class StandInWeb:
    """Five pages of ordinary length for any queries, after some seconds."""

    seconds: float
    available: bool = True

    async def gather(
        self,
        queries: Sequence[str],
        *,
        deadline: float,  # noqa: ARG002 - it has no trouble keeping it
        now: datetime,
    ) -> WebFindings:
        """Return the pages."""
        await asyncio.sleep(self.seconds)
        pages = tuple(
            WebPage(
                url=f"https://news{number}.example/story",
                title=f"Report {number}",
                text="\n\n".join(f"{number}. {part}. {_FILLER}" for part in range(_PARAGRAPHS)),
                date=now,
                query=queries[0],
            )
            for number in range(5)
        )
        return WebFindings(pages=pages, provider="stand-in", searches=len(queries), fetched=5)


async def main() -> None:
    """Measure, print, and exit with 1 if a median is over its limit."""
    chosen = _arguments()
    output = Output("compose")
    if chosen.guard:
        show_guard(output)
        return
    async with ModelServer() as server:
        os.environ["PRESAGIO_LLM__BASE_URL"] = server.base_url
        os.environ["PRESAGIO_LLM__DAILY_TOKENS"] = "-1"
        os.environ["PRESAGIO_LLM__DAILY_USD"] = "-1"
        if chosen.data:
            os.environ["PRESAGIO_DATA_DIR"] = chosen.data
        async with open_app(load_settings(), progress=lambda _: None) as app:
            server.script = [Writer()]
            own = await _measured(app, chosen.corpus, PROMPTS * chosen.runs, 0.0)
            figures = milliseconds(own)
            output.row(models="at once", runs=len(own), **figures)
            output.row(models="at once", **{k: round(median(v), 1) for k, v in _STEPS.items()})
            late = figures["p50_ms"] > OWN
            server.script = [slow(MODEL, Writer())]
            whole = await _measured(app, chosen.corpus, PROMPTS[: 2 if chosen.quick else 6], PAGES)
            figures = milliseconds(whole)
            calls = server.calls
            output.row(models=f"{MODEL} s", pages=f"{PAGES} s", runs=len(whole), **figures)
            late = late or figures["p50_ms"] > WHOLE
    output.table()
    sys.exit(f"too slow, after {calls} calls" if late else 0)


def show_guard(output: Output) -> None:
    """Print how the guard judges the claims, and each that it gets wrong."""
    claims = read_labelled(CLAIMS)
    for name, right in (("planted", False), ("right", True)):
        sentences = [claim for claim in claims if (claim.flaw is Flaw.RIGHT) is right]
        found = [(sentence, find_faults(sentence)) for sentence in sentences]
        refused = [one for one, faults in found if any(fault.vetoes for fault in faults)]
        warned = [one for one, faults in found if faults and one not in refused]
        wrong = (
            refused if right else [sentence for sentence in sentences if sentence not in refused]
        )
        output.row(claims=name, sentences=len(sentences), refused=len(refused), warned=len(warned))
        for one in wrong:
            output.row(claims=f"{name}, judged wrongly", text=one.text)
    output.table()


async def _measured(
    app: App, names: Sequence[str], prompts: Sequence[str], web_seconds: float
) -> list[float]:
    corpora = tuple([await app.corpus(name) for name in names])
    composer = build_composer(app)
    composer.web = StandInWeb(web_seconds)
    await _composed(composer, corpora, prompts[0])  # not measured: it opens connections
    return [await _composed(composer, corpora, prompt) for prompt in prompts]


async def _composed(composer: Composer, corpora: tuple[Corpus, ...], prompt: str) -> float:
    request = ComposeRequest(prompt=prompt, corpora=corpora, variants=3)
    started = time.perf_counter()
    composition: Composition = await composer.compose(request, now=datetime.now(UTC))
    if not composition.variants:
        raise SystemExit(f"nothing written: {composition.notice}")
    seconds = time.perf_counter() - started
    for step in composition.steps:
        _STEPS[step.name.value].append(step.elapsed_ms)
    return seconds


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="data folder with the corpora")
    parser.add_argument("--corpus", action="append", help="corpus; may be given several times")
    parser.add_argument("--runs", type=int, default=3, help="rounds over the prompts")
    parser.add_argument("--guard", action="store_true", help="the guard alone, on claims")
    parser.add_argument("--quick", action="store_true", help="fewer runs with slow models")
    chosen = parser.parse_args()
    chosen.corpus = chosen.corpus or ["en", "es"]
    return chosen


if __name__ == "__main__":
    asyncio.run(main())
