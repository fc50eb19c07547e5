"""A stand-in for a model that writes from evidence, one answer for each step of a run.

    async with ModelServer() as server:
        writer = Writer()
        server.script = [writer]
        writer.says["draft"] = drafting("Coffee is dear [1].")

Left alone it is well-behaved: it names one query, quotes the beginning of each passage, writes one
sentence a fact, and finds every sentence supported. Steps are told apart by the name of the schema.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.model import Asked, Step, answer, judging

STEPS = ("gaps", "evidence", "draft", "check")
_QUOTED = 12  # words
_LONGEST = 80  # characters of a sentence


def schema_of(asked: Asked) -> str:
    """Name of the schema that a request asks for."""
    return str(asked.body.get("response_format", {}).get("json_schema", {}).get("name"))


def lines_of(asked: Asked) -> list[dict[str, Any]]:
    """The lines of a request, as a stranger reads them."""
    return [json.loads(line) for line in asked.prompt.split("\n")]


def naming_gaps(*queries: str) -> Step:
    """A model that misses these things."""
    gaps = [{"missing": "numbers", "query": query} for query in queries]
    return answer(json.dumps({"gaps": gaps}))


def finding(*facts: tuple[int, str, str]) -> Step:
    """A model that takes these facts from the passages: (passage, statement, quote)."""
    return answer(
        json.dumps(
            {
                "facts": [
                    {"passage": number, "text": text, "quote": quote, "confidence": 0.9}
                    for number, text, quote in facts
                ]
            }
        )
    )


def drafting(*tweets: str, variants: Iterable[Sequence[str]] = (), language: str = "en") -> Step:
    """A model that writes one variant of these tweets, or several."""
    written = [list(tweets)] if tweets else [list(variant) for variant in variants]
    return answer(
        json.dumps({"language": language, "variants": [{"tweets": one} for one in written]})
    )


def checking(*checks: tuple[int, str, str]) -> Step:
    """A model that says of the sentences: (number, verdict, edit)."""
    entries = [{"i": i, "verdict": verdict, "edit": edit} for i, verdict, edit in checks]
    return answer(json.dumps({"checks": entries}))


def quoting(asked: Asked) -> str:
    """One fact a passage: its first words."""
    facts = []
    for one in lines_of(asked)[1:]:
        quote = " ".join(one["text"].split()[:_QUOTED])
        facts.append({"text": quote, "quote": quote, "passage": one["passage"], "confidence": 0.9})
    return json.dumps({"facts": facts})


def citing(asked: Asked) -> str:
    """Variants of sentences that quote one fact each; a thread where one is asked for."""
    request, *facts = lines_of(asked)
    sentences = [f"“{fact['quote']}” says {fact['title']} [{fact['source']}]." for fact in facts]
    size = 3 if request["form"] == "thread" else 1
    turned = [sentences[at:] + sentences[:at] for at in range(request["variants"])]
    variants = [{"tweets": one[:size]} for one in turned]
    return json.dumps({"language": "en", "variants": variants})


def agreeing(asked: Asked) -> str:
    """Every sentence is supported."""
    numbers = [one["i"] for one in lines_of(asked) if "i" in one]
    checks = [{"i": number, "verdict": "supported", "edit": ""} for number in numbers]
    return json.dumps({"checks": checks})


@dataclass
class Writer:
    """Answers by the step's name: from `says`, else as a well-behaved model would."""

    says: dict[str, Step] = field(default_factory=dict)
    asked: dict[str, list[Asked]] = field(default_factory=lambda: defaultdict(list))

    @property
    def calls(self) -> list[str]:
        """The steps that were asked, each as often as it was."""
        return [name for name in STEPS for _ in self.asked[name]]

    async def __call__(self, asked: Asked, request: web.Request) -> web.StreamResponse:
        name = schema_of(asked)
        self.asked[name].append(asked)
        usual = {
            "gaps": naming_gaps("coffee price 2024"),
            "evidence": judging(quoting),
            "draft": judging(citing),
            "check": judging(agreeing),
        }
        return await (self.says.get(name) or usual[name])(asked, request)


class JudgeAndWriter:
    """A model that writes, and leaves all other requests to `judge`."""

    def __init__(self, judge: Step) -> None:
        self.writer = Writer()
        self.waits: asyncio.Event | None = None  # before a draft
        self._judge = judge

    async def __call__(self, asked: Asked, request: web.Request) -> web.StreamResponse:
        if schema_of(asked) not in STEPS:
            return await self._judge(asked, request)
        if schema_of(asked) == "draft" and self.waits:
            await self.waits.wait()
        return await self.writer(asked, request)
