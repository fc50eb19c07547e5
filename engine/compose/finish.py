"""From drafts to what is shown: guarded, corrected or removed, cut to length and numbered. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.compose.check import Support, SupportVerdict
from engine.compose.composition import (
    ComposedSource,
    Draft,
    DraftSentence,
    Fact,
    Removed,
    SourcePassage,
    Tweet,
    Variant,
)
from engine.compose.guard import Finding, guard
from engine.compose.write import (
    LONGEST,
    fit_sentences,
    sources_tweet,
    tweet_length,
    tweet_text,
)
from engine.messages import Message

_UNCHECKED = Message("The check said nothing about it.")
_WHY: Mapping[Support, Message] = {
    Support.PARTLY: Message("Its sources support only a part of it."),
    Support.NOT: Message("Its sources do not support it."),
}


@dataclass(frozen=True, slots=True)
class Guarded:
    """The drafts with what the guard found in each distinct sentence."""

    drafts: tuple[Draft, ...]
    findings: Mapping[DraftSentence, tuple[Finding, ...]]

    @property
    def to_check(self) -> tuple[DraftSentence, ...]:
        """The sentences that a model can check: those that cite a source that exists."""
        return tuple(one for one in self.findings if one.sources)

    def vetoes(self, sentence: DraftSentence) -> list[Finding]:
        """Return the faults for which a sentence must not be shown."""
        return [one for one in self.findings[_bare(sentence)] if one.vetoes]


def guard_drafts(drafts: Sequence[Draft], passages: Sequence[SourcePassage]) -> Guarded:
    """Apply the guard to every sentence of the drafts."""
    distinct = dict.fromkeys(_bare(one) for draft in drafts for tweet in draft for one in tweet)
    return Guarded(tuple(drafts), {one: guard(one, passages) for one in distinct})


def _bare(sentence: DraftSentence) -> DraftSentence:
    return replace(sentence, starts_line=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The variants that may be shown, their sources, and what was removed."""

    variants: tuple[Variant, ...]
    sources: tuple[ComposedSource, ...]
    removed: tuple[Removed, ...]


@dataclass(slots=True)
class _Outcome:
    """What becomes of each distinct sentence; None = it is removed."""

    kept: dict[DraftSentence, DraftSentence | None] = field(default_factory=dict)
    removed: list[Removed] = field(default_factory=list)


def finish_drafts(
    result: Guarded,
    verdicts: Mapping[DraftSentence, SupportVerdict] | None,
    passages: Sequence[SourcePassage],
    facts: Sequence[Fact],
    *,
    threads: bool,
) -> Finished:
    """Return what may be shown. `verdicts` None: no model has checked the sentences.

    With `threads`, every variant is a thread and ends with its sources.
    """
    outcome = _Outcome()
    for sentence in result.findings:
        kept, why = settle_sentence(sentence, result, verdicts, passages)
        outcome.kept[sentence] = kept
        if why:
            outcome.removed.append(Removed(text=tweet_text([sentence]), why=why))
    drafts = [_kept(draft, outcome) for draft in result.drafts]
    shown = list(dict.fromkeys(draft for draft in drafts if _cites(draft)))
    numbers = _numbers(shown)
    return Finished(
        variants=tuple(
            _variant(draft, numbers, passages, checked=verdicts is not None, threads=threads)
            for draft in shown
        ),
        sources=tuple(
            ComposedSource(number=number, passage=passages[one - 1], quote=_quote(one, facts))
            for one, number in numbers.items()
        ),
        removed=tuple(outcome.removed),
    )


def settle_sentence(
    sentence: DraftSentence,
    result: Guarded,
    verdicts: Mapping[DraftSentence, SupportVerdict] | None,
    passages: Sequence[SourcePassage],
) -> tuple[DraftSentence | None, Message | None]:
    """Return the sentence as it is shown, or None; and why it was changed or removed.

    `verdicts` None: no model has checked the sentences.
    """
    faults = result.vetoes(sentence)
    if verdicts is None or not sentence.sources:
        return (None, faults[0].said) if faults else (sentence, None)
    verdict = verdicts.get(sentence)
    if verdict is None:
        return None, faults[0].said if faults else _UNCHECKED
    if verdict.support is Support.SUPPORTED:
        known = replace(sentence, unknown=())
        if not _find_vetoes(known, passages):
            return known, None
    why = faults[0].said if faults else _WHY.get(verdict.support, _UNCHECKED)
    if verdict.edit is None or (again := _find_vetoes(verdict.edit, passages)):
        return None, again[0].said if verdict.edit and not faults else why
    edited = verdict.edit.text
    return verdict.edit, Message("{why} It became: “{edited}”", why=why, edited=edited)


def _find_vetoes(sentence: DraftSentence, passages: Sequence[SourcePassage]) -> list[Finding]:
    return [one for one in guard(sentence, passages) if one.vetoes]


def _kept(draft: Draft, outcome: _Outcome) -> Draft:
    tweets = []
    for tweet in draft:
        kept = tuple(
            replace(one, starts_line=old.starts_line)
            for old in tweet
            if (one := outcome.kept[_bare(old)]) is not None
        )
        fit = fit_sentences(kept)
        cut = (tweet_text([one]) for one in kept[len(fit) :])
        why = Message("The tweet is longer than {most} characters.", most=LONGEST)
        outcome.removed += [Removed(text=text, why=why) for text in cut]
        if fit:
            tweets.append(fit)
    return tuple(tweets)


def _cites(draft: Draft) -> bool:
    return any(one.sources for tweet in draft for one in tweet)


def _numbers(drafts: Sequence[Draft]) -> dict[int, int]:
    """Return the numbers shown for passages, in the order of their use."""
    numbers: dict[int, int] = {}
    for draft in drafts:
        for sentence in (one for tweet in draft for one in tweet):
            for passage in sentence.sources:
                numbers.setdefault(passage, len(numbers) + 1)
    return numbers


def _variant(
    draft: Draft,
    numbers: Mapping[int, int],
    passages: Sequence[SourcePassage],
    *,
    checked: bool,
    threads: bool,
) -> Variant:
    texts = [tweet_text(tweet, numbers) for tweet in draft]
    tweets = [Tweet(text=text, length=tweet_length(text)) for text in texts]
    cited = {passage for tweet in draft for one in tweet for passage in one.sources}
    if threads or len(tweets) > 1:
        used = sorted(cited, key=lambda one: numbers[one])
        tweets.append(sources_tweet([(numbers[one], passages[one - 1]) for one in used]))
    sentences = [one for tweet in draft for one in tweet]
    return Variant(
        tweets=tuple(tweets),
        unsupported=0 if checked else sum(bool(one.sources) for one in sentences),
        checked=checked,
        warnings=tuple(
            dict.fromkeys(
                found.said
                for one in sentences
                for found in guard(one, passages)
                if not found.vetoes
            )
        ),
    )


def _quote(passage: int, facts: Sequence[Fact]) -> str:
    own = [fact for fact in facts if fact.passage == passage]
    return max(own, key=lambda fact: fact.confidence).quote if own else ""
