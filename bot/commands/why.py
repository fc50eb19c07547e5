"""/why: the receipt of the last answer."""

from collections.abc import Iterator, Sequence

from bot.commands.registry import Command, Request, Services
from bot.prophecy_reply import notice_of
from bot.reply import Reply
from engine.types import Hit, Prophecy, Usage, Verdict


async def _why(request: Request, services: Services) -> Reply:
    answer = await services.memory.get(request.conversation_id)
    if answer is None:
        return Reply(text="Send me a headline first.", ephemeral=True)
    shown = answer.prophecy.hits[: answer.last]
    if not request.text:
        return Reply(text=receipt(answer.prophecy, answer.page))
    chosen = [hit for hit in shown if str(hit.rank) == request.text]
    if not chosen:
        numbers = ", ".join(str(hit.rank) for hit in shown) or "no tweet"
        return Reply(text=f"I showed {numbers}. Ask /why or /why NUMBER.", ephemeral=True)
    return Reply(text=receipt(answer.prophecy, chosen))


def receipt(prophecy: Prophecy, hits: Sequence[Hit]) -> str:
    """Return how the prophecy was made and why each of `hits` is in it, as lines of text."""
    lines = [
        f"{len(prophecy.candidates)} candidates from {prophecy.corpus}; the best one covers"
        f" {prophecy.coverage:.0%} of what the headline's words weigh.",
        *_judge(prophecy.verdict),
    ]
    if notice := notice_of(prophecy):
        lines.append(notice)
    for hit in hits:
        lines += ["", *_hit(hit)]
    return "\n".join(lines)


def _judge(verdict: Verdict) -> Iterator[str]:
    if not verdict.scores:
        yield "No model judged them."
    else:
        prompt = f" with prompt {verdict.prompt_version}" if verdict.prompt_version else ""
        yield f"{len(verdict.scores)} were judged by {verdict.model or 'the model'}{prompt}."
    if verdict.cached:
        yield "The judgment was kept from an earlier time and cost nothing."
    elif verdict.usage:
        yield _usage(verdict.usage)
    if verdict.damage:
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(verdict.damage.items()))
        yield f"Faults in the model's answer: {faults}."


def _usage(usage: Usage) -> str:
    return (
        f"Tokens: {_count(usage.prompt_tokens)} in, {_count(usage.completion_tokens)} out;"
        f" cost: {'unknown' if usage.cost_usd is None else f'${usage.cost_usd:.4f}'}."
    )


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def _hit(hit: Hit) -> Iterator[str]:
    parts = [f"{name} {value:.2f}" for name, value in hit.parts.items() if value is not None]
    yield f"{hit.rank}. score {hit.score:.2f} from {', '.join(parts)}"
    if hit.parts.get("judgment") is None:
        yield "   not judged"
    if hit.factors:
        factors = ", ".join(f"{name} {value:.2f}" for name, value in hit.factors.items())
        yield f"   multiplied by: {factors}"
    yield f"   words in common: {', '.join(hit.matched) or 'none'}"


WHY = Command(
    name="why",
    summary="explain the last answer, or one tweet of it",
    usage="/why [NUMBER]",
    example="/why 2",
    handler=_why,
)
