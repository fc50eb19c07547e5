"""What happened in a run: its steps in order, what it has to say, and what it left out."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from engine.compose.asking import Told
from engine.compose.check import CHECK_PROMPT
from engine.compose.composition import (
    ComposeRequest,
    Composition,
    Fact,
    Progress,
    Removed,
    SourcePassage,
    Step,
    StepName,
)
from engine.compose.evidence import EVIDENCE_PROMPT
from engine.compose.finish import Finished
from engine.compose.gaps import GAPS_PROMPT
from engine.compose.write import WRITE_PROMPT
from engine.llm.asking import Prompt
from engine.messages import Message, join_messages
from engine.values import Usage

T = TypeVar("T")

PROMPTS: Mapping[StepName, Prompt] = {
    StepName.GAPS: GAPS_PROMPT,
    StepName.EVIDENCE: EVIDENCE_PROMPT,
    StepName.WRITE: WRITE_PROMPT,
    StepName.CHECK: CHECK_PROMPT,
}
PROMPT_VERSION = "+".join(one.version for one in PROMPTS.values())


@dataclass(slots=True)
class CurrentStep:
    """The step under way."""

    skipped: Message | None = None
    usage: Usage | None = None
    model: str | None = None
    figures: dict[str, int] = field(default_factory=dict)

    def take(self, told: Told[T]) -> None:
        """Keep what the model's answer cost, and its faults."""
        self.usage, self.model, self.skipped = told.usage, told.model, told.failure
        self.figures |= {f"damage: {name}": number for name, number in told.damage.items()}


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
        self._removed: list[Removed] = []

    @property
    def last(self) -> Step:
        """The last step that ended."""
        return self._steps[-1]

    def notice(self, *said: Message) -> None:
        """Add something that the user must be told."""
        self._notices += said

    def remove(self, removed: Iterable[Removed]) -> None:
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
        nothing = Finished(variants=(), sources=(), removed=())
        self._notices.insert(0, why)
        return self.conclude(nothing, None, passages, facts)

    def conclude(
        self,
        done: Finished,
        language: str | None,
        passages: Sequence[SourcePassage],
        facts: Sequence[Fact],
    ) -> Composition:
        """Return the outcome of the run."""
        self.remove(done.removed)
        if self._steps[-1].name is StepName.CHECK and not done.variants:
            said = Message("Nothing is shown: no sentence of the model stood up to its sources.")
            self._notices.insert(0, said)
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
