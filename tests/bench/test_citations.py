"""Citation recall and precision, with a judge whose verdicts are given."""

import json
from collections.abc import Mapping, Sequence

import pytest

from bench.compositions import SupportFigures, measure_support
from engine.compose.composition import (
    ComposedSource,
    ComposeRequest,
    Composition,
    SourceKind,
    SourcePassage,
    Tweet,
    Variant,
)
from engine.llm.asking import StepModel
from engine.llm.endpoint import Consent
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.values import Usage
from tests.engine.compose.bench import NOW
from tests.engine.passages import ME


class Judge:
    """A model that supports a sentence if its sources include one of the sets given for it."""

    model = "judge"
    consent = Consent(base_url="http://127.0.0.1", setting="", private_corpora=())

    def __init__(self, enough: Mapping[str, Sequence[set[int]]], *, silent: int = 0) -> None:
        self.enough = enough
        self.silent = silent  # from this call on it says nothing that can be read
        self.asked: list[list[tuple[str, tuple[int, ...]]]] = []

    async def complete(self, messages: Sequence[PromptMessage], **_: object) -> ChatAnswer:
        lines = [json.loads(line) for line in messages[-1].content.split("\n")]
        sentences = [(one["text"], tuple(one["sources"])) for one in lines if "i" in one]
        self.asked.append(sentences)
        if self.silent and len(self.asked) >= self.silent:
            return _answer("no")
        checks = [
            {"i": number, "verdict": "supported" if self._holds(*one) else "not", "edit": ""}
            for number, one in enumerate(sentences, start=1)
        ]
        return _answer(json.dumps({"checks": checks}))

    def _holds(self, text: str, sources: tuple[int, ...]) -> bool:
        return any(one <= set(sources) for one in self.enough.get(text, ()))


def _answer(content: str) -> ChatAnswer:
    return ChatAnswer(content=content, model="judge", usage=Usage(), finish_reason="stop")


def composed(text: str, sources: int = 3) -> Composition:
    return Composition(
        request=ComposeRequest(prompt="x", corpora=(ME,)),
        variants=(Variant(tweets=(Tweet(text=text, length=len(text)),)),),
        sources=tuple(
            ComposedSource(
                number=number,
                passage=SourcePassage(
                    key=str(number), kind=SourceKind.INTERNAL, text="Coffee.", title="@ana"
                ),
                quote="Coffee.",
            )
            for number in range(1, sources + 1)
        ),
    )


async def judged(judge: Judge, text: str) -> SupportFigures:
    step = StepModel(model=judge, seconds=5)
    return await measure_support(step, composed(text), length=100, now=NOW)


# The passages that are enough, and how many of the citations count.
ONE_SAYS_ALL = [{1}]
BOTH_ARE_NEEDED = [{1, 2}]
EITHER_SAYS_ALL = [{1}, {2}]


@pytest.mark.parametrize(
    ("text", "enough", "expected"),
    [
        ("It is dear [1].", ONE_SAYS_ALL, (1, 1, 1, 1)),
        ("It is dear [1].", [], (1, 0, 1, 0)),
        ("It is dear [1][2].", ONE_SAYS_ALL, (1, 1, 2, 1)),
        ("It is dear [1][2].", BOTH_ARE_NEEDED, (1, 1, 2, 2)),
        ("It is dear [1][2].", EITHER_SAYS_ALL, (1, 1, 2, 2)),
        ("It is dear [1][2].", [{3}], (1, 0, 2, 0)),
        ("It is dear [1][2][3].", BOTH_ARE_NEEDED, (1, 1, 3, 2)),
        ("It is dear [1][2][3].", ONE_SAYS_ALL, (1, 1, 3, 1)),
    ],
)
async def test_a_citation_is_precise_if_it_suffices_or_is_needed(
    text: str, enough: Sequence[set[int]], expected: tuple[int, int, int, int]
) -> None:
    got = await judged(Judge({"It is dear.": enough}), text)
    assert (got.sentences, got.supported, got.citations, got.precise) == expected


@pytest.mark.parametrize("silent", [1, 2])
async def test_a_judge_that_fails_judges_nothing(silent: int) -> None:
    got = await judged(Judge({"It is dear.": [{1}]}, silent=silent), "It is dear [1][2].")
    assert got == SupportFigures(failed=1)
    assert (got.share, got.precision) == (None, None)
