"""/why: explains the last answer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.commands.registry import Command, Services, nothing_yet, too_old
from bot.commands.rights import LOOKS
from bot.face.reply import Action, Reply, aside
from bot.face.request import Request
from bot.i18n.words import Words, marked
from bot.replies.find import find_reasons, find_receipt
from bot.replies.limits import cut
from bot.replies.prophecy import notice_of
from bot.replies.reasons import reasons
from engine.chat import Answer
from engine.contracts.receipts import Receipt
from engine.types import Expansion, Hit, Mode, Prophecy, Usage, Verdict

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


async def _why(request: Request, services: Services) -> Reply:
    words = request.words
    answer = await services.answers.last(request.known_chat, request.place.thread)
    found = await services.answers.last_receipt(request.known_chat, request.place.thread)
    if found and (answer is None or found[1] > answer.asked_at):
        return _why_found(request, found[0])
    if answer is None:
        return nothing_yet(request)
    if posted := await services.answers.posted_with(answer):
        return _why_posted(request, posted)
    shown = answer.seen
    chosen = [hit for hit in shown if str(hit.rank) == request.text]
    if request.text and not chosen:
        return _shown(request, [hit.rank for hit in shown])
    text = _explained(answer.prophecy, chosen or answer.page, request)
    return Reply(words=words, text=text)


def _why_posted(request: Request, posted: Sequence[Answer]) -> Reply:
    """Explain a post, or the item of it with the number in the request."""
    numbered = {str(number): answer for number, answer in enumerate(posted, start=1)}
    if request.text and request.text not in numbered:
        return _shown(request, range(1, len(posted) + 1))
    chosen = [numbered[request.text]] if request.text else posted
    texts = [
        f"{one.prophecy.headline.text}\n{_explained(one.prophecy, one.page, request)}"
        for one in chosen
    ]
    return Reply(words=request.words, text="\n\n".join(texts))


def _explained(prophecy: Prophecy, hits: Sequence[Hit], request: Request) -> str:
    """Return the reasons in words, followed by the numbers if the chat wants full answers."""
    words = request.words
    said = reasons(prophecy, hits, request.now, words) or _candidates(prophecy, words)
    full = request.known_chat.full_answers
    return f"{said}\n\n{receipt(prophecy, hits, words)}" if full else said


def _why_found(request: Request, found: Receipt) -> Reply:
    """Explain the answer to a query."""
    words = request.words
    chosen = [hit for hit in found.hits if request.text in ("", str(hit.rank))]
    if request.text and not chosen:
        return _shown(request, [hit.rank for hit in found.hits])
    full = request.known_chat.full_answers
    explain = find_receipt if full else find_reasons
    return Reply(words=words, text=explain(found, chosen, words, _name))


def _shown(request: Request, ranks: Sequence[int]) -> Reply:
    numbers = ", ".join(map(str, ranks)) or "-"
    text = request.words.say("I showed {numbers}. Ask /why or /why NUMBER.", numbers=numbers)
    return aside(request, text)


async def _pressed(request: Request, action: Action, services: Services) -> Reply:
    answer = await services.answers.get(request.known_chat, action.answer_id or 0)
    if answer is None or not (page := answer.page_named(action.value)):
        return too_old(request)
    posted = await services.answers.posted_with(answer)
    if posted and page.page == page.page[:1]:
        if request.known_chat.full_answers:  # where each story has a button
            posted = [one for one in posted if one.id == answer.id]
        unnumbered = replace(request, text="")  # what it holds is the action
        return replace(_why_posted(unnumbered, posted), ephemeral=True)
    text = _explained(page.prophecy, page.page, request)
    return Reply(words=request.words, text=text, ephemeral=True)


def receipt(prophecy: Prophecy, hits: Sequence[Hit], words: Words) -> str:
    """Return lines that explain how the prophecy was made and why it contains each of `hits`."""
    lines = [
        _candidates(prophecy, words),
        *_searched(prophecy, words),
        *_expanded(prophecy.expansion, words),
        *_judge(prophecy.verdict, words),
    ]
    if notice := notice_of(prophecy, words):
        lines.append(notice)
    for hit in hits:
        lines += ["", *_hit(hit, words, proposed=prophecy.mode is Mode.HYBRID)]
    return "\n".join(lines)


def _candidates(prophecy: Prophecy, words: Words) -> str:
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
    parts = [
        f"{_name(name, words)} {value:.2f}"
        for name, value in hit.parts.items()
        if value is not None
    ]
    yield words.say(
        "{rank}. score {score} from {parts}",
        rank=hit.rank,
        score=f"{hit.score:.2f}",
        parts=", ".join(parts),
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
        factors = ", ".join(f"{_name(n, words)} {value:.2f}" for n, value in hit.factors.items())
        yield _INDENT + words.say("multiplied by: {factors}", factors=factors)
    matched = cut(", ".join(hit.matched), _LONGEST_LIST) or words.say("none")
    yield _INDENT + words.say("words in common: {words}", words=matched)


def _name(name: str, words: Words) -> str:
    return words.say(_NAMES.get(name, name))


WHY = Command(
    name="why",
    summary=marked("explain the last answer, or one tweet of it"),
    usage=marked("/why [NUMBER]"),
    example="/why 2",
    handler=_why,
    act=LOOKS,
    actions={"why": _pressed},
)
