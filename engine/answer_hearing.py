"""What the model says to a request, asked once or twice."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from engine.answer_read import read_claims
from engine.answer_request import AnswerRequest
from engine.answer_types import Claim, ModelAnswer
from engine.errors import ModelError
from engine.llm_wire import ChatAnswer, add_usage
from engine.model_question import Question, ask
from engine.prompts import ANSWER_REPAIR, ANSWER_SCHEMA, ANSWER_SYSTEM, ANSWER_VERSION
from engine.types import Corpus, Usage

if TYPE_CHECKING:  # answers without a model need not pay for importing an HTTP client
    from engine.llm import ChatClient

logger = logging.getLogger("presagio.answer")

PURPOSE = "answer"


@dataclass(frozen=True, slots=True)
class Said:
    """What the model said, what it cost just now, and why it said nothing."""

    answer: ModelAnswer | None
    usage: Usage | None = None
    cached: bool = False
    notice: str | None = None


async def hear(
    client: "ChatClient", request: AnswerRequest, corpora: Sequence[Corpus], now: datetime
) -> "Hearing":
    """Ask, and ask once more when nothing usable came back. `corpora` were searched."""
    hearing = Hearing(request)
    question = Question(
        system=ANSWER_SYSTEM,
        repair=ANSWER_REPAIR,
        content=request.content,
        corpora=corpora,
        purpose=PURPOSE,
        schema=ANSWER_SCHEMA,
    )
    hearing.error = await ask(client, question, hearing.hear, now=now)
    return hearing


@dataclass(slots=True)
class Hearing:
    """What one or two answers to a request have given so far."""

    request: AnswerRequest
    answers: list[ChatAnswer] = field(default_factory=list)
    claims: tuple[Claim, ...] | None = None
    damage: Counter[str] = field(default_factory=Counter)
    error: ModelError | None = None

    def hear(self, answer: ChatAnswer) -> bool:
        """Read an answer; True when it is one, though it be that the passages do not say."""
        self.answers.append(answer)
        self.claims = read_claims(answer.content, self.request.given, self.damage)
        if not answer.finished:
            self.damage["unfinished"] += 1
            if not self.claims:  # cut off before the first claim: that is no silence
                self.claims = None
        if self.claims is None:
            self.damage["unreadable"] += 1
        if faults := dict(+self.damage):
            logger.warning("%s answered with damage: %s", answer.model, faults)
        return self.claims is not None

    @property
    def whole(self) -> bool:
        """True when another call would say no more."""
        return self.claims is not None and not self.damage["unfinished"]

    def said(self) -> Said:
        usage = add_usage(one.usage for one in self.answers) if self.answers else None
        if self.claims is None:
            return Said(None, usage=usage, notice=self._why_not())
        return Said(
            ModelAnswer(
                claims=self.claims,
                model=self.answers[-1].model,
                prompt_version=ANSWER_VERSION,
                damage=dict(+self.damage),
            ),
            usage=usage,
        )

    def _why_not(self) -> str:
        if self.error:
            return f"Not answered by the model: {self.error}"
        return "Not answered by the model: it answered nothing that can be read."
