"""A question answered from numbered passages, each claim with its sources.

passages -> request -> the model's claims, cached -> cleaned, renumbered -> answer
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from engine.answer_types import CitedAnswer, Gathered, Outcome, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """How answers are made.

    `uncited` says what becomes of a sentence of the model that names no source. Lengths are in
    characters of one passage, as the model sees it.
    """

    uncited: Literal["drop", "mark"] = "drop"
    passage_length: int = 1200
    quotes: int = 3  # sentences of an answer without a model


class Answerer:
    """Answers questions from passages."""

    def __init__(self, settings: AnswerSettings | None = None) -> None:
        self._settings = settings or AnswerSettings()

    async def answer(
        self, question: Question, gathered: Gathered, *, now: datetime, model: bool = True
    ) -> CitedAnswer:
        """Return the answer; with `model` false no model is asked. Never raises ModelError."""
        return CitedAnswer(question=question, outcome=Outcome.NOTHING, corpora=gathered.corpora)
