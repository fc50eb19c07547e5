"""One question of a step to the model: asked within the step's deadline, and read tolerantly."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from engine.answer.cited_answer import without_brackets
from engine.compose.composition import SourcePassage
from engine.errors import ModelError
from engine.llm.asking import ChatModel, ModelQuestion, Prompt, ask_and_repair, compact_json
from engine.llm.wire import ChatAnswer
from engine.messages import Message
from engine.search import describe_date
from engine.text.snippet import one_line, visible_lines
from engine.values import Corpus, Usage, add_usage

logger = logging.getLogger("presagio.compose")

T = TypeVar("T")
Read = Callable[[str, Counter[str]], T | None]  # content and damage -> value, None if unusable

_LONGEST_ANSWER = 64_000  # characters
_NAME_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """The model of one step, and the seconds that it has for all its attempts."""

    model: ChatModel
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome(Generic[T]):
    """What the model answered. Without a value, `failure` says why."""

    value: T | None = None
    usage: Usage | None = None
    model: str | None = None
    failure: Message | None = None
    damage: Mapping[str, int] = field(default_factory=dict)


async def ask_step(
    step: StepModel,
    prompt: Prompt,
    content: str,
    read: Read[T],
    *,
    corpora: Sequence[Corpus],
    now: datetime,
    satisfied: Callable[[T], bool] = lambda _: True,
    purpose: str = "",
) -> StepOutcome[T]:
    """Ask for one step, once more if the answer is unusable or not `satisfied` by it.

    `purpose` is the name of the call in the ledger; "" names it after the step.
    Never raises ModelError; raises what the ledger raises.
    """
    attempt = _AnswerAttempt(read, satisfied)
    question = ModelQuestion(
        prompt=prompt,
        content=content,
        corpora=corpora,
        purpose=purpose or f"compose {prompt.schema['name']}",
    )
    try:
        async with asyncio.timeout(step.seconds):
            attempt.error = await ask_and_repair(step.model, question, attempt.parse, now=now)
    except TimeoutError:
        attempt.late = step.seconds
    return attempt.to_outcome()


@dataclass(slots=True)
class _AnswerAttempt(Generic[T]):
    """The results so far from the one or two answers."""

    read: Read[T]
    satisfied: Callable[[T], bool]
    answers: list[ChatAnswer] = field(default_factory=list)
    value: T | None = None
    damage: Counter[str] = field(default_factory=Counter)
    error: ModelError | None = None
    late: float = 0.0

    def parse(self, answer: ChatAnswer) -> bool:
        """Read an answer; keep the one before it if this one is unusable."""
        self.answers.append(answer)
        text = answer.content[:_LONGEST_ANSWER].rpartition("</think>")[2]
        value = self.read(text, self.damage)
        if not answer.finished:
            self.damage["unfinished"] += 1
        if value is None:
            self.damage["unreadable"] += 1
        else:
            self.value = value
        if faults := dict(+self.damage):
            logger.warning("%s answered with damage: %s", answer.model, faults)
        return value is not None and self.satisfied(value)

    def to_outcome(self) -> StepOutcome[T]:
        return StepOutcome(
            value=self.value,
            usage=add_usage(answer.usage for answer in self.answers),
            model=self.answers[-1].model if self.answers else None,
            failure=self._describe_failure() if self.value is None else None,
            damage=dict(+self.damage),
        )

    def _describe_failure(self) -> Message:
        if self.late:
            return Message("The model answered nothing within {seconds:g} s.", seconds=self.late)
        if self.error:
            return self.error.full_message
        return Message("The model answered nothing that can be read.")


def passage_line(number: int, passage: SourcePassage, length: int) -> str:
    """Return the line of a passage. A "[1]" in its text becomes "(1)", as it is not a citation."""
    line: dict[str, object] = {"passage": number, "from": passage.kind.value}
    line |= describe_date(passage.date, passage.dated_by)
    line["title"] = cut_plain_text(passage.title, _NAME_LENGTH)
    if passage.author:
        line["author"] = cut_plain_text(passage.author, _NAME_LENGTH)
    if passage.flags.passed_on:
        line["passed_on"] = passage.flags.passed_on
    line["text"] = without_brackets(visible_lines(passage.text, length))
    return compact_json(line)


def cut_plain_text(text: str, length: int) -> str:
    """Return text from elsewhere on one line, without anything that looks like a mark."""
    return without_brackets(one_line(text, length))


def as_list(value: object) -> list[object]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def read_integer(value: object) -> int | None:
    """Return a whole number given as a number or as text such as "[3]", or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        digits = "".join(character for character in value if character in "0123456789")
        return int(digits) if 0 < len(digits) <= 4 else None
    return value if isinstance(value, int) else None
