"""The request for an answer, and calling the model once or twice for it."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.answer.citations import without_brackets
from engine.answer.prompt import ANSWER
from engine.answer.read import read_claims
from engine.answer.types import Claim, ModelAnswer, Passage, Question
from engine.answer.wording import Wording
from engine.errors import ModelError
from engine.judge.request import one_line
from engine.llm.ask_and_repair import ModelQuestion, ask_and_repair
from engine.llm.wire import ChatAnswer, add_usage
from engine.messages import Message
from engine.types import Corpus, Usage

if TYPE_CHECKING:
    from engine.llm.client import ChatClient

QUESTION_LENGTH = 1000
EARLIER = 3  # questions of the thread
_CONTEXT_LENGTH = 200
_NAME_LENGTH = 60
_CUT = "…"


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """One question to the model, about the passages 1..`given`."""

    content: str
    given: int
    key: str  # cache key


def build_answer_request(
    question: Question, passages: Sequence[Passage], *, model: str, length: int
) -> AnswerRequest:
    """Build the request; `length` is the most characters shown of a passage."""
    wording = Wording.of(passages)
    lines = [
        _line(number, passage, wording, length) for number, passage in enumerate(passages, start=1)
    ]
    content = "\n".join([_question(question), *lines])
    key = sha256(json.dumps([ANSWER.version, model, content]).encode()).hexdigest()
    return AnswerRequest(content=content, given=len(passages), key=key)


def _question(question: Question) -> str:
    asked: dict[str, object] = {"question": one_line(question.text, QUESTION_LENGTH)}
    if question.earlier:
        earlier = question.earlier[-EARLIER:]
        asked["earlier"] = [one_line(text, QUESTION_LENGTH) for text in earlier]
    return _json(asked)


def _line(number: int, passage: Passage, wording: Wording, length: int) -> str:
    """Return the line of a passage. A "[1]" in its text becomes "(1)", as it is not a citation."""
    found = passage.hit.candidate
    shown: dict[str, object] = {
        "i": number,
        "date": found.created_at.astimezone(UTC).date().isoformat(),
    }
    if found.place:
        shown["title"] = without_brackets(one_line(found.place.title, _NAME_LENGTH))
    if found.author:
        shown["author"] = without_brackets(one_line(found.author, _NAME_LENGTH))
    if found.context:
        shown["reply_to"] = without_brackets(one_line(found.context, _CONTEXT_LENGTH))
    shown["text"] = shown_excerpt(found.text, wording, length)
    return _json(shown)


def shown_excerpt(text: str, wording: Wording, length: int) -> str:
    """Return the part of a text that the model is shown: around the words it was found by."""
    found = wording.window(text, length // 2)
    before, after = (_CUT if cut else "" for cut in (found.before, found.after))
    return before + without_brackets(one_line(found.text, length)) + after


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


logger = logging.getLogger("presagio.answer")

PURPOSE = "answer"


@dataclass(frozen=True, slots=True)
class Said:
    """The model's answer, the usage of this call, and the failure if there is no answer."""

    answer: ModelAnswer | None
    usage: Usage | None = None
    cached: bool = False
    notice: Message | None = None


async def hear(
    client: "ChatClient", request: AnswerRequest, corpora: Sequence[Corpus], now: datetime
) -> "Hearing":
    """Ask, and ask once more if the answer is unusable. `corpora` are those that were searched."""
    hearing = Hearing(request)
    question = ModelQuestion(
        prompt=ANSWER,
        content=request.content,
        corpora=corpora,
        purpose=PURPOSE,
    )
    hearing.error = await ask_and_repair(client, question, hearing.hear, now=now)
    return hearing


@dataclass(slots=True)
class Hearing:
    """The results so far from the one or two answers to a request."""

    request: AnswerRequest
    answers: list[ChatAnswer] = field(default_factory=list)
    claims: tuple[Claim, ...] | None = None
    damage: Counter[str] = field(default_factory=Counter)
    error: ModelError | None = None

    def hear(self, answer: ChatAnswer) -> bool:
        """Read an answer; return True if it is usable, even if it says there is no answer."""
        self.answers.append(answer)
        self.claims = read_claims(answer.content, self.request.given, self.damage)
        if not answer.finished:
            self.damage["unfinished"] += 1
            if not self.claims:  # cut off before the first claim: not the same as silence
                self.claims = None
        if self.claims is None:
            self.damage["unreadable"] += 1
        if faults := dict(+self.damage):
            logger.warning("%s answered with damage: %s", answer.model, faults)
        return self.claims is not None

    @property
    def whole(self) -> bool:
        """True if another call could not add anything."""
        return self.claims is not None and not self.damage["unfinished"]

    def said(self) -> Said:
        usage = add_usage(one.usage for one in self.answers) if self.answers else None
        if self.claims is None:
            return Said(None, usage=usage, notice=self._why_not())
        return Said(
            ModelAnswer(
                claims=self.claims,
                model=self.answers[-1].model,
                prompt_version=ANSWER.version,
                damage=dict(+self.damage),
            ),
            usage=usage,
        )

    def _why_not(self) -> Message:
        if self.error:
            return Message("Not answered by the model: {reason}", reason=self.error.said)
        return Message("Not answered by the model: it answered nothing that can be read.")
