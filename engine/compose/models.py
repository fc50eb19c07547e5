"""The models of the steps, on one reserved budget, and the journal of what happened in a run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from engine.answer.ask_model import SHOWN_LENGTH, StepModel, StepOutcome, ask_step, shown_excerpt
from engine.answer.cited_answer import CheckedClaims, Claim, GatheredPassages, Objection, Wording
from engine.compose.composition import (
    ComposeRequest,
    Composition,
    DraftSentence,
    Fact,
    Progress,
    Removal,
    SourcePassage,
    Step,
    StepName,
    SupportVerdict,
)
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
    FinishedVariants,
    GuardedDrafts,
    check_content,
    guard_drafts,
    read_checks,
    settle_sentence,
)
from engine.compose.select import source_passage
from engine.compose.write import WRITE_PROMPT, WRITE_TOKENS, texts_of
from engine.errors import ModelError
from engine.llm.asking import Prompt
from engine.llm.endpoint import Consent
from engine.messages import Message, join_messages
from engine.settings.models import ComposeSettings
from engine.text.language import detect_language
from engine.values import Corpus, Usage

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
_CHARACTERS_A_TOKEN = 4
_INSTRUCTIONS = 600  # tokens of a system prompt
_Verdicts = Mapping[DraftSentence, SupportVerdict]
PURPOSE = "answer check"


@dataclass(slots=True)
class CurrentStep:
    """The step under way."""

    skipped: Message | None = None
    usage: Usage | None = None
    model: str | None = None
    figures: dict[str, int] = field(default_factory=dict)

    def take(self, outcome: StepOutcome[T]) -> None:
        """Keep what the model's answer cost, and its faults."""
        self.usage, self.model, self.skipped = outcome.usage, outcome.model, outcome.failure
        self.figures |= {f"damage: {name}": number for name, number in outcome.damage.items()}


class Journal:
    """The steps of one run so far, and what the composition says of them."""

    def __init__(
        self, request: ComposeRequest, clock: Callable[[], float], progress: Progress | None
    ) -> None:
        self._request = request
        self._clock = clock
        self._progress = progress
        self._steps: list[Step] = []
        self._notices: list[Message] = []
        self._removed: list[Removal] = []

    @property
    def last(self) -> Step:
        """The last step that ended."""
        return self._steps[-1]

    def notice(self, *messages: Message) -> None:
        """Add something that the user must be told."""
        self._notices += messages

    def remove(self, removed: Iterable[Removal]) -> None:
        """Record what was left out of the drafts."""
        self._removed += removed

    @asynccontextmanager
    async def step(self, name: StepName, *, runs: bool = True) -> AsyncIterator[CurrentStep]:
        """Time a step and note its outcome. A step that does not run is no progress to report."""
        if runs and self._progress:
            self._progress(name)
        current, started = CurrentStep(), self._clock()
        try:
            yield current
        finally:
            elapsed = (self._clock() - started) * 1000
            self._steps.append(
                Step(
                    name=name,
                    elapsed_ms=elapsed,
                    skipped=current.skipped,
                    usage=current.usage,
                    model=current.model,
                    figures=current.figures,
                )
            )

    def refuse(
        self, why: Message, passages: Sequence[SourcePassage] = (), facts: Sequence[Fact] = ()
    ) -> Composition:
        """Return a composition without tweets, which says why."""
        nothing = FinishedVariants(variants=(), sources=(), removed=())
        self._notices.insert(0, why)
        return self.conclude(nothing, None, passages, facts)

    def conclude(
        self,
        done: FinishedVariants,
        language: str | None,
        passages: Sequence[SourcePassage],
        facts: Sequence[Fact],
    ) -> Composition:
        """Return the outcome of the run."""
        self.remove(done.removed)
        if self._steps[-1].name is StepName.CHECK and not done.variants:
            notice = Message("Nothing is shown: no sentence of the model stood up to its sources.")
            self._notices.insert(0, notice)
        return Composition(
            request=self._request,
            variants=done.variants,
            sources=done.sources,
            removed=tuple(self._removed),
            steps=tuple(self._steps),
            facts=tuple(facts),
            passages=tuple(passages),
            language=language,
            notice=join_messages(*dict.fromkeys(self._notices)),
            prompt_version=PROMPT_VERSION,
        )


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
        shown = self._settings.passages * self._settings.passage_length
        characters = {
            StepName.GAPS: GAPS_PASSAGES * (GAPS_EXCERPT + 200),
            StepName.EVIDENCE: shown,
            StepName.WRITE: MAX_FACTS * 800,
            StepName.CHECK: shown,
        }
        return characters[name] // _CHARACTERS_A_TOKEN + _INSTRUCTIONS


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
        passages = _select_shown(gathered, self._length)
        sentences = {
            claim: DraftSentence(text=claim.text, sources=claim.passages)
            for claim in claims
            if claim.passages
        }
        language = detect_language(" ".join(claim.text for claim in claims))
        drafts = [(tuple(sentences.values()),)]
        result = await asyncio.to_thread(guard_drafts, drafts, passages, language=language)
        outcome = await self._ask_checker(result, passages, gathered.corpora, now)
        verdicts = _renumber_verdicts(outcome, result)
        return CheckedClaims(
            claims=await asyncio.to_thread(_judge_claims, claims, sentences, result, verdicts),
            usage=outcome.usage,
            failure=Message("Not checked by a model: {reason}", reason=outcome.failure)
            if verdicts is None
            else None,
        )

    async def _ask_checker(
        self,
        result: GuardedDrafts,
        passages: Sequence[SourcePassage],
        corpora: Sequence[Corpus],
        now: datetime,
    ) -> StepOutcome[Mapping[int, SupportVerdict]]:
        to_check = result.to_check
        faults = {at: result.vetoes(sentence) for at, sentence in enumerate(to_check)}
        given = texts_of(passages, (number for sentence in to_check for number in sentence.sources))
        try:
            async with self._models.reserve_steps([StepName.CHECK], now=now) as steps:
                return await ask_step(
                    steps[StepName.CHECK],
                    CHECK_PROMPT,
                    check_content(to_check, faults, passages, length=self._length),
                    lambda text, damage: read_checks(text, damage, to_check, given),
                    corpora=corpora,
                    now=now,
                    purpose=PURPOSE,
                )
        except ModelError as exc:
            return StepOutcome(failure=exc.full_message)


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


def _renumber_verdicts(
    outcome: StepOutcome[Mapping[int, SupportVerdict]], result: GuardedDrafts
) -> _Verdicts | None:
    if outcome.value is None:
        return None
    return {result.to_check[at]: verdict for at, verdict in outcome.value.items()}


def _judge_claims(
    claims: Sequence[Claim],
    sentences: Mapping[Claim, DraftSentence],
    result: GuardedDrafts,
    verdicts: _Verdicts | None,
) -> tuple[Claim, ...]:
    return tuple(
        _judge_claim(claim, sentences[claim], result, verdicts) if claim.passages else claim
        for claim in claims
    )


def _judge_claim(
    claim: Claim, sentence: DraftSentence, result: GuardedDrafts, verdicts: _Verdicts | None
) -> Claim:
    kept, why = settle_sentence(sentence, result, verdicts)
    objection = Objection(text=claim.text, why=why) if why else None
    text = kept.text if kept else claim.text
    sources = kept.sources if kept else claim.passages
    return replace(
        claim, text=text, passages=sources, supported=kept is not None, objection=objection
    )
