"""The models of the steps, on one reserved budget, and the check of an answer's claims by them."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from engine.answer.cited_answer import CheckedClaims, Claim, GatheredPassages, Objection, Wording
from engine.answer.claims import SHOWN_LENGTH, shown_excerpt
from engine.budget import CHARACTERS_PER_TOKEN
from engine.compose.composition import DraftSentence, SourcePassage, StepName
from engine.compose.evidence import (
    EVIDENCE_PROMPT,
    EVIDENCE_TOKENS,
    GAPS_EXCERPT,
    GAPS_PASSAGES,
    GAPS_PROMPT,
    GAPS_TOKENS,
    MAX_FACTS,
)
from engine.compose.finish import (
    CHECK_PROMPT,
    CHECK_TOKENS,
    GuardedDrafts,
    Verdicts,
    ask_check,
    guard_drafts,
    settle_sentence,
)
from engine.compose.select import source_passage
from engine.compose.write import WRITE_PROMPT, WRITE_TOKENS
from engine.errors import ModelError
from engine.llm.asking import Prompt, StepModel, StepOutcome
from engine.llm.endpoint import Consent
from engine.messages import Message
from engine.settings.models import ComposeSettings
from engine.text.language import detect_language

T = TypeVar("T")

PROMPTS: Mapping[StepName, Prompt] = {
    StepName.GAPS: GAPS_PROMPT,
    StepName.EVIDENCE: EVIDENCE_PROMPT,
    StepName.WRITE: WRITE_PROMPT,
    StepName.CHECK: CHECK_PROMPT,
}
PROMPT_VERSION = "+".join(prompt.version for prompt in PROMPTS.values())
StepModels = Mapping[StepName, StepModel]
# How long each model may take. Without queries nothing is looked for, without facts nothing is
# written, and without a check the tweets are shown as not checked.
STEP_SECONDS = {
    StepName.GAPS: 10.0,
    StepName.EVIDENCE: 30.0,
    StepName.WRITE: 30.0,
    StepName.CHECK: 20.0,
}
WEB_SECONDS = 8.0  # for searching and reading pages
_LONGEST_ANSWERS = {  # tokens
    StepName.GAPS: GAPS_TOKENS,
    StepName.EVIDENCE: EVIDENCE_TOKENS,
    StepName.WRITE: WRITE_TOKENS,
    StepName.CHECK: CHECK_TOKENS,
}
_INSTRUCTIONS = 600  # tokens of a system prompt


if TYPE_CHECKING:  # a replayed run needs no HTTP client
    from engine.llm.client import ChatClient


class Models(Protocol):
    """The models that a run may ask."""

    @property
    def consent(self) -> Consent:
        """Which private corpora they may read."""

    def reserve_steps(
        self, steps: Sequence[StepName], *, now: datetime
    ) -> AbstractAsyncContextManager[StepModels]:
        """Return the models for `steps`, in the order of their calls, within a budget for all.

        Entering raises BudgetExhausted.
        """


class ClientModels:
    """The models of the settings, at the endpoint of one client."""

    def __init__(self, client: "ChatClient", settings: ComposeSettings) -> None:
        self._client = client
        self._settings = settings
        models = {
            StepName.GAPS: settings.evidence_model,
            StepName.EVIDENCE: settings.evidence_model,
            StepName.WRITE: settings.write_model,
            StepName.CHECK: settings.check_model,
        }
        self._clients = {
            name: client.with_limits(
                STEP_SECONDS[name], longest_answer=_LONGEST_ANSWERS[name], model=model
            )
            for name, model in models.items()
        }

    @property
    def consent(self) -> Consent:
        """Which private corpora they may read."""
        return self._client.consent

    @asynccontextmanager
    async def reserve_steps(
        self, steps: Sequence[StepName], *, now: datetime
    ) -> AsyncIterator[StepModels]:
        """Reserve the budget for these steps, and return their models."""
        seconds = sum(STEP_SECONDS[name] for name in steps) + WEB_SECONDS
        tokens = [self._estimate_tokens(name) + _LONGEST_ANSWERS[name] for name in steps]
        async with self._client.reserve(tokens, seconds, now=now) as reservation:
            yield {
                name: StepModel(
                    model=self._clients[name].within(reservation), seconds=STEP_SECONDS[name]
                )
                for name in steps
            }

    def _estimate_tokens(self, name: StepName) -> int:
        """Return about how many tokens the request of a step has at most."""
        evidence = self._settings.passages * self._settings.passage_length
        characters = {
            StepName.GAPS: GAPS_PASSAGES * (GAPS_EXCERPT + 200),
            StepName.EVIDENCE: evidence,
            StepName.WRITE: MAX_FACTS * 800,
            StepName.CHECK: evidence,
        }
        return characters[name] // CHARACTERS_PER_TOKEN + _INSTRUCTIONS


class ClaimChecker:
    """Checks the claims of answers; implements engine.answer.cited_answer.ClaimCheck.

    `model` is the name of the one that checks, `length` the most characters of a passage that it
    sees, which must be what the model that answered has seen.
    """

    def __init__(self, models: Models, *, model: str, length: int = SHOWN_LENGTH) -> None:
        self._models = models
        self._length = length
        self.version = f"{CHECK_PROMPT.version} {model}"

    async def check(
        self, claims: Sequence[Claim], gathered: GatheredPassages, *, now: datetime
    ) -> CheckedClaims:
        """Return the claims, corrected or with `supported` false where the check objects.

        Claims without a source are returned as they are. If no model can check them, only the
        guard's objections count, and `failure` says why. Raises only what the ledger raises.
        """
        sentences = {
            claim: DraftSentence(text=claim.text, sources=claim.passages)
            for claim in claims
            if claim.passages
        }
        result = await asyncio.to_thread(
            guard_drafts,
            [(tuple(sentences.values()),)],
            _select_shown(gathered, self._length),
            language=detect_language(" ".join(claim.text for claim in claims)),
        )
        try:
            async with self._models.reserve_steps([StepName.CHECK], now=now) as steps:
                outcome = await ask_check(
                    steps[StepName.CHECK],
                    result,
                    length=self._length,
                    corpora=gathered.corpora,
                    now=now,
                    purpose="answer check",
                )
        except ModelError as exc:
            outcome = StepOutcome(failure=exc.full_message)
        failure = outcome.failure
        return CheckedClaims(
            claims=await asyncio.to_thread(_judge_claims, claims, sentences, result, outcome.value),
            usage=outcome.usage,
            failure=failure and Message("Not checked by a model: {reason}", reason=failure),
        )


def _select_shown(gathered: GatheredPassages, length: int) -> list[SourcePassage]:
    """Return the passages as the model that answered has seen them."""
    named = {corpus.name: corpus for corpus in gathered.corpora}
    wording = Wording.of(gathered.passages)
    selected = []
    for passage in gathered.passages:
        candidate = passage.hit.candidate
        text = shown_excerpt(candidate.text, wording, length)
        if candidate.context:
            text = f"(In reply to: “{candidate.context}”) {text}"
        selected.append(replace(source_passage(passage, named.get(passage.corpus)), text=text))
    return selected


def _judge_claims(
    claims: Sequence[Claim],
    sentences: Mapping[Claim, DraftSentence],
    result: GuardedDrafts,
    verdicts: Verdicts | None,
) -> tuple[Claim, ...]:
    judged = []
    for claim in claims:
        if claim not in sentences:
            judged.append(claim)
            continue
        kept, why = settle_sentence(sentences[claim], result, verdicts)
        judged.append(
            replace(
                claim,
                text=kept.text if kept else claim.text,
                passages=kept.sources if kept else claim.passages,
                supported=kept is not None,
                objection=Objection(text=claim.text, why=why) if why else None,
            )
        )
    return tuple(judged)
