"""The receipt of a prophecy: how it was made, and why it contains each hit, in figures."""

from collections.abc import Iterator, Mapping, Sequence

from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.replies.prophecy import notice_of
from engine.search import Expansion, Hit, Mode, Prophecy, Verdict
from engine.types import Usage

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
# The names of the lists of candidates.
_LISTS = {"lexical": marked("by words"), "semantic": marked("by meaning")}
_LONGEST_LIST = 300
_INDENT = "   "


def receipt(prophecy: Prophecy, hits: Sequence[Hit], words: Words) -> str:
    """Return lines that explain how the prophecy was made and why it contains each of `hits`."""
    lines = [
        candidates_line(prophecy, words),
        *_searched(prophecy, words),
        *_expanded(prophecy.expansion, words),
        *_judge(prophecy.verdict, words),
    ]
    if notice := notice_of(prophecy, words):
        lines.append(notice)
    for hit in hits:
        lines += ["", *_hit(hit, words, proposed=prophecy.mode is Mode.HYBRID)]
    return "\n".join(lines)


def candidates_line(prophecy: Prophecy, words: Words) -> str:
    """Return how many candidates there were, and how much of the headline the best one covers."""
    return words.count(
        "{number} candidate from {corpus}; it covers {share} of what the headline's words weigh.",
        "{number} candidates from {corpus}; the best one covers {share} of what the"
        " headline's words weigh.",
        len(prophecy.candidates),
        corpus=prophecy.corpus,
        share=f"{prophecy.coverage:.0%}",
    )


def _searched(prophecy: Prophecy, words: Words) -> Iterator[str]:
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


def _expanded(expansion: Expansion, words: Words) -> Iterator[str]:
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
        yield _usage(expansion.usage, words)


def _judge(verdict: Verdict, words: Words) -> Iterator[str]:
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
        yield _usage(verdict.usage, words)
    if verdict.damage:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(verdict.damage.items()))
        yield words.say("Faults in the model's answer: {faults}.", faults=faults)


def _usage(usage: Usage, words: Words) -> str:
    unknown = words.say("unknown")
    return words.say(
        "Tokens: {prompt} in, {completion} out; cost: {cost}.",
        prompt=unknown if usage.prompt_tokens is None else words.number(usage.prompt_tokens),
        completion=unknown
        if usage.completion_tokens is None
        else words.number(usage.completion_tokens),
        cost=unknown if usage.cost_usd is None else f"${usage.cost_usd:.4f}",
    )


def _hit(hit: Hit, words: Words, *, proposed: bool) -> Iterator[str]:
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
