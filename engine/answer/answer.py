"""Answering a question from numbered passages, each claim with its sources.

passages -> request -> the model's claims, cached -> checked, if set -> those that cite, renumbered
-> answer
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.answer.cited_answer import (
    AnswerOutcome,
    CitedAnswer,
    CitedSource,
    Claim,
    ClaimCheck,
    GatheredPassages,
    ModelAnswer,
    Passage,
    Question,
    Sentence,
    Wording,
    without_brackets,
)
from engine.answer.claims import (
    ANSWER,
    SHOWN_LENGTH,
    AnswerRequest,
    build_answer_request,
    read_claims,
)
from engine.llm.asking import UNREADABLE, SingleFlight, StepModel, ask_step
from engine.messages import Message, join_messages
from engine.ports import Cache
from engine.settings.searching import AnswerSettings
from engine.text.chunks import split_sentences
from engine.text.snippet import one_line
from engine.values import Usage, add_usage

_QUOTES = 3  # sentences of an answer that no model has written

_LONGEST_PASSAGE = 6000  # characters of a passage: many short sentences take long to score
_LONGEST_QUOTE = 300
_FEWEST_LETTERS = 3
_WEAKEST = 0.25  # share of the best passage's score; passages below it only fill the list
_FRAGMENT = 0.5  # the weight of a heading or a fragment, relative to a whole sentence
_BULLET = re.compile(r"^[*•·▪‣–-]\s+")
_LINK = re.compile(r"(?:https?://|pic\.twitter\.com/)\S+")
_SHORT_LINK = re.compile(r"(?:https?://t\.co/|pic\.twitter\.com/)\S+")
_ENDS = tuple(".!?…\"'”’»)]")
_WHOLE = re.compile(r"(?![a-zà-öø-ÿ,;)]).*[.!?…][\"'”’»)\]]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str
    passage: int
    score: float
    worth: float  # how good it is compared with other sentences of its passage


def extract_claims(passages: Sequence[Passage], *, maximum: int) -> tuple[Claim, ...]:
    """Return the best sentences, one per passage, at most `maximum`, best first.

    A sentence scores by those of its words for which its text was found; ties keep the order of
    the passages. Of a passage, whole sentences go before headings and fragments. Passages
    far weaker than the best one are not quoted. The words are those of the source: a bullet before
    them, half a pair of quotation marks around them and the links after them, as posts have, are
    left out, what could be taken for a mark stands in parentheses, and a long sentence is cut, with
    a sign of it.
    """
    wording = Wording.of(passages)
    weakest = _WEAKEST * max((found.hit.score for found in passages), default=0.0)
    best = [
        max(quotes, key=lambda quote: quote.worth)  # the first of equal ones
        for number, passage in enumerate(passages, start=1)
        if passage.hit.score >= weakest
        if (quotes := list(_list_quotes(number, passage, wording)))
    ]
    best.sort(key=lambda quote: -round(quote.score, 9))
    distinct = {quote.text.casefold(): quote for quote in reversed(best)}
    claims = [quote for quote in best if distinct[quote.text.casefold()] is quote]
    return tuple(Claim(text=quote.text, passages=(quote.passage,)) for quote in claims[:maximum])


def _list_quotes(number: int, passage: Passage, wording: Wording) -> Iterator[_Quote]:
    for sentence in split_sentences(passage.hit.candidate.text[:_LONGEST_PASSAGE]):
        line = _BULLET.sub("", one_line(sentence, len(sentence)))
        line = _without_half_pair(_without_attachments(line))
        text = without_brackets(one_line(line, _LONGEST_QUOTE))
        unlinked = _LINK.sub(" ", text)
        if sum(map(str.isalnum, unlinked)) < _FEWEST_LETTERS:
            continue
        score = wording.score(unlinked) * (0.5 + passage.hit.score / 2)
        # Begins and ends as a sentence does.
        worth = score if _WHOLE.fullmatch(line) else score * _FRAGMENT
        cut = "…" if len(line) > _LONGEST_QUOTE else ""
        yield _Quote(text=text + cut, passage=number, score=score, worth=worth)


def _without_attachments(line: str) -> str:
    """Return a line without the links that follow its words, as posts have them."""
    words = line.split(" ")
    while len(words) > 1 and (
        _SHORT_LINK.fullmatch(words[-1])
        or (_LINK.fullmatch(words[-1]) and words[-2].endswith(_ENDS))
    ):
        words.pop()
    return " ".join(words)


def _without_half_pair(line: str) -> str:
    """Return a sentence without the quotation mark whose other half stands in another sentence."""
    opened, closed = (sum(map(line.count, marks)) for marks in ("“„«", "”»"))
    odd = line.count('"') % 2 == 1
    if (line.startswith(("“", "„", "«")) and opened > closed) or (odd and line.startswith('"')):
        return line[1:].lstrip()
    if (line.endswith(("”", "»")) and closed > opened) or (odd and line.endswith('"')):
        return line[:-1].rstrip()
    return line


if TYPE_CHECKING:  # answers without a model need not pay for importing an HTTP client
    from engine.llm.client import ChatClient


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """The model's answer, the usage of this call, and the failure if there is no answer."""

    answer: ModelAnswer | None
    usage: Usage | None = None
    cached: bool = False
    notice: Message | None = None


_UNASKED = ModelOutcome(None)


class Answerer:
    """Answers questions from passages, and never fails because of the model."""

    def __init__(
        self,
        settings: AnswerSettings | None = None,
        client: "ChatClient | None" = None,
        cache: Cache[ModelAnswer] | None = None,
        check: ClaimCheck | None = None,
        *,
        length: int = SHOWN_LENGTH,
    ) -> None:
        self._length = length
        self._settings = settings or AnswerSettings()
        self._client = client
        self._cache = cache
        self._check = check
        self._flights: SingleFlight[ModelOutcome] = SingleFlight()

    async def answer(
        self, question: Question, gathered: GatheredPassages, *, now: datetime, model: bool = True
    ) -> CitedAnswer:
        """Return the answer; no model is called if `model` is false or there are no passages.

        If the model fails, the answer is made of sentences from the passages, and the notice says
        why. Concurrent equal requests share one call. Raises only what cache and ledger raise.
        """
        if not gathered.passages:
            return _assemble_answer(question, gathered, AnswerOutcome.NOTHING)
        reply = ModelOutcome(None, notice=Message("Not answered by a model, as asked."))
        if model:
            reply = await self._answer_by_model(question, gathered, now)
        if reply.answer is None:
            return self._answer_by_extracts(question, gathered, reply)
        claims, settings = reply.answer.claims, self._settings
        allowed = [
            claim
            for claim in claims
            if (claim.passages or settings.uncited == "mark")
            and (claim.supported or settings.unsupported == "mark")
        ]
        if claims and not allowed:
            why = Message("Not answered by the model: what it wrote cites no source.")
            if any(not claim.supported for claim in claims):
                why = Message(
                    "Not answered by the model: its sources do not support what it wrote."
                )
            return self._answer_by_extracts(question, gathered, replace(reply, notice=why))
        doubts = _describe_doubts(claims, allowed)
        reply = replace(reply, notice=join_messages(reply.notice, doubts))
        outcome = AnswerOutcome.ANSWERED if allowed else AnswerOutcome.SILENT
        return _assemble_answer(question, gathered, outcome, allowed, reply)

    def _answer_by_extracts(
        self, question: Question, gathered: GatheredPassages, reply: ModelOutcome
    ) -> CitedAnswer:
        claims = extract_claims(gathered.passages, maximum=_QUOTES)
        outcome = AnswerOutcome.EXTRACTED if claims else AnswerOutcome.NOTHING
        return _assemble_answer(question, gathered, outcome, claims, reply)

    async def _answer_by_model(
        self, question: Question, gathered: GatheredPassages, now: datetime
    ) -> ModelOutcome:
        if self._client is None:
            return ModelOutcome(
                None, notice=Message("Not answered by a model: no language model is set up.")
            )
        request = build_answer_request(
            question, gathered.passages, model=self._client.model, length=self._length
        )
        client = self._client

        async def ask_once() -> ModelOutcome:
            reply = await self._ask_model(client, request, gathered, now)
            return await self._check_claims(reply, request, gathered, now)

        return await self._flights.run(request.key, ask_once)

    async def _ask_model(
        self,
        client: "ChatClient",
        request: AnswerRequest,
        gathered: GatheredPassages,
        now: datetime,
    ) -> ModelOutcome:
        stored = await self._cache.get(request.key) if self._cache else None
        if stored is not None:  # already paid for
            return ModelOutcome(stored, cached=True)
        outcome = await ask_step(
            StepModel(model=client),
            ANSWER,
            request.content,
            lambda text, damage: read_claims(text, request.texts, damage),
            corpora=gathered.corpora,
            now=now,
            purpose="answer",
        )
        if outcome.value is None:
            notice = Message("Not answered by the model: {reason}", reason=outcome.failure)
            if outcome.failure is UNREADABLE:
                notice = Message("Not answered by the model: it answered nothing that can be read.")
            return ModelOutcome(None, usage=outcome.usage, notice=notice)
        answer = ModelAnswer(
            claims=outcome.value,
            model=outcome.model,
            prompt_version=ANSWER.version,
            damage=outcome.damage,
        )
        if self._cache and "unfinished" not in outcome.damage:  # else another call could add to it
            await self._cache.put(request.key, answer, now=now)
        return ModelOutcome(answer, usage=outcome.usage)

    async def _check_claims(
        self, reply: ModelOutcome, request: AnswerRequest, gathered: GatheredPassages, now: datetime
    ) -> ModelOutcome:
        """Have the claims compared with what they cite, once for equal claims."""
        answer = reply.answer
        if self._check is None or answer is None or not any(c.passages for c in answer.claims):
            return reply
        cited = [(claim.text, claim.passages) for claim in answer.claims]
        key = sha256(repr((request.key, self._check.version, cited)).encode()).hexdigest()
        stored = await self._cache.get(key) if self._cache else None
        if stored is not None:
            return replace(reply, answer=replace(stored, checked=True))
        outcome = await self._check.check(answer.claims, gathered, now=now)
        checked = replace(answer, claims=outcome.claims, checked=outcome.failure is None)
        if self._cache and checked.checked:
            await self._cache.put(key, checked, now=now)
        return replace(
            reply,
            answer=checked,
            usage=add_usage([reply.usage, outcome.usage]),
            cached=reply.cached and outcome.usage is None,
            notice=outcome.failure,
        )


def _describe_doubts(claims: Sequence[Claim], kept: Sequence[Claim]) -> Message | None:
    """Return what to say of the claims that the check found unsupported."""
    doubted = sum(not claim.supported for claim in claims)
    if not doubted:
        return None
    if any(not claim.supported for claim in kept):
        return Message(
            "The check found that the sources do not support {doubted} of {written} sentences,"
            " marked [?].",
            doubted=doubted,
            written=len(claims),
        )
    return Message(
        "The check left out {doubted} of {written} sentences: their sources do not support them.",
        doubted=doubted,
        written=len(claims),
    )


def _assemble_answer(
    question: Question,
    gathered: GatheredPassages,
    outcome: AnswerOutcome,
    claims: Sequence[Claim] = (),
    reply: ModelOutcome = _UNASKED,
) -> CitedAnswer:
    """Assemble an answer: passages become sources, numbered in the order of their use."""
    numbers: dict[int, int] = {}
    for claim in claims:
        for passage in claim.passages:
            numbers.setdefault(passage, len(numbers) + 1)
    model = reply.answer
    return CitedAnswer(
        question=question,
        outcome=outcome,
        corpora=tuple(corpus.name for corpus in gathered.corpora),
        sentences=tuple(
            Sentence(
                text=checked.text,
                sources=tuple(sorted(numbers[passage] for passage in checked.passages)),
                quoted=outcome is AnswerOutcome.EXTRACTED,
                supported=checked.supported,
            )
            for checked in claims
        ),
        sources=tuple(
            CitedSource(number=number, passage=gathered.passages[passage - 1])
            for passage, number in numbers.items()
        ),
        passages=len(gathered.passages),
        model=model.model if model else None,
        prompt_version=model.prompt_version if model else None,
        usage=reply.usage,
        cached=reply.cached,
        checked=model.checked if model else False,
        objections=tuple(
            checked.objection for checked in (model.claims if model else ()) if checked.objection
        ),
        damage=model.damage if model else {},
        notice=join_messages(gathered.notice, reply.notice),
        mode=gathered.mode,
        embedding_model=gathered.embedding_model,
    )
