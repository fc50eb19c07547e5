"""Citation recall and precision as in ALCE (Gao et al. 2023), judged by a model.

Recall, here called support: the share of sentences that their cited passages support whole.
Precision: the share of citations that matter. A citation counts if its sentence is supported, and
either its passage supports the sentence alone or the others do not support it without this one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime

from engine.compose.asking import StepModel, ask_step
from engine.compose.check import PROMPT, Support, check_content, read_checks
from engine.compose.guard import makes_claim
from engine.compose.types import Composition, DraftSentence
from engine.evaluate.compositions import shown_sentences

_Verdicts = Mapping[DraftSentence, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """What a model found of sentences and citations; `failed` compositions were not judged."""

    sentences: int = 0
    supported: int = 0
    citations: int = 0
    precise: int = 0
    failed: int = 0

    def __add__(self, other: "Supported") -> "Supported":
        own = zip(self.__slots__, astuple(self), astuple(other), strict=True)
        return Supported(**{name: one + more for name, one, more in own})

    @property
    def share(self) -> float | None:
        """The share of sentences supported whole; None if nothing was judged."""
        return self.supported / self.sentences if self.sentences else None

    @property
    def precision(self) -> float | None:
        """The share of citations that count; None if nothing was judged."""
        return self.precise / self.citations if self.citations else None


async def supported(
    judge: StepModel, composition: Composition, *, length: int, now: datetime
) -> Supported:
    """Have a model judge the sentences shown, in one call, or two if one cites several passages.

    A sentence that it passes over counts as not supported. Raises what the ledger raises.
    """
    shown = shown_sentences(composition)
    asked = [one for one in shown if one.sources]
    uncited = sum(makes_claim(one.text) for one in shown if not one.sources)
    if not asked:
        return Supported(sentences=uncited)
    whole = await _judged(judge, composition, asked, length, now)
    if whole is None:
        return Supported(failed=1)
    apart: _Verdicts | None = {}
    if others := list(dict.fromkeys(_subsets(one for one in asked if whole.get(one)))):
        apart = await _judged(judge, composition, others, length, now)
    if apart is None:
        return Supported(failed=1)
    return Supported(
        sentences=len(asked) + uncited,
        supported=sum(whole.values()),
        citations=sum(len(one.sources) for one in asked),
        precise=sum(_precise(one, apart) for one in asked if whole.get(one)),
    )


def _subsets(sentences: Iterator[DraftSentence]) -> Iterator[DraftSentence]:
    """Yield each sentence with each of its sources alone, and with all but that one."""
    for one in sentences:
        if len(one.sources) > 1:
            for source in one.sources:
                yield replace(one, sources=(source,))
                yield _without(one, source)


def _without(sentence: DraftSentence, source: int) -> DraftSentence:
    return replace(sentence, sources=tuple(one for one in sentence.sources if one != source))


def _precise(sentence: DraftSentence, apart: _Verdicts) -> int:
    """Return how many citations of a supported sentence matter."""
    if len(sentence.sources) == 1:
        return 1
    return sum(
        apart.get(replace(sentence, sources=(source,)), False)
        or not apart.get(_without(sentence, source), True)
        for source in sentence.sources
    )


async def _judged(
    judge: StepModel,
    composition: Composition,
    sentences: Sequence[DraftSentence],
    length: int,
    now: datetime,
) -> _Verdicts | None:
    """Return whether the passages support each sentence whole, or None if the model did not say."""
    passages = [source.passage for source in composition.sources]
    told = await ask_step(
        judge,
        PROMPT,
        check_content(sentences, {}, passages, length=length),
        lambda text, damage: read_checks(text, damage, sentences, frozenset()),
        corpora=composition.request.corpora,
        now=now,
        purpose="support",
    )
    if told.value is None:
        return None
    return {sentences[at]: one.support is Support.SUPPORTED for at, one in told.value.items()}
