"""The steps of one run, in which a step that fails is noted and the next one goes on without it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import TypeVar

from engine.compose.composition import (
    ComposeRequest,
    Composition,
    DraftSentence,
    Fact,
    Progress,
    Removal,
    RetrievedPassages,
    SourcePassage,
    Step,
    StepName,
    SupportVerdict,
)
from engine.compose.evidence import (
    NOT_ASKED,
    Evidence,
    evidence_content,
    gaps_content,
    no_web,
    read_evidence,
    read_gaps,
)
from engine.compose.finish import (
    FinishedVariants,
    GuardedDrafts,
    ask_check,
    finish_drafts,
    guard_drafts,
)
from engine.compose.models import PROMPT_VERSION, PROMPTS, WEB_SECONDS, Models, StepModels
from engine.compose.select import choose_evidence, extract_topic
from engine.compose.write import Drafts, draft_content, read_drafts, texts_of
from engine.errors import ModelError, StorageInterrupted, UsageError
from engine.llm.asking import Read, StepOutcome, ask_step
from engine.messages import Message, join_messages
from engine.ports import Reranker
from engine.settings.models import ComposeSettings
from engine.text.language import detect_language, language_code, names_language
from engine.values import Corpus, Usage
from engine.web.results import Web, WebFindings

Find = Callable[[ComposeRequest, datetime], Awaitable[RetrievedPassages]]
Rerankers = Callable[[Sequence[Corpus]], Reranker]
T = TypeVar("T")

_RETRIEVE_SECONDS = 10.0
_GRACE = 1.0  # seconds beyond the deadline that the web keeps itself
_UNCHECKED = Message("Not checked by a model, as set.")


@dataclass(slots=True)
class Composer:
    """Writes tweets from evidence. Keeps nothing between runs, so runs may overlap.

    `clock` returns monotonic seconds. `models`, `web` and `rerankers` are None where none is set
    up; `rerankers` returns the one that may read passages of some corpora.
    """

    find: Find
    models: Models | None
    _: KW_ONLY
    clock: Callable[[], float]
    web: Web | None = None
    rerankers: Rerankers | None = None
    settings: ComposeSettings = field(default_factory=ComposeSettings)

    async def compose(
        self, request: ComposeRequest, *, now: datetime, progress: Progress | None = None
    ) -> Composition:
        """Return tweets, or why there are none. `progress` receives each step as it begins.

        Raises UsageError for a request without words, ModelError if no model may be asked at all
        (none set up, private corpora, budget spent), and storage errors.
        """
        if not request.prompt.strip():
            raise UsageError(
                Message("There is nothing to write about."),
                fix=Message("Say what the tweet is to be about."),
            )
        if self.models is None:
            raise ModelError(
                Message("No language model is set up, and without one nothing is written."),
                fix=Message(
                    "Ask a question instead: ask answers without a model, in words of the sources."
                ),
            )
        self.models.consent.require(request.corpora)
        gaps = [] if no_web(request, self.web) else [StepName.GAPS]
        check = [StepName.CHECK] if self.settings.check else []
        steps = [*gaps, StepName.EVIDENCE, StepName.WRITE, *check]
        async with self.models.reserve_steps(steps, now=now) as models:
            return await ComposeRun(self, request, models, now, progress).run()


@dataclass(slots=True)
class CurrentStep:
    """The step under way."""

    skipped: Message | None = None
    usage: Usage | None = None
    model: str | None = None
    figures: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class ComposeRun:
    """One run: its steps so far, and what they left to say."""

    composer: Composer
    request: ComposeRequest
    models: StepModels
    now: datetime
    progress: Progress | None
    steps: list[Step] = field(default_factory=list)
    notices: list[Message] = field(default_factory=list)
    removed: list[Removal] = field(default_factory=list)

    async def run(self) -> Composition:
        """Return the outcome of all steps, or of those up to the first that leaves nothing."""
        internal = await self._retrieve()
        web = await self._ask_web(await self._find_gaps(internal.passages))
        passages = await self._merge(internal, web)
        if not passages:
            names = ", ".join(corpus.name for corpus in self.request.corpora)
            why = Message(
                "Nothing was written: nothing was found about this in {names}.", names=names
            )
            return self._refuse(why)
        evidence, why = await self._collect_evidence(passages)
        if not evidence.facts:
            return self._refuse(why, passages)
        drafts, why = await self._write(evidence.facts, passages)
        if not drafts.variants:
            return self._refuse(why, passages, evidence.facts)
        guarded = await self._guard(drafts, passages)
        verdicts = await self._check(guarded)
        done = await asyncio.to_thread(
            finish_drafts, guarded, verdicts, evidence.facts, threads=self.request.thread
        )
        language = drafts.written_in or drafts.language
        return self._conclude(done, language, passages, evidence.facts)

    async def _retrieve(self) -> RetrievedPassages:
        """Return what the corpora hold. Raises storage errors, StorageInterrupted if it is late."""
        async with self._step(StepName.RETRIEVE) as step:
            try:
                async with asyncio.timeout(_RETRIEVE_SECONDS):
                    retrieved = await self.composer.find(self.request, self.now)
            except TimeoutError as exc:
                raise StorageInterrupted(
                    Message(
                        "The archives gave nothing within {seconds:g} s.", seconds=_RETRIEVE_SECONDS
                    ),
                    fix=Message("Try again later."),
                    plain=Message("Searching took too long. Try again in a few minutes."),
                ) from exc
            step.figures["passages"] = len(retrieved.passages)
            shares = retrieved.vectors.items()
            step.figures |= {f"% of {name} with vectors": share for name, share in shares}
        if retrieved.notice:
            self.notices.append(retrieved.notice)
        return retrieved

    async def _find_gaps(self, internal: Sequence[SourcePassage]) -> tuple[str, ...]:
        """Return the queries for what the corpora lack."""
        unasked = no_web(self.request, self.composer.web)
        async with self._step(StepName.GAPS, runs=unasked is None) as step:
            if unasked:
                step.skipped = unasked
                if unasked is not NOT_ASKED:
                    self.notices.append(unasked)
                return ()
            maximum = self.composer.settings.queries
            outcome = await self._ask_model(
                step,
                StepName.GAPS,
                gaps_content(self.request, internal),
                lambda text, damage: read_gaps(text, damage, maximum=maximum),
            )
            if outcome.failure:
                notice = Message("The web was not asked: {reason}", reason=outcome.failure)
                self.notices.append(notice)
            step.figures["queries"] = len(outcome.value or ())
            return outcome.value or ()

    async def _ask_web(self, queries: Sequence[str]) -> WebFindings:
        """Return the pages that the web has for some queries; none if it fails."""
        web, seconds = self.composer.web, WEB_SECONDS
        async with self._step(StepName.WEB, runs=bool(queries)) as step:
            if web is None or not queries:
                step.skipped = self.steps[-1].skipped or Message("Nothing was missing.")
                return WebFindings()
            try:
                async with asyncio.timeout(seconds + _GRACE):
                    findings = await web.gather(queries, deadline=seconds, now=self.now)
            except TimeoutError:
                step.skipped = Message(
                    "The web gave nothing within {seconds:g} s.", seconds=seconds
                )
                self.notices.append(step.skipped)
                return WebFindings()
            step.usage = findings.usage
            step.figures |= {
                "searches": findings.searches,
                "fetched": findings.fetched,
                "cached": findings.cached,
                "pages": len(findings.pages),
            }
            self.notices += findings.notices
            if not findings.pages:
                step.skipped = join_messages(*findings.notices) or Message("The web had nothing.")
            return findings

    async def _merge(self, internal: RetrievedPassages, web: WebFindings) -> list[SourcePassage]:
        """Return the best passages of corpora and web."""
        async with self._step(StepName.MERGE) as step:
            rerankers = self.composer.rerankers
            chosen = await choose_evidence(
                extract_topic(self.request.prompt),
                internal,
                web.pages,
                settings=self.composer.settings,
                reranker=rerankers(self.request.corpora) if rerankers else None,
            )
            step.figures |= {"repeats": chosen.repeats, "passages": len(chosen.passages)}
            if chosen.notice:
                step.skipped = chosen.notice
                self.notices.append(chosen.notice)
            return chosen.passages

    async def _collect_evidence(
        self, passages: Sequence[SourcePassage]
    ) -> tuple[Evidence, Message]:
        """Return the facts that the passages state, and what to say if there are none."""
        length = self.composer.settings.passage_length
        async with self._step(StepName.EVIDENCE) as step:
            outcome = await self._ask_model(
                step,
                StepName.EVIDENCE,
                evidence_content(self.request, passages, length=length),
                lambda text, damage: read_evidence(text, damage, passages),
            )
            evidence = outcome.value or Evidence()
            step.figures |= {"facts": len(evidence.facts), "dropped": len(evidence.dropped)}
        self.removed += evidence.dropped
        if outcome.failure:
            return evidence, Message("Nothing was written: {reason}", reason=outcome.failure)
        return evidence, Message("Nothing was written: the sources hold no fact about this.")

    async def _write(
        self, facts: Sequence[Fact], passages: Sequence[SourcePassage]
    ) -> tuple[Drafts, Message]:
        """Return the drafts, and what to say if there are none."""
        given = texts_of(passages, (fact.passage for fact in facts))
        language, variants = _find_language(self.request), self.request.variants
        async with self._step(StepName.WRITE) as step:
            outcome = await self._ask_model(
                step,
                StepName.WRITE,
                draft_content(self.request, facts, passages, voice=self.composer.settings.voice),
                lambda text, damage: read_drafts(text, damage, given=given, variants=variants),
                satisfied=lambda drafts: drafts.fit and drafts.is_in(language),
            )
            drafts = outcome.value or Drafts(variants=())
            step.figures["variants"] = len(drafts.variants)
        if not drafts.is_in(language):
            self.notices.append(
                Message(
                    "Written in another language than asked for: {written} in place of {asked}.",
                    written=drafts.written_in,
                    asked=language,
                )
            )
        if outcome.failure:
            return drafts, Message("Nothing was written: {reason}", reason=outcome.failure)
        return drafts, Message("Nothing was written: the model wrote no tweet.")

    async def _guard(self, drafts: Drafts, passages: Sequence[SourcePassage]) -> GuardedDrafts:
        """Return the drafts with what code finds wrong with each sentence."""
        language = _find_language(self.request) or language_code(drafts.language or "")
        async with self._step(StepName.GUARD) as step:
            # In a thread: lists of prices take a second, and others wait for the event loop.
            guarded = await asyncio.to_thread(
                guard_drafts, drafts.variants, passages, language=language
            )
            step.figures["faults"] = sum(bool(guarded.vetoes(each)) for each in guarded.findings)
        return guarded

    async def _check(self, guarded: GuardedDrafts) -> Mapping[DraftSentence, SupportVerdict] | None:
        """Return the model's verdicts by sentence, or None if it gave none."""
        settings, sentences = self.composer.settings, guarded.to_check
        runs = settings.check and bool(sentences)
        async with self._step(StepName.CHECK, runs=runs) as step:
            if not sentences:
                step.skipped = Message("There is nothing to check.")
                return None
            if not settings.check:
                step.skipped = _UNCHECKED
                self.notices.append(_UNCHECKED)
                return None
            outcome = await ask_check(
                self.models[StepName.CHECK],
                guarded,
                length=settings.passage_length,
                corpora=self.request.corpora,
                now=self.now,
                purpose="compose check",
            )
            _note_outcome(step, outcome)
            step.figures["sentences"] = len(sentences)
            if outcome.failure:
                notice = Message("Not checked by a model: {reason}", reason=outcome.failure)
                self.notices.append(notice)
            return outcome.value

    async def _ask_model(
        self,
        step: CurrentStep,
        name: StepName,
        content: str,
        read: Read[T],
        satisfied: Callable[[T], bool] = lambda _: True,
    ) -> StepOutcome[T]:
        outcome = await ask_step(
            self.models[name],
            PROMPTS[name],
            content,
            read,
            corpora=self.request.corpora,
            now=self.now,
            purpose=f"compose {PROMPTS[name].schema['name']}",
            satisfied=satisfied,
        )
        _note_outcome(step, outcome)
        return outcome

    @asynccontextmanager
    async def _step(self, name: StepName, *, runs: bool = True) -> AsyncIterator[CurrentStep]:
        """Time a step and note its outcome. A step that does not run is no progress to report."""
        if runs and self.progress:
            self.progress(name)
        current, started = CurrentStep(), self.composer.clock()
        try:
            yield current
        finally:
            elapsed = (self.composer.clock() - started) * 1000
            self.steps.append(
                Step(
                    name=name,
                    elapsed_ms=elapsed,
                    skipped=current.skipped,
                    usage=current.usage,
                    model=current.model,
                    figures=current.figures,
                )
            )

    def _refuse(
        self, why: Message, passages: Sequence[SourcePassage] = (), facts: Sequence[Fact] = ()
    ) -> Composition:
        """Return a composition without tweets, which says why."""
        self.notices.insert(0, why)
        return self._conclude(FinishedVariants(), None, passages, facts)

    def _conclude(
        self,
        done: FinishedVariants,
        language: str | None,
        passages: Sequence[SourcePassage],
        facts: Sequence[Fact],
    ) -> Composition:
        """Return the outcome of the run."""
        if self.steps[-1].name is StepName.CHECK and not done.variants:
            notice = Message("Nothing is shown: no sentence of the model stood up to its sources.")
            self.notices.insert(0, notice)
        return Composition(
            request=self.request,
            variants=done.variants,
            sources=done.sources,
            removed=(*self.removed, *done.removed),
            steps=tuple(self.steps),
            facts=tuple(facts),
            passages=tuple(passages),
            language=language,
            notice=join_messages(*dict.fromkeys(self.notices)),
            prompt_version=PROMPT_VERSION,
        )


def _note_outcome(step: CurrentStep, outcome: StepOutcome[T]) -> None:
    """Keep what the model's answer cost, and its faults."""
    step.usage, step.model, step.skipped = outcome.usage, outcome.model, outcome.failure
    step.figures |= {f"damage: {name}": number for name, number in outcome.damage.items()}


def _find_language(request: ComposeRequest) -> str | None:
    """Return the language to write in, or None if it cannot be told."""
    if request.language:
        return language_code(request.language)
    return None if names_language(request.prompt) else detect_language(request.prompt)
