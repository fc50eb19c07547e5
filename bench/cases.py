"""Prints what comes of feeds, pages and models' answers that people complained about.

`python -m bench.cases [FOLDER]`

FOLDER has feeds/, pages/, model-answers.json and a README.md whose tables say what is expected of
each file. A row holds a file, what is expected of it, and what came of it: a feed is read, a page
is fetched from loopback for its headline, and the answer of a model judges 150 candidates.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import stamina
from aiohttp import web

from bench.timing import Output
from engine.errors import PresagioError
from engine.feeds.read import read_feed
from engine.fetch.client import Fetcher
from engine.judge.judge import Judge
from engine.llm.client import ChatClient
from engine.llm.spending import Account
from engine.page.article import headline_from_link
from engine.process_pool import ProcessPool
from engine.search import Headline
from engine.settings.fetching import FetchSettings
from engine.settings.models import LlmSettings
from tests.engine.candidates import candidate
from tests.engine.passages import ME
from tests.fakes.ports import MemoryCache, MemoryLedger
from tests.fakes.stand_in import StandIn

FOLDER = Path(__file__).parents[2] / "shared/cases/feeds"
_ADDRESS = "https://feeds.example/rss/harbour.xml"
_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_SENT = 150
_RIGHT = json.dumps({"n": _SENT, "scores": [[1, 5], [2, 6]]})
_ROW = re.compile(r"^\| ([a-z]\d.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_SPAN = re.compile(r"([a-z]+)(\d+)-[a-z]+(\d+)")


def read_expectations(readme: str) -> list[tuple[str, str]]:
    """Return pairs of a pattern of file names and what is expected of them, from the tables."""
    return [
        (pattern, expected)
        for named, expected, _ in _ROW.findall(readme)
        for pattern in _list_patterns(named)
    ]


def _list_patterns(named: str) -> Iterator[str]:
    for part in re.sub(r"\(.*?\)", "", named).split(","):
        if span := _SPAN.fullmatch(part.strip()):
            letter, first, last = span.groups()
            yield from (f"{letter}{number:02}-*" for number in range(int(first), int(last) + 1))
        elif part.strip():
            yield f"{part.strip()}*"


def read_one_feed(path: Path) -> str:
    """Return what is made of a feed: the title, link and date of its entries, or the error."""
    try:
        parsed = read_feed(path.read_bytes(), None, _ADDRESS)
    except PresagioError as error:
        return f"refused: {error}"
    return " || ".join(
        f"{entry.title or entry.summary} | {entry.link} | {_write_date(entry.published)}"
        for entry in parsed.entries
    )


def _write_date(date: datetime | None) -> str:
    return f"{date:%Y-%m-%d %H:%M}" if date else "no date"


@dataclass
class Pages(StandIn):
    """Serves the pages of a folder."""

    folder: Path = FOLDER

    def routes(self) -> Sequence[web.RouteDef]:
        """Serve each file under its name."""
        return [web.get("/pages/{name}", self._show)]

    async def _show(self, request: web.Request) -> web.StreamResponse:
        path = self.folder / "pages" / request.match_info["name"]
        return web.Response(body=path.read_bytes(), headers={"Content-Type": "text/html"})


async def read_pages(folder: Path, output: Output) -> None:
    """Print what is made of each page."""
    settings = FetchSettings(allow_networks=("127.0.0.0/8",))
    async with (
        Pages(folder=folder) as pages,
        Fetcher(settings) as fetcher,
        ProcessPool() as isolation,
    ):
        for path in sorted((folder / "pages").iterdir()):
            url = f"{pages.root}/pages/{path.name}"
            try:
                headline = await headline_from_link(fetcher, isolation, url, now=_NOW)
                made = f"headline: {headline.text}"
            except PresagioError as error:
                made = f"refused: {error}"
            output.row(file=path.name, got=made)


@dataclass
class Answers(StandIn):
    """Answers each question as a case says."""

    case: Mapping[str, Any] = field(default_factory=dict)
    asked: int = 0

    def routes(self) -> Sequence[web.RouteDef]:
        """Serve completions."""
        return [web.post("/v1/chat/completions", self._complete)]

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body, self.asked = await request.json(), self.asked + 1
        steps = self.case.get("judgments", self.case.get("*", {}))
        step = steps[min(self.asked, len(steps)) - 1] if isinstance(steps, list) else steps
        if _is_met_by(body, step):
            step = {}
        return web.Response(
            status=step.get("status", 200),
            headers={"Content-Type": "application/json"} | step.get("headers", {}),
            body=_write_reply(step),
        )


def _is_met_by(body: Mapping[str, Any], step: Mapping[str, Any]) -> bool:
    """Return whether a request lacks the field that the step refuses."""
    said = step.get("rawbody", "") if step.get("status", 200) != 200 else ""
    named = {"max_completion_tokens", "json_schema", "grammar"} & set(re.findall(r"\w+", said))
    sent = {"max_completion_tokens"} & body.keys()
    if "response_format" in body:
        sent |= {"json_schema", "grammar"}
    return bool(named) and not named & sent


def _write_reply(step: Mapping[str, Any]) -> bytes:
    if "rawbody" in step:
        return str(step["rawbody"].replace("@@", json.dumps(_RIGHT)[1:-1])).encode()
    message = {"role": "assistant", "content": step.get("content", _RIGHT)}
    reply = {
        "model": "stand-in/model",
        "choices": [
            {
                "index": 0,
                "finish_reason": step.get("finish", "stop"),
                "message": message | step.get("message", {}),
            }
        ],
        "usage": {"prompt_tokens": 7000, "completion_tokens": 120},
    }
    return json.dumps(_fill(reply | step.get("merge", {}))).encode()


def _fill(value: Any) -> Any:
    """Put the right answer in the places for it."""
    if isinstance(value, str):
        return re.sub(r"@@(?:TC|L)?", lambda _: _RIGHT, value)
    if isinstance(value, dict):
        return {name: _fill(item) for name, item in value.items()}
    return [_fill(item) for item in value] if isinstance(value, list) else value


async def ask_models(folder: Path, output: Output) -> None:
    """Print what a judge makes of each answer."""
    cases = json.loads((folder / "model-answers.json").read_text())
    for name, case in cases.items():
        async with Answers(case=case) as answers:
            output.row(file=name, got=await _judge_once(answers))


async def _judge_once(answers: Answers) -> str:
    ledger = MemoryLedger()
    settings = LlmSettings(base_url=f"{answers.root}/v1", model="stand-in/model", total_timeout=20)
    headline = Headline(text="The wall falls", original="The wall falls")
    sent = [candidate(number, f"text {number}") for number in range(1, _SENT + 1)]
    account = Account(ledger)
    async with ChatClient(settings, account=account, clock=time.monotonic) as client:
        judge = Judge(client, MemoryCache())
        verdict = await judge.judge(ME, headline, sent, now=_NOW)
    high = sorted(score for score in verdict.scores.values() if score >= 3)
    used = [usage for _, _, _, usage in ledger.calls]
    tokens = sum((usage.prompt_tokens or 0) + (usage.completion_tokens or 0) for usage in used)
    told = f"judged {len(verdict.scores)} {high}, asked {answers.asked}, counted {tokens}"
    return f"{told}; {verdict.notice}" if verdict.notice else told


async def _run(folder: Path, output: Output) -> None:
    await read_pages(folder, output)
    with stamina.set_testing(True, attempts=10, cap=True):
        await ask_models(folder, output)


def main(words: Sequence[str] | None = None) -> None:
    """Read the command line and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.cases")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args(words).folder
    output = Output("cases")
    expectations = read_expectations((folder / "README.md").read_text())
    for path in sorted((folder / "feeds").iterdir()):
        named = (expected for name, expected in expectations if fnmatchcase(path.name, name))
        output.row(file=path.name, expected=next(named, ""), got=read_one_feed(path))
    asyncio.run(_run(folder, output))
    output.table()


if __name__ == "__main__":
    main()
