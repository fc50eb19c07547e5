"""The check of an answer's claims: the guard and the checking call of compositions.

An answer cites texts as a tweet does, so that both are held to the same rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from engine.answer.ask_model import shown_excerpt
from engine.answer.types import CheckedClaims, Claim, Gathered, Objection
from engine.answer.wording import Wording
from engine.compose.asking import Told, ask_step
from engine.compose.check import PROMPT, SupportVerdict, check_content, read_checks
from engine.compose.finish import Guarded, guarded, settled
from engine.compose.models import Models
from engine.compose.retrieve import source_passage
from engine.compose.types import DraftSentence, SourcePassage, StepName
from engine.errors import ModelError
from engine.messages import Message
from engine.types import Corpus

_Verdicts = Mapping[DraftSentence, SupportVerdict]
PURPOSE = "answer check"


class ClaimChecker:
    """Checks the claims of answers; implements engine.answer.types.ClaimCheck.

    `model` is the name of the one that checks, `length` the most characters of a passage that it
    sees, which must be what the model that answered has seen.
    """

    def __init__(self, models: Models, *, model: str, length: int) -> None:
        self._models = models
        self._length = length
        self.version = f"{PROMPT.version} {model}"

    async def check(
        self, claims: Sequence[Claim], gathered: Gathered, *, now: datetime
    ) -> CheckedClaims:
        """Return the claims, corrected or with `supported` false where the check objects.

        Claims without a source are returned as they are. If no model can check them, only the
        guard's objections count, and `failure` says why. Raises only what the ledger raises.
        """
        passages = _shown(gathered, self._length)
        sentences = {one: _sentence(one) for one in claims if one.passages}
        result = guarded([(tuple(sentences.values()),)], passages)
        told = await self._asked(result, passages, gathered.corpora, now)
        verdicts = _verdicts(told, result)
        return CheckedClaims(
            claims=tuple(
                _judged(one, sentences[one], result, verdicts, passages) if one.passages else one
                for one in claims
            ),
            usage=told.usage,
            failure=Message("Not checked by a model: {reason}", reason=told.failure)
            if verdicts is None
            else None,
        )

    async def _asked(
        self,
        result: Guarded,
        passages: Sequence[SourcePassage],
        corpora: Sequence[Corpus],
        now: datetime,
    ) -> Told[Mapping[int, SupportVerdict]]:
        asked = result.to_check
        faults = {at: result.vetoes(one) for at, one in enumerate(asked)}
        given = frozenset(number for one in asked for number in one.sources)
        try:
            async with self._models.reserved([StepName.CHECK], now=now) as steps:
                return await ask_step(
                    steps[StepName.CHECK],
                    PROMPT,
                    check_content(asked, faults, passages, length=self._length),
                    lambda text, damage: read_checks(text, damage, asked, given),
                    corpora=corpora,
                    now=now,
                    purpose=PURPOSE,
                )
        except ModelError as exc:
            return Told(failure=exc.said)


def _sentence(claim: Claim) -> DraftSentence:
    return DraftSentence(text=claim.text, sources=claim.passages)


def _shown(gathered: Gathered, length: int) -> list[SourcePassage]:
    """Return the passages as the model that answered has seen them."""
    named = {corpus.name: corpus for corpus in gathered.corpora}
    wording = Wording.of(gathered.passages)
    shown = []
    for one in gathered.passages:
        found = one.hit.candidate
        text = shown_excerpt(found.text, wording, length)
        if found.context:
            text = f"(In reply to: “{found.context}”) {text}"
        shown.append(replace(source_passage(one, named.get(one.corpus)), text=text))
    return shown


def _verdicts(told: Told[Mapping[int, SupportVerdict]], result: Guarded) -> _Verdicts | None:
    if told.value is None:
        return None
    return {result.to_check[at]: verdict for at, verdict in told.value.items()}


def _judged(
    claim: Claim,
    sentence: DraftSentence,
    result: Guarded,
    verdicts: _Verdicts | None,
    passages: Sequence[SourcePassage],
) -> Claim:
    kept, why = settled(sentence, result, verdicts, passages)
    objection = Objection(text=claim.text, why=why) if why else None
    text = kept.text if kept else claim.text
    return replace(claim, text=text, supported=kept is not None, objection=objection)
