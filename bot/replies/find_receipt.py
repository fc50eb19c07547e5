"""The receipt of a query: how it was answered, and why each hit was found."""

from collections.abc import Iterator, Sequence

from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.replies.receipt import named_figures
from engine.contracts.receipts import HitReceipt, MatchedTerm, Receipt, StageCounts
from engine.query.plan import Plan

_LONGEST_EXPLAINED = 300
_INDENT = "   "


def find_receipt(receipt: Receipt, hits: Sequence[HitReceipt], words: Words) -> str:
    """Return lines that explain how the answer was made and why it contains each of `hits`."""
    lines = [words.say("Query: {query}", query=_query(receipt.canonical))]
    if receipt.expanded != receipt.canonical:
        lines.append(words.say("Looked for: {query}", query=_query(receipt.expanded)))
    if receipt.filters:
        filters = _query(" ".join(receipt.filters))
        lines.append(words.say("Filters: {filters}", filters=filters))
    lines.append(words.say("Plan: {plan}", plan=receipt.plan))
    lines.append(_counts(receipt.counts, receipt.corpus, words))
    for hit in hits:
        lines += ["", *_hit_receipt(hit, words)]
    return "\n".join(lines)


_PLANS = {
    Plan.RANKED: marked("Best first: rare words count more than frequent ones."),
    Plan.NEWEST: marked("Newest first, as no words were asked for."),
    Plan.NEAREST: marked("Nearest in meaning first."),
}


def find_reasons(receipt: Receipt, hits: Sequence[HitReceipt], words: Words) -> str:
    """Return in words how the answer was made and why it contains each of `hits`."""
    lines = [words.say("Query: {query}", query=_query(receipt.canonical))]
    if receipt.expanded != receipt.canonical:
        lines.append(words.say("Looked for: {query}", query=_query(receipt.expanded)))
    plan = next((said for plan, said in _PLANS.items() if plan == receipt.plan), None)
    if plan:
        lines.append(words.say(plan))
    lines.append(_counts(receipt.counts, receipt.corpus, words))
    for hit in hits:
        matched = ", ".join(dict.fromkeys(_named(match) for match in hit.matched))
        lines.append(f"{hit.rank}. {matched}".strip())
    return "\n".join(lines)


def _query(text: str) -> str:
    return cut(text, _LONGEST_EXPLAINED) or "-"


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


def _hit_receipt(hit: HitReceipt, words: Words) -> Iterator[str]:
    parts = named_figures(hit.parts, words)
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


def _named(match: MatchedTerm) -> str:
    return match.term if match.alias_of is None else f"{match.alias_of} → {match.term}"


def _match(match: MatchedTerm) -> str:
    return f"{_named(match)} ×{match.count} ({', '.join(match.fields)}): {match.score:.2f}"
