"""Why a query was answered as it was, in plain words."""

from collections.abc import Callable, Iterator, Sequence

from bot.cut import cut
from bot.words import Words
from engine.contracts.receipts import HitReceipt, MatchedTerm, Receipt, StageCounts

_LONGEST_QUERY = 300
_INDENT = "   "


def find_receipt(
    receipt: Receipt,
    hits: Sequence[HitReceipt],
    words: Words,
    name: Callable[[str, Words], str],
) -> str:
    """Return how the answer was made and why each of `hits` is in it, as lines of text.

    `name` says what a part of a score is called.
    """
    lines = [words.say("Query: {query}", query=_query(receipt.canonical))]
    if receipt.expanded != receipt.canonical:
        lines.append(words.say("Looked for: {query}", query=_query(receipt.expanded)))
    if receipt.filters:
        filters = _query(" ".join(receipt.filters))
        lines.append(words.say("Filters: {filters}", filters=filters))
    lines.append(words.say("Plan: {plan}", plan=receipt.plan))
    lines.append(_counts(receipt.counts, receipt.corpus, words))
    for hit in hits:
        lines += ["", *_hit(hit, words, name)]
    return "\n".join(lines)


def _query(text: str) -> str:
    return cut(text, _LONGEST_QUERY) or "-"


def _counts(counts: StageCounts, corpus: str, words: Words) -> str:
    holding = counts.passing if counts.matching is None else counts.matching
    return words.say(
        "Of {all} texts in {corpus}, {matching} hold the words and {passing} of those meet the"
        " filters; {distinct} of the best {fetched} differ, {returned} are shown.",
        all=words.number(counts.corpus),
        corpus=corpus,
        matching=words.number(holding),
        passing=words.number(counts.passing),
        distinct=words.number(counts.distinct),
        fetched=words.number(counts.fetched),
        returned=words.number(counts.returned),
    )


def _hit(hit: HitReceipt, words: Words, name: Callable[[str, Words], str]) -> Iterator[str]:
    parts = ", ".join(
        f"{name(part, words)} {value:.2f}" for part, value in hit.parts.items() if value is not None
    )
    if hit.score is None:
        yield f"{hit.rank}."
    elif parts:
        yield words.say(
            "{rank}. score {score} from {parts}",
            rank=hit.rank,
            score=f"{hit.score:.2f}",
            parts=parts,
        )
    else:
        yield words.say("{rank}. score {score}", rank=hit.rank, score=f"{hit.score:.2f}")
    yield from (_INDENT + _match(match) for match in hit.matched)


def _match(match: MatchedTerm) -> str:
    named = match.term if match.alias_of is None else f"{match.alias_of} → {match.term}"
    return f"{named} ×{match.count} ({', '.join(match.fields)}): {match.score:.2f}"
