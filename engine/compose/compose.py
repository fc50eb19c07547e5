"""Writing tweets from evidence: fixed steps, each with a deadline, each told in the result.

retrieve -> gaps -> web -> merge -> evidence -> write -> guard -> check -> composition

Without evidence no writer is called. Any other step that fails is skipped, and the result says so.
"""

from datetime import datetime

from engine.compose.finish import finished, guarded
from engine.compose.gaps import no_web
from engine.compose.models import Models
from engine.compose.retrieve import nothing_found
from engine.compose.run import ComposeParts, ComposeRun
from engine.compose.types import ComposeRequest, Composition, Progress, StepName
from engine.errors import ModelError, UsageError
from engine.messages import Message


class Composer:
    """Writes tweets from evidence. Keeps nothing between runs, so runs may overlap."""

    def __init__(self, parts: ComposeParts) -> None:
        self._parts = parts

    async def compose(
        self, request: ComposeRequest, *, now: datetime, progress: Progress | None = None
    ) -> Composition:
        """Return tweets, or why there are none. `progress` receives each step as it begins.

        Raises UsageError for a request without words, ModelError if no model may be asked at all
        (none set up, private corpora, budget spent), and storage errors.
        """
        models = self._require(request)
        run = ComposeRun(self._parts, request, now, progress)
        async with models.reserved(self._asked(request), now=now) as steps:
            return await _composition(run.asking(steps), request)

    def _require(self, request: ComposeRequest) -> Models:
        models = self._parts.models
        if not request.prompt.strip():
            raise UsageError(
                Message("There is nothing to write about."),
                fix=Message("Say what the tweet is to be about."),
            )
        if models is None:
            raise ModelError(
                Message("No language model is set up, and without one nothing is written."),
                fix=Message(
                    "Ask a question instead: ask answers without a model, in words of the sources."
                ),
            )
        models.consent.require(request.corpora)
        return models

    def _asked(self, request: ComposeRequest) -> list[StepName]:
        """Return the steps that will ask a model, in order."""
        gaps = [] if no_web(request, self._parts.web) else [StepName.GAPS]
        check = [StepName.CHECK] if self._parts.settings.check else []
        return [*gaps, StepName.EVIDENCE, StepName.WRITE, *check]


async def _composition(run: ComposeRun, request: ComposeRequest) -> Composition:
    internal = await run.retrieve()
    web = await run.web(await run.gaps(internal.passages))
    passages = await run.merge(internal, web)
    if not passages:
        return run.journal.refused(nothing_found(request))
    evidence, why = await run.evidence(passages)
    if not evidence.facts:
        return run.journal.refused(why, passages)
    drafts, why = await run.write(evidence.facts, passages)
    if not drafts.variants:
        return run.journal.refused(why, passages, evidence.facts)
    async with run.journal.step(StepName.GUARD) as step:
        result = guarded(drafts.variants, passages)
        step.figures["faults"] = sum(bool(result.vetoes(one)) for one in result.findings)
    verdicts = await run.check(result, passages)
    done = finished(result, verdicts, passages, evidence.facts, threads=request.thread)
    return run.journal.composed(done, drafts.language, passages, evidence.facts)
