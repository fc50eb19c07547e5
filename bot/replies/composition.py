"""A composition in a chat: the step under way, one variant at a time, its sources, and why."""

from collections.abc import Iterator

from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, name_flags, say_date
from engine.compose.composition import (
    ComposedSource,
    Composition,
    SourceKind,
    StepName,
    Variant,
    cited_as,
)
from engine.values import Usage

_INDENT = "   "
STEPS = {
    StepName.RETRIEVE: marked("Looking into the archives…"),
    StepName.GAPS: marked("Asking what is missing…"),
    StepName.WEB: marked("Asking the web for that…"),
    StepName.MERGE: marked("Choosing the passages…"),
    StepName.EVIDENCE: marked("Collecting the evidence…"),
    StepName.WRITE: marked("Writing…"),
    StepName.GUARD: marked("Comparing numbers, dates and quotations…"),
    StepName.CHECK: marked("Checking each sentence…"),
}
_LONGEST = 3500  # characters; one message on every platform
NEXT, THREAD, SOURCES, REASONS, STOP = (
    "next_tweet",
    "as_thread",
    "tweet_sources",
    "tweet_reasons",
    "stop_tweet",
)


def composition_reply(composition: Composition, words: Words, *, explain: bool) -> Reply:
    """Return the variants with their sources and what was removed; `explain` adds the steps."""
    lines: list[str] = []
    if composition.notice:
        lines += [words.render(composition.notice), ""]
    for number, variant in enumerate(composition.variants, start=1):
        lines += [*variant_lines(variant, number, len(composition.variants), words), ""]
        lines += [
            line
            for source in composition.sources_of(variant)
            for line in source_lines(source, words)
        ]
        lines += [""] if number < len(composition.variants) else []
    if composition.removed:
        lines += ["", words.say("Left out or changed:"), *removed_lines(composition, words)]
    if explain:
        lines += ["", *step_lines(composition, words)]
    return Reply(words=words, text="\n".join(lines).strip(), inert=True)


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
    yield f"[{source.number}] {' · '.join(source_facts(source, words))}"
    if source.quote:
        yield f"{_INDENT}“{source.quote}”"
    if source.passage.url:
        yield _INDENT + source.passage.url


def source_facts(source: ComposedSource, words: Words, *, names_corpus: bool = True) -> list[str]:
    """Return the title and date of a source, and where it comes from."""
    passage = source.passage
    corpus = passage.corpus if names_corpus else None
    kind = words.say("web") if passage.kind is SourceKind.WEB else corpus or ""
    date = say_date(passage.date, passage.dated_by, words)
    facts = [cited_as(passage), date, kind, *name_flags(passage.flags.names, words)]
    return [fact for fact in facts if fact]


def removed_lines(composition: Composition, words: Words) -> Iterator[str]:
    """Yield what was removed or changed, and why."""
    for removal in composition.removed:
        yield f"- {removal.text}"
        yield f"{_INDENT}{words.render(removal.why)}"


def step_lines(composition: Composition, words: Words) -> Iterator[str]:
    """Yield one line per step: time, tokens, cost, and why it was skipped."""
    for step in composition.steps:
        facts = [words.say("{elapsed} ms", elapsed=words.number(round(step.elapsed_ms)))]
        if step.model:
            facts.append(step.model)
        usage = step.usage or Usage()
        if tokens := (usage.prompt_tokens or 0) + (usage.completion_tokens or 0):
            facts.append(words.count("{number} token", "{number} tokens", tokens))
        if usage.cost_usd is not None:
            facts.append(f"${usage.cost_usd:.4f}")
        facts += [f"{name} {number}" for name, number in step.figures.items() if number]
        yield f"{step.name.value}: {', '.join(facts)}"
        if step.skipped:
            yield _INDENT + words.render(step.skipped)


def step_reply(task_id: int, step: StepName, words: Words) -> Reply:
    """Return what stands in a chat while it is written: the step, and a button that stops it."""
    stop = Button(label=words.say("Stop"), action=Action(name=STOP, answer_id=task_id))
    return Reply(words=words, text=words.say(STEPS[step]), buttons=((stop,),), writes=task_id)


def variant_reply(task_id: int, composition: Composition, words: Words, *, at: int = 0) -> Reply:
    """Return the variant with index `at`, or why there is none, with the buttons that fit it."""
    notice = words.render(composition.notice) if composition.notice else None
    if not composition.variants:
        return Reply(words=words, text=notice or words.say("Nothing was written."))
    of = len(composition.variants)
    variant = composition.variants[at % of]
    lines = list(variant_lines(variant, at % of + 1, of, words))
    return Reply(
        words=words,
        text=cut("\n".join(lines), _LONGEST),
        notice=notice,
        inert=True,
        copies=tuple(tweet.text for tweet in variant.tweets),
        buttons=_composition_buttons(task_id, composition, at % of, words),
    )


def _composition_buttons(
    task_id: int, composition: Composition, at: int, words: Words
) -> tuple[tuple[Button, ...], ...]:
    def button(label: str, name: str, value: str = "") -> Button:
        return Button(label=label, action=Action(name=name, answer_id=task_id, value=value))

    several = len(composition.variants) > 1
    following = str((at + 1) % len(composition.variants))
    thread = composition.variants[at].thread
    return (
        (
            *([button(words.say("Next variant"), NEXT, following)] if several else []),
            *([] if thread else [button(words.say("Thread"), THREAD)]),
            *([button(words.say("Sources"), SOURCES, str(at))] if composition.sources else []),
            button(words.say("Why?"), REASONS),
        ),
    )


def sources_reply(composition: Composition, words: Words, *, at: int) -> Reply:
    """Return the sources of the variant with index `at`: what each number stands for, what it
    says, and its address."""
    variant = composition.variants[at % len(composition.variants)]
    lines = [
        line for source in composition.sources_of(variant) for line in source_lines(source, words)
    ]
    return Reply(words=words, text=cut("\n".join(lines), _LONGEST), inert=True)


def reasons_reply(composition: Composition, words: Words, *, full: bool) -> Reply:
    """Return how it was made: what was left out and which steps were; `full` adds their cost."""
    lines = [
        words.count(
            "{number} passage is cited. Each number, date and quotation was found in the passage"
            " that its sentence cites.",
            "{number} passages are cited. Each number, date and quotation was found in a passage"
            " that its sentence cites.",
            len(composition.sources),
        )
    ]
    if all(variant.checked for variant in composition.variants):
        lines.append(words.say("A model compared each sentence with what it cites."))
    else:
        lines.append(words.say("No model compared the sentences with what they cite."))
    lines += [words.render(step.skipped) for step in composition.steps if step.skipped]
    if composition.removed:
        lines += ["", words.say("Left out or changed:"), *removed_lines(composition, words)]
    if full:
        lines += ["", *step_lines(composition, words)]
    return Reply(words=words, text=cut("\n".join(lines), _LONGEST), inert=True)


def draft_reply(composition: Composition, words: Words) -> Reply | None:
    """Return a draft with its sources, for a chat that did not ask just now; None without one."""
    if not composition.variants:
        return None
    lines = [words.say("A draft about the first story, to copy. I publish nothing myself."), ""]
    variant = composition.variants[0]
    lines += variant_lines(variant, 1, 1, words)
    for source in composition.sources_of(variant):
        lines += ["", *source_lines(source, words)]
    return Reply(
        words=words,
        text=cut("\n".join(lines), _LONGEST),
        inert=True,
        copies=tuple(tweet.text for tweet in variant.tweets),
    )
