"""Answering a question from numbered passages, each claim with its sources.

passages -> request -> the model's claims, cached -> those that cite, renumbered -> answer
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.answer.ask_model import AnswerRequest, Said, build_answer_request, hear
from engine.answer.extract import extract
from engine.answer.types import (
    AnswerCache,
    AnswerOutcome,
    CitedAnswer,
    CitedSource,
    Claim,
    Gathered,
    Question,
    Sentence,
)
from engine.llm.single_flight import SingleFlight
from engine.messages import Message, join_messages
from engine.settings.searching import AnswerSettings
from engine.types import Corpus

if TYPE_CHECKING:  # answers without a model need not pay for importing an HTTP client
    from engine.llm.client import ChatClient


class Answerer:
    """Answers questions from passages, and never fails because of the model."""

    def __init__(
        self,
        settings: AnswerSettings | None = None,
        client: "ChatClient | None" = None,
        cache: AnswerCache | None = None,
    ) -> None:
        self._settings = settings or AnswerSettings()
        self._client = client
        self._cache = cache
        self._flights: SingleFlight[Said] = SingleFlight()

    async def answer(
        self, question: Question, gathered: Gathered, *, now: datetime, model: bool = True
    ) -> CitedAnswer:
        """Return the answer; no model is called if `model` is false or there are no passages.

        If the model fails, the answer is made of sentences from the passages, and the notice says
        why. Concurrent equal requests share one call. Raises only what cache and ledger raise.
        """
        if not gathered.passages:
            return _answer(question, gathered, AnswerOutcome.NOTHING)
        said = await self._said(question, gathered, now) if model else _unasked()
        if said.answer is None:
            return self._extracted(question, gathered, said)
        claims = said.answer.claims
        kept = [one for one in claims if one.passages or self._settings.uncited == "mark"]
        if claims and not kept:
            notice = Message("Not answered by the model: what it wrote cites no source.")
            return self._extracted(question, gathered, replace(said, notice=notice))
        outcome = AnswerOutcome.ANSWERED if kept else AnswerOutcome.SILENT
        return _answer(question, gathered, outcome, kept, said)

    def _extracted(self, question: Question, gathered: Gathered, said: Said) -> CitedAnswer:
        claims = extract(gathered.passages, most=self._settings.quotes)
        outcome = AnswerOutcome.EXTRACTED if claims else AnswerOutcome.NOTHING
        return _answer(question, gathered, outcome, claims, said)

    async def _said(self, question: Question, gathered: Gathered, now: datetime) -> Said:
        if self._client is None:
            return Said(
                None, notice=Message("Not answered by a model: no language model is set up.")
            )
        request = build_answer_request(
            question,
            gathered.passages,
            model=self._client.model,
            length=self._settings.passage_length,
        )
        client, corpora = self._client, gathered.corpora
        return await self._flights.run(
            request.key, lambda: self._asked(client, request, corpora, now)
        )

    async def _asked(
        self,
        client: "ChatClient",
        request: AnswerRequest,
        corpora: Sequence[Corpus],
        now: datetime,
    ) -> Said:
        stored = await self._cache.get(request.key) if self._cache else None
        if stored is not None:  # already paid for
            return Said(stored, cached=True)
        hearing = await hear(client, request, corpora, now)
        said = hearing.said()
        if said.answer and self._cache and hearing.whole:
            await self._cache.put(request.key, said.answer, now=now)
        return said


def _unasked() -> Said:
    return Said(None, notice=Message("Not answered by a model, as asked."))


def _answer(
    question: Question,
    gathered: Gathered,
    outcome: AnswerOutcome,
    claims: Sequence[Claim] = (),
    said: Said | None = None,
) -> CitedAnswer:
    """Assemble an answer: passages become sources, numbered in the order of their use."""
    numbers: dict[int, int] = {}
    for claim in claims:
        for passage in claim.passages:
            numbers.setdefault(passage, len(numbers) + 1)
    model = said.answer if said else None
    notices = (gathered.notice, said.notice if said else None)
    return CitedAnswer(
        question=question,
        outcome=outcome,
        corpora=tuple(corpus.name for corpus in gathered.corpora),
        sentences=tuple(
            Sentence(
                text=one.text,
                sources=tuple(sorted(numbers[passage] for passage in one.passages)),
                quoted=outcome is AnswerOutcome.EXTRACTED,
            )
            for one in claims
        ),
        sources=tuple(
            CitedSource(number=number, passage=gathered.passages[passage - 1])
            for passage, number in numbers.items()
        ),
        passages=len(gathered.passages),
        model=model.model if model else None,
        prompt_version=model.prompt_version if model else None,
        usage=said.usage if said else None,
        cached=said.cached if said else False,
        damage=model.damage if model else {},
        notice=join_messages(*notices),
        mode=gathered.mode,
        embedding_model=gathered.embedding_model,
    )
