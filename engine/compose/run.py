"""The steps of one run, in which a step that fails is noted and the next one goes on without it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from engine.answer.ask_model import Read, StepOutcome, ask_step
from engine.compose.composition import (
    ComposeRequest,
    Composition,
    DraftSentence,
    Fact,
    Progress,
    RetrievedPassages,
    SourcePassage,
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
    GuardedDrafts,
    check_content,
    finish_drafts,
    guard_drafts,
    read_checks,
)
from engine.compose.models import PROMPTS, WEB_SECONDS, Journal, Models, StepModels
from engine.compose.select import Chooser, extract_topic, nothing_found
from engine.compose.write import Drafts, draft_content, read_drafts, texts_of
from engine.errors import ModelError, StorageInterrupted, UsageError
from engine.messages import Message, join_messages
from engine.ports import Reranker
from engine.settings.models import ComposeSettings
from engine.text.language import detect_language, language_code, names_language
from engine.values import Corpus
from engine.web.results import Web, WebFindings

Find = Callable[[ComposeRequest, datetime], Awaitable[RetrievedPassages]]
Rerankers = Callable[[Sequence[Corpus]], Reranker]
T = TypeVar("T")

_RETRIEVE_SECONDS = 10.0
_GRACE = 1.0  # seconds beyond the deadline that the web keeps itself
_UNCHECKED = Message("Not checked by a model, as set.")


class ComposeRun:
    """One run: its steps so far, and what they left to say."""

    def __init__(
        self,
        composer: "Composer",
        request: ComposeRequest,
        models: StepModels,
        *,
        now: datetime,
        progress: Progress | None,
    ) -> None:
        self.journal = Journal(request, composer.clock, progress)
        self._composer = composer
        self._settings = composer.settings
        self._request = request
        self._now = now
        self._models = models

    async def retrieve(self) -> RetrievedPassages:
        """Return what the corpora hold. Raises storage errors, StorageInterrupted if it is late."""
        async with self.journal.step(StepName.RETRIEVE) as step:
            try:
                async with asyncio.timeout(_RETRIEVE_SECONDS):
                    retrieved = await self._composer.find(self._request, self._now)
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
            self.journal.notice(retrieved.notice)
        return retrieved

    async def gaps(self, internal: Sequence[SourcePassage]) -> tuple[str, ...]:
        """Return the queries for what the corpora lack."""
        unasked = no_web(self._request, self._composer.web)
        async with self.journal.step(StepName.GAPS, runs=unasked is None) as step:
            if unasked:
                step.skipped = unasked
                if unasked is not NOT_ASKED:
                    self.journal.notice(unasked)
                return ()
            outcome = await self._ask_step(
                StepName.GAPS,
                gaps_content(self._request, internal),
                lambda text, damage: read_gaps(text, damage, maximum=self._settings.queries),
            )
            step.take(outcome)
            if outcome.failure:
                notice = Message("The web was not asked: {reason}", reason=outcome.failure)
                self.journal.notice(notice)
            step.figures["queries"] = len(outcome.value or ())
            return outcome.value or ()

    async def web(self, queries: Sequence[str]) -> WebFindings:
        """Return the pages that the web has for some queries; none if it fails."""
        web, seconds = self._composer.web, WEB_SECONDS
        async with self.journal.step(StepName.WEB, runs=bool(queries)) as step:
            if web is None or not queries:
                step.skipped = self.journal.last.skipped or Message("Nothing was missing.")
                return WebFindings()
            try:
                async with asyncio.timeout(seconds + _GRACE):
                    findings = await web.gather(queries, deadline=seconds, now=self._now)
            except TimeoutError:
                step.skipped = Message(
                    "The web gave nothing within {seconds:g} s.", seconds=seconds
                )
                self.journal.notice(step.skipped)
                return WebFindings()
            step.usage = findings.usage
            step.figures |= {
                "searches": findings.searches,
                "fetched": findings.fetched,
                "cached": findings.cached,
                "pages": len(findings.pages),
            }
            self.journal.notice(*findings.notices)
            if not findings.pages:
                step.skipped = join_messages(*findings.notices) or Message("The web had nothing.")
            return findings

    async def merge(self, internal: RetrievedPassages, web: WebFindings) -> list[SourcePassage]:
        """Return the best passages of corpora and web."""
        async with self.journal.step(StepName.MERGE) as step:
            rerankers = self._composer.rerankers
            reranker = rerankers(self._request.corpora) if rerankers else None
            chooser = Chooser(self._settings, reranker)
            passages = await chooser.choose(
                extract_topic(self._request.prompt), internal, web.pages
            )
            step.figures |= {"repeats": passages.repeats, "passages": len(passages.passages)}
            if passages.notice:
                step.skipped = passages.notice
                self.journal.notice(passages.notice)
            return passages.passages

    async def evidence(self, passages: Sequence[SourcePassage]) -> tuple[Evidence, Message]:
        """Return the facts that the passages state, and what to say if there are none."""
        async with self.journal.step(StepName.EVIDENCE) as step:
            outcome = await self._ask_step(
                StepName.EVIDENCE,
                evidence_content(self._request, passages, length=self._settings.passage_length),
                lambda text, damage: read_evidence(text, damage, passages),
            )
            step.take(outcome)
            evidence = outcome.value or Evidence()
            step.figures |= {"facts": len(evidence.facts), "dropped": len(evidence.dropped)}
        self.journal.remove(evidence.dropped)
        if outcome.failure:
            return evidence, Message("Nothing was written: {reason}", reason=outcome.failure)
        return evidence, Message("Nothing was written: the sources hold no fact about this.")

    async def write(
        self, facts: Sequence[Fact], passages: Sequence[SourcePassage]
    ) -> tuple[Drafts, Message]:
        """Return the drafts, and what to say if there are none."""
        given = texts_of(passages, (fact.passage for fact in facts))
        language = _find_language(self._request)
        async with self.journal.step(StepName.WRITE) as step:
            outcome = await self._ask_step(
                StepName.WRITE,
                draft_content(self._request, facts, passages, voice=self._settings.voice),
                lambda text, damage: read_drafts(
                    text, damage, given=given, variants=self._request.variants
                ),
                satisfied=lambda drafts: drafts.fit and drafts.is_in(language),
            )
            step.take(outcome)
            drafts = outcome.value or Drafts(variants=())
            step.figures["variants"] = len(drafts.variants)
        if not drafts.is_in(language):
            self.journal.notice(
                Message(
                    "Written in another language than asked for: {written} in place of {asked}.",
                    written=drafts.written_in,
                    asked=language,
                )
            )
        if outcome.failure:
            return drafts, Message("Nothing was written: {reason}", reason=outcome.failure)
        return drafts, Message("Nothing was written: the model wrote no tweet.")

    async def check(
        self, result: GuardedDrafts, passages: Sequence[SourcePassage]
    ) -> Mapping[DraftSentence, SupportVerdict] | None:
        """Return the model's verdicts by sentence, or None if it gave none."""
        to_check = result.to_check
        async with self.journal.step(
            StepName.CHECK, runs=self._settings.check and bool(to_check)
        ) as step:
            if not self._settings.check or not to_check:
                step.skipped = _UNCHECKED if to_check else Message("There is nothing to check.")
                if to_check:
                    self.journal.notice(_UNCHECKED)
                return None
            faults = {at: result.vetoes(sentence) for at, sentence in enumerate(to_check)}
            given = texts_of(
                passages, (number for sentence in to_check for number in sentence.sources)
            )
            outcome = await self._ask_step(
                StepName.CHECK,
                check_content(
                    to_check,
                    faults,
                    passages,
                    length=self._settings.passage_length,
                    leads=result.leads,
                ),
                lambda text, damage: read_checks(text, damage, to_check, given),
            )
            step.take(outcome)
            step.figures["sentences"] = len(to_check)
            if outcome.value is None:
                notice = Message("Not checked by a model: {reason}", reason=outcome.failure)
                self.journal.notice(notice)
                return None
            return {to_check[at]: verdict for at, verdict in outcome.value.items()}

    async def _ask_step(
        self,
        name: StepName,
        content: str,
        read: Read[T],
        satisfied: Callable[[T], bool] = lambda _: True,
    ) -> StepOutcome[T]:
        return await ask_step(
            self._models[name],
            PROMPTS[name],
            content,
            read,
            corpora=self._request.corpora,
            now=self._now,
            satisfied=satisfied,
        )


def _find_language(request: ComposeRequest) -> str | None:
    """Return the language to write in, or None if it cannot be told."""
    if request.language:
        return language_code(request.language)
    return None if names_language(request.prompt) else detect_language(request.prompt)


class Composer:
    """Writes tweets from evidence. Keeps nothing between runs, so runs may overlap.

    `clock` returns monotonic seconds. `models`, `web` and `rerankers` are None where none is set
    up; `rerankers` returns the one that may read passages of some corpora.
    """

    def __init__(
        self,
        find: Find,
        models: Models | None,
        *,
        clock: Callable[[], float],
        web: Web | None = None,
        rerankers: Rerankers | None = None,
        settings: ComposeSettings | None = None,
    ) -> None:
        self.find = find
        self.models = models
        self.clock = clock
        self.web = web
        self.rerankers = rerankers
        self.settings = settings or ComposeSettings()

    async def compose(
        self, request: ComposeRequest, *, now: datetime, progress: Progress | None = None
    ) -> Composition:
        """Return tweets, or why there are none. `progress` receives each step as it begins.

        Raises UsageError for a request without words, ModelError if no model may be asked at all
        (none set up, private corpora, budget spent), and storage errors.
        """
        models = self._require_models(request)
        async with models.reserve_steps(self._list_model_steps(request), now=now) as steps:
            run = ComposeRun(self, request, steps, now=now, progress=progress)
            return await _run_composition(run, request)

    def _require_models(self, request: ComposeRequest) -> Models:
        models = self.models
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

    def _list_model_steps(self, request: ComposeRequest) -> list[StepName]:
        """Return the steps that will ask a model, in order."""
        gaps = [] if no_web(request, self.web) else [StepName.GAPS]
        check = [StepName.CHECK] if self.settings.check else []
        return [*gaps, StepName.EVIDENCE, StepName.WRITE, *check]


async def _run_composition(run: ComposeRun, request: ComposeRequest) -> Composition:
    internal = await run.retrieve()
    web = await run.web(await run.gaps(internal.passages))
    passages = await run.merge(internal, web)
    if not passages:
        return run.journal.refuse(nothing_found(request))
    evidence, why = await run.evidence(passages)
    if not evidence.facts:
        return run.journal.refuse(why, passages)
    drafts, why = await run.write(evidence.facts, passages)
    if not drafts.variants:
        return run.journal.refuse(why, passages, evidence.facts)
    async with run.journal.step(StepName.GUARD) as step:
        language = _find_language(request) or language_code(drafts.language or "")
        # In a thread: lists of prices take a second, and others wait for the event loop.
        result = await asyncio.to_thread(guard_drafts, drafts.variants, passages, language=language)
        step.figures["faults"] = sum(bool(result.vetoes(finding)) for finding in result.findings)
    verdicts = await run.check(result, passages)
    done = await asyncio.to_thread(
        finish_drafts, result, verdicts, passages, evidence.facts, threads=request.thread
    )
    return run.journal.conclude(
        done, drafts.written_in or drafts.language, passages, evidence.facts
    )
