"""The receipt of a prophecy: how it was made, and why it contains each hit, in figures."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from bot.i18n.words import Words, marked
from bot.replies.dates import say_age
from bot.replies.limits import cut
from bot.replies.prophecy import notice_of
from engine.contracts.results import HitReceipt, MatchedTerm, Receipt, StageCounts
from engine.query.query import Plan
from engine.search import HIGHEST_JUDGMENT, Expansion, Hit, Mode, Prophecy, Verdict
from engine.values import Usage

_LONGEST_LIST = 300
_INDENT = "   "
# What each judgment, 0 to 6, says.
_READ = (
    marked("The model read it as something else."),
    marked("The model read it as the same topic, no more."),
    marked("The model read it as distantly related."),
    marked("The model read it as related."),
    marked("The model read it as close to the event."),
    marked("The model read it as almost the same event."),
    marked("The model read it as the same event."),
)
_UNREAD = marked("No model read it; it was found by its words.")
# The names of the lists of candidates.
_LISTS = {"lexical": marked("by words"), "semantic": marked("by meaning")}
_LONGEST_EXPLAINED = 300
_PLANS = {
    Plan.RANKED: marked("Best first: rare words count more than frequent ones."),
    Plan.NEWEST: marked("Newest first, as no words were asked for."),
    Plan.NEAREST: marked("Nearest in meaning first."),
}
# The names of the parts and the multipliers of a score.
_NAMES = {
    "judgment": marked("judgment"),
    "lexical": marked("lexical"),
    "age": marked("age"),
    "semantic": marked("semantic"),
    "repost": marked("repost"),
    "quote": marked("quote"),
    "truncated": marked("cut"),
    "recency": marked("recency"),
    "role": marked("own words"),
    "thread": marked("thread"),
    "engagement": marked("engagement"),
    "hashtags": marked("hashtags"),
    "authority": marked("authority"),
    "short": marked("short"),
    "generic": marked("generic"),
}


def list_reasons(prophecy: Prophecy, hits: Sequence[Hit], now: datetime, words: Words) -> str:
    """Return in words why the prophecy contains each of `hits`, or no hits, without any scores."""
    until = prophecy.headline.date or now
    lines = [line for hit in hits for line in _describe_reasons(hit, until, words)]
    if lines:
        return "\n".join(lines)
    if prophecy.judged or prophecy.verdict.notice is None:
        return words.count(
            "{number} tweet shares words with the headline, but does not tell it.",
            "{number} tweets share words with the headline, but none tells it.",
            len(prophecy.candidates),
        )
    return words.count(
        "{number} tweet shares words with the headline, but too few; no model read it.",
        "{number} tweets share words with the headline, but too few; no model read them.",
        len(prophecy.candidates),
    )


def _describe_reasons(hit: Hit, until: datetime, words: Words) -> Iterator[str]:
    age = say_age(hit.candidate.created_at, until, words)
    judgment = hit.parts.get("judgment")
    read = words.say(_UNREAD if judgment is None else _READ[round(judgment * HIGHEST_JUDGMENT)])
    yield f"{hit.rank}. {age}: {read}" if age else f"{hit.rank}. {read}"
    if hit.why:
        yield _INDENT + words.say("Why: {reason}", reason=hit.why)
    if hit.candidate.asked_for:
        yield _INDENT + words.say("It says what one would expect of this author about such news.")
    if hit.matched:
        matched = cut(", ".join(hit.matched), _LONGEST_LIST)
        yield _INDENT + words.say("Words in common: {words}.", words=matched)
    else:
        yield _INDENT + words.say("It was found by its meaning.")


def render_receipt(prophecy: Prophecy, hits: Sequence[Hit], words: Words) -> str:
    """Return lines that explain how the prophecy was made and why it contains each of `hits`."""
    candidates = words.count(
        "{number} candidate from {corpus}; it covers {share} of what the headline's words weigh.",
        "{number} candidates from {corpus}; the best one covers {share} of what the"
        " headline's words weigh.",
        len(prophecy.candidates),
        corpus=prophecy.corpus,
        share=f"{prophecy.coverage:.0%}",
    )
    lines = [
        candidates,
        *_describe_meaning(prophecy, words),
        *_describe_expansion(prophecy.expansion, words),
        *_describe_verdict(prophecy.verdict, words),
    ]
    if notice := notice_of(prophecy, words):
        lines.append(notice)
    for hit in hits:
        lines += ["", *_describe_hit(hit, words, proposed=prophecy.mode is Mode.HYBRID)]
    return "\n".join(lines)


def _describe_meaning(prophecy: Prophecy, words: Words) -> Iterator[str]:
    """Yield a sentence on the part that meaning had in the search, if any."""
    if prophecy.mode is Mode.HYBRID:
        yield words.say(
            "Searched by words and by meaning, as {model} sees it.",
            model=prophecy.embedding_model or "-",
        )
    elif prophecy.mode is Mode.SEMANTIC:
        yield words.say(
            "Searched by meaning alone, as {model} sees it.", model=prophecy.embedding_model or "-"
        )
    elif prophecy.compared:
        yield words.say(
            "Searched by words; meaning, as {model} sees it, changed the order of the best"
            " {number}: too little of {corpus} has vectors to search by meaning.",
            number=words.number(prophecy.compared),
            model=prophecy.embedding_model or "-",
            corpus=prophecy.corpus,
        )
    elif prophecy.mode is Mode.RERANK:
        yield words.say(
            "Searched by words; meaning, as {model} sees it, changed the order.",
            model=prophecy.embedding_model or "-",
        )


def _describe_expansion(expansion: Expansion, words: Words) -> Iterator[str]:
    """Yield sentences on the phrases that a model suggested before the search."""
    if expansion.late:
        yield words.say(
            "The model had not named any phrases in time; what it names is kept for next time."
        )
    if not expansion.phrases:
        return
    yield words.count(
        "Also searched for {number} phrase that {model} says the account may have written.",
        "Also searched for {number} phrases that {model} says the account may have written.",
        len(expansion.phrases),
        model=expansion.model or "-",
    )
    if expansion.seconds is not None:
        yield words.say("It named them in {seconds} s.", seconds=f"{expansion.seconds:.1f}")
    if expansion.usage:
        yield _describe_usage(expansion.usage, words)


def _describe_verdict(verdict: Verdict, words: Words) -> Iterator[str]:
    if not verdict.scores:
        yield words.say("No model judged them.")
    else:
        yield words.count(
            "{number} was judged by {model} with prompt {version}.",
            "{number} were judged by {model} with prompt {version}.",
            len(verdict.scores),
            model=verdict.model or "-",
            version=verdict.prompt_version or "-",
        )
    if verdict.cached:
        yield words.say("The judgment was kept from an earlier time and cost nothing.")
    elif verdict.usage:
        yield _describe_usage(verdict.usage, words)
    if verdict.damage:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(verdict.damage.items()))
        yield words.say("Faults in the model's answer: {faults}.", faults=faults)


def _describe_usage(usage: Usage, words: Words) -> str:
    unknown = words.say("unknown")
    return words.say(
        "Tokens: {prompt} in, {completion} out; cost: {cost}.",
        prompt=unknown if usage.prompt_tokens is None else words.number(usage.prompt_tokens),
        completion=unknown
        if usage.completion_tokens is None
        else words.number(usage.completion_tokens),
        cost=unknown if usage.cost_usd is None else f"${usage.cost_usd:.4f}",
    )


def _describe_hit(hit: Hit, words: Words, *, proposed: bool) -> Iterator[str]:
    yield words.say(
        "{rank}. score {score} from {parts}",
        rank=hit.rank,
        score=f"{hit.score:.2f}",
        parts=named_figures(hit.parts, words),
    )
    if hit.parts.get("judgment") is None:
        yield _INDENT + words.say("not judged")
    if hit.why:
        yield _INDENT + words.say("the model says: {reason}", reason=hit.why)
    if proposed and hit.candidate.ranks:
        ranks = ", ".join(
            f"{words.say(_LISTS[name])} {rank}"
            for name, rank in hit.candidate.ranks.items()
            if name in _LISTS
        )
        yield _INDENT + words.say("place in each list: {ranks}", ranks=ranks)
    if hit.candidate.asked_for:
        first = sorted(hit.candidate.asked_for.items(), key=lambda place: place[1])
        phrases = ", ".join(f"'{phrase}'" for phrase, _ in first)
        yield _INDENT + words.say("asked for: {phrases}", phrases=cut(phrases, _LONGEST_LIST))
    if hit.factors:
        factors = named_figures(hit.factors, words)
        yield _INDENT + words.say("multiplied by: {factors}", factors=factors)
    matched = cut(", ".join(hit.matched), _LONGEST_LIST) or words.say("none")
    yield _INDENT + words.say("words in common: {words}", words=matched)


def named_figures(figures: Mapping[str, float | None], words: Words) -> str:
    """Return the parts or multipliers of a score as people read them: "age 0.10, short 0.80"."""
    return ", ".join(
        f"{words.say(_NAMES.get(name, name))} {value:.2f}"
        for name, value in figures.items()
        if value is not None
    )


def find_receipt(receipt: Receipt, hits: Sequence[HitReceipt], words: Words) -> str:
    """Return lines that explain how the answer was made and why it contains each of `hits`."""
    lines = _describe_query(receipt, words)
    if receipt.filters:
        filters = _format_query(" ".join(receipt.filters))
        lines.append(words.say("Filters: {filters}", filters=filters))
    lines.append(words.say("Plan: {plan}", plan=receipt.plan))
    lines.append(_describe_counts(receipt.counts, receipt.corpus, words))
    for hit in hits:
        lines += ["", *_hit_receipt(hit, words)]
    return "\n".join(lines)


def find_reasons(receipt: Receipt, hits: Sequence[HitReceipt], words: Words) -> str:
    """Return in words how the answer was made and why it contains each of `hits`."""
    lines = _describe_query(receipt, words)
    plan = next((reason for plan, reason in _PLANS.items() if plan == receipt.plan), None)
    if plan:
        lines.append(words.say(plan))
    lines.append(_describe_counts(receipt.counts, receipt.corpus, words))
    for hit in hits:
        matched = ", ".join(dict.fromkeys(_name_match(match) for match in hit.matched))
        lines.append(f"{hit.rank}. {matched}".strip())
    return "\n".join(lines)


def _describe_query(receipt: Receipt, words: Words) -> list[str]:
    lines = [words.say("Query: {query}", query=_format_query(receipt.canonical))]
    if receipt.expanded != receipt.canonical:
        lines.append(words.say("Looked for: {query}", query=_format_query(receipt.expanded)))
    return lines


def _format_query(text: str) -> str:
    return cut(text, _LONGEST_EXPLAINED) or "-"


def _describe_counts(counts: StageCounts, corpus: str, words: Words) -> str:
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
    for match in hit.matched:
        fields = ", ".join(match.fields)
        yield f"{_INDENT}{_name_match(match)} ×{match.count} ({fields}): {match.score:.2f}"


def _name_match(match: MatchedTerm) -> str:
    return match.term if match.alias_of is None else f"{match.alias_of} → {match.term}"
