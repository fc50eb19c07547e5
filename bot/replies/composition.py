"""A composition in a chat: the step under way, one variant at a time, its sources, and why."""

from collections.abc import Iterator

from bot.face.reply import Action, Button, Reply
from bot.i18n.words import Words
from bot.replies.compose import (
    STEPS,
    removed_lines,
    source_lines,
    step_lines,
    variant_lines,
)
from bot.replies.limits import cut
from engine.compose.types import Composition, StepName

_LONGEST = 3500  # characters; one message on every platform

NEXT, THREAD, SOURCES, REASONS, STOP = (
    "next_tweet",
    "as_thread",
    "tweet_sources",
    "tweet_reasons",
    "stop_tweet",
)


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
        buttons=_buttons(task_id, composition, at % of, words),
    )


def _buttons(
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
            *([button(words.say("Sources"), SOURCES)] if composition.sources else []),
            button(words.say("Why?"), REASONS),
        ),
    )


def sources_reply(composition: Composition, words: Words) -> Reply:
    """Return the sources: what each number stands for, what it says, and its address."""
    lines = [line for source in composition.sources for line in source_lines(source, words)]
    return Reply(words=words, text=cut("\n".join(lines), _LONGEST))


def reasons_reply(composition: Composition, words: Words, *, full: bool) -> Reply:
    """Return how it was made: what was left out and which steps were; `full` adds their cost."""
    lines = list(_made(composition, words))
    if composition.removed:
        lines += ["", words.say("Left out or changed:"), *removed_lines(composition, words)]
    if full:
        lines += ["", *step_lines(composition, words)]
    return Reply(words=words, text=cut("\n".join(lines), _LONGEST))


def _made(composition: Composition, words: Words) -> Iterator[str]:
    yield words.count(
        "{number} passage is cited. Each number, date and quotation was found in the passage"
        " that its sentence cites.",
        "{number} passages are cited. Each number, date and quotation was found in a passage"
        " that its sentence cites.",
        len(composition.sources),
    )
    if all(variant.checked for variant in composition.variants):
        yield words.say("A model compared each sentence with what it cites.")
    else:
        yield words.say("No model compared the sentences with what they cite.")
    for step in composition.steps:
        if step.skipped:
            yield words.render(step.skipped)


def draft_reply(composition: Composition, words: Words) -> Reply | None:
    """Return a draft with its sources, for a chat that did not ask just now; None without one."""
    if not composition.variants:
        return None
    lines = [words.say("A draft about the first story, to copy. I publish nothing myself."), ""]
    lines += variant_lines(composition.variants[0], 1, 1, words)
    for source in composition.sources:
        lines += ["", *source_lines(source, words)]
    return Reply(words=words, text=cut("\n".join(lines), _LONGEST))
