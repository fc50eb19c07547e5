"""A composition as a reply, and as `presagio compose --json` prints it."""

from collections.abc import Iterator
from datetime import UTC

from bot.face.reply import Reply
from bot.i18n.words import Words, marked
from engine.compose.tweets import cited_as
from engine.compose.types import (
    ComposedSource,
    Composition,
    SourceKind,
    Step,
    StepName,
    Variant,
)
from engine.types import Usage

_INDENT = "   "
STEPS = {
    StepName.RETRIEVE: marked("Looking into the corpora…"),
    StepName.GAPS: marked("Asking what is missing…"),
    StepName.WEB: marked("Asking the web for that…"),
    StepName.MERGE: marked("Choosing the passages…"),
    StepName.EVIDENCE: marked("Collecting the evidence…"),
    StepName.WRITE: marked("Writing…"),
    StepName.GUARD: marked("Comparing numbers, dates and quotations…"),
    StepName.CHECK: marked("Checking each sentence…"),
}


def composition_reply(composition: Composition, words: Words, *, explain: bool = False) -> Reply:
    """Return the variants with their sources and what was removed; `explain` adds the steps."""
    lines: list[str] = []
    if composition.notice:
        lines += [words.render(composition.notice), ""]
    for number, variant in enumerate(composition.variants, start=1):
        lines += [*variant_lines(variant, number, len(composition.variants), words), ""]
    for source in composition.sources:
        lines += source_lines(source, words)
    if composition.removed:
        lines += ["", words.say("Left out or changed:"), *removed_lines(composition, words)]
    if explain:
        lines += ["", *step_lines(composition, words)]
    return Reply(words=words, text="\n".join(lines).strip())


def variant_lines(variant: Variant, number: int, of: int, words: Words) -> Iterator[str]:
    """Yield a variant: a heading if there are several, each tweet with its length, warnings."""
    if of > 1:
        yield words.say("Variant {number} of {all}", number=number, all=of)
    for tweet in variant.tweets:
        yield tweet.text
        yield words.say("({length} of 280 characters)", length=tweet.length)
    if variant.unsupported:
        yield words.count(
            "{number} sentence was not checked by a model.",
            "{number} sentences were not checked by a model.",
            variant.unsupported,
        )
    for warning in variant.warnings:
        yield words.render(warning)


def source_lines(source: ComposedSource, words: Words) -> Iterator[str]:
    """Yield a source: its number, title and date, what it says, and its address."""
    yield f"[{source.number}] {source_title(source, words)}"
    if source.quote:
        yield f"{_INDENT}“{source.quote}”"
    if source.passage.url:
        yield _INDENT + source.passage.url


def source_title(source: ComposedSource, words: Words) -> str:
    """Return the title and date of a source, and where it comes from."""
    passage = source.passage
    kind = words.say("web") if passage.kind is SourceKind.WEB else passage.corpus or ""
    date = words.date(passage.date) if passage.date else ""
    seen = words.say("read from a picture") if passage.recognised else ""
    facts = [cited_as(passage), date, kind, seen]
    return " · ".join(filter(None, facts))


def removed_lines(composition: Composition, words: Words) -> Iterator[str]:
    """Yield what was removed or changed, and why."""
    for one in composition.removed:
        yield f"- {one.text}"
        yield f"{_INDENT}{words.render(one.why)}"


def step_lines(composition: Composition, words: Words) -> Iterator[str]:
    """Yield one line per step: time, tokens, cost, and why it was skipped."""
    for step in composition.steps:
        facts = [words.say("{elapsed} ms", elapsed=words.number(round(step.elapsed_ms)))]
        if step.model:
            facts.append(step.model)
        if step.usage:
            facts += _usage(step.usage, words)
        facts += [f"{name} {number}" for name, number in step.figures.items() if number]
        yield f"{step.name.value}: {', '.join(facts)}"
        if step.skipped:
            yield _INDENT + words.render(step.skipped)


def _usage(usage: Usage, words: Words) -> Iterator[str]:
    tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
    if tokens:
        yield words.count("{number} token", "{number} tokens", tokens)
    if usage.cost_usd is not None:
        yield f"${usage.cost_usd:.4f}"


def composition_json(composition: Composition) -> dict[str, object]:
    """Return the JSON object."""
    return {
        "prompt": composition.request.prompt,
        "corpora": [corpus.name for corpus in composition.request.corpora],
        "language": composition.language or composition.request.language,
        "variants": [_variant_json(one) for one in composition.variants],
        "sources": [_source_json(one) for one in composition.sources],
        "removed": [{"text": one.text, "why": one.why} for one in composition.removed],
        "steps": [_step_json(one) for one in composition.steps],
        "usage": _usage_json(composition.usage),
        "elapsed_ms": round(composition.elapsed_ms),
        "prompt_version": composition.prompt_version,
        "notice": composition.notice,
    }


def _variant_json(variant: Variant) -> dict[str, object]:
    return {
        "tweets": [{"text": one.text, "length": one.length} for one in variant.tweets],
        "thread": variant.thread,
        "checked": variant.checked,
        "unsupported": variant.unsupported,
        "warnings": list(variant.warnings),
    }


def _source_json(source: ComposedSource) -> dict[str, object]:
    passage = source.passage
    return {
        "n": source.number,
        "title": passage.title,
        "url": passage.url,
        "page": passage.page,
        "date": passage.date.astimezone(UTC).isoformat() if passage.date else None,
        "kind": passage.kind.value,
        "quote": source.quote,
        "author": passage.author,
        "corpus": passage.corpus,
        "recognised": passage.recognised,
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "name": step.name.value,
        "elapsed_ms": round(step.elapsed_ms, 1),
        "skipped": step.skipped,
        "usage": _usage_json(step.usage),
        "model": step.model,
        "figures": dict(step.figures),
    }


def _usage_json(usage: Usage | None) -> dict[str, object] | None:
    if usage is None:
        return None
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
    }
