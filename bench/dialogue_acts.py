"""Measures how well headlines, questions, instructions and remarks are told apart.

`python -m bench.dialogue_acts [--writer third] [--judged] [--crossed] [--wrong]`

bench/labels/dialogue_acts.tsv has what people say to the bot in reply, by its name or in private,
in the words of three writers who saw neither the examples nor the code; nothing is learned from it.
For the unclear lines of the third one it has what a model answered to the prompt; with `--judged`
they are taken for that. `--crossed` measures on the examples in place of that: those of each writer
by what is learned from all others. `--wrong` prints the lines that are taken for something else.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from bench.timing import Output, progress
from bot.commands.dialogue_acts import interpret_text
from bot.commands.headline_detection import is_plain_news
from bot.commands.intents import DialogueAct, Intent, IntentClassifier
from engine.page.article import first_link

LINES = Path(__file__).parent / "labels" / "dialogue_acts.tsv"
LANGUAGES = ("en", "es")
WRITERS = ("first", "second", "third")
_TOPIC = "topic"  # a subject alone: by the bot's name it is searched for whatever it is taken for


@dataclass(frozen=True, slots=True)
class Line:
    """Something that somebody says to the bot, what it is, and what it is taken for."""

    language: str
    act: DialogueAct
    taken: DialogueAct
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActScore:
    """How well an act is recognised in a language; None if there is nothing to divide by."""

    language: str
    act: DialogueAct
    lines: int
    precision: float | None
    recall: float | None


def read_lines(writer: str | None = None, *, judged: bool = False) -> list[Line]:
    """Return the labelled lines, of one writer or all; `judged` by a model where it was asked."""
    return [
        Line(row["language"], DialogueAct(row["act"]), _read_act(row, judged=judged), row["text"])
        for row in _read_rows(LINES.read_text(encoding="utf-8"))
        if row["act"] != _TOPIC and writer in (None, row["writer"])
    ]


def cross_examples() -> Iterator[Line]:
    """Yield the examples, each taken for what the examples of other writers make of it."""
    text = files("bot.commands").joinpath("intents.tsv").read_text(encoding="utf-8")
    rows = [*_read_rows(text)]
    for writer in sorted({row["writer"] for row in rows}):
        others = [row for row in rows if row["writer"] != writer]
        classifier = IntentClassifier((Intent(row["intent"]), row["text"]) for row in others)
        for row in rows:
            if row["writer"] == writer:
                taken = _take(row["text"], classifier)
                yield Line(row["language"], Intent(row["intent"]).act, taken, row["text"])


def _read_rows(text: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def _read_act(row: dict[str, str], *, judged: bool) -> DialogueAct:
    if judged and row["judged"]:
        return Intent(row["judged"]).act
    interpretation = interpret_text(row["text"], in_reply=row["place"] == "reply")
    return interpretation.intent.act if interpretation else _take_for_news(row["text"])


def _take(text: str, classifier: IntentClassifier) -> DialogueAct:
    interpretation = interpret_text(text, in_reply=True, classifier=classifier)
    return interpretation.intent.act if interpretation else _take_for_news(text)


def _take_for_news(text: str) -> DialogueAct:
    news = first_link(text) or is_plain_news(text)
    return DialogueAct.HEADLINE if news else DialogueAct.REMARK


def measure_acts(lines: Sequence[Line]) -> Iterator[ActScore]:
    """Yield the scores of each act in each language."""
    for language in LANGUAGES:
        own = [line for line in lines if line.language == language]
        read, labelled = (Counter(line.taken for line in own), Counter(line.act for line in own))
        right = Counter(line.act for line in own if line.taken is line.act)
        for act in DialogueAct:
            yield ActScore(
                language=language,
                act=act,
                lines=labelled[act],
                precision=right[act] / read[act] if read[act] else None,
                recall=right[act] / labelled[act] if labelled[act] else None,
            )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the scores."""
    parser = argparse.ArgumentParser(prog="python -m bench.dialogue_acts", description=__doc__)
    parser.add_argument("--writer", choices=WRITERS, help="whose lines (all)")
    parser.add_argument("--judged", action="store_true", help="ask the recorded model, too")
    parser.add_argument("--crossed", action="store_true", help="measure on the examples")
    parser.add_argument("--wrong", action="store_true", help="print the lines taken wrongly")
    arguments = parser.parse_args(argv)
    labelled = read_lines(arguments.writer, judged=arguments.judged)
    lines = [*cross_examples()] if arguments.crossed else labelled
    output = Output("dialogue_acts")
    for score in measure_acts(lines):
        precision, recall = (
            None if share is None else round(share, 3) for share in (score.precision, score.recall)
        )
        output.row(
            language=score.language,
            act=str(score.act),
            lines=score.lines,
            precision=precision,
            recall=recall,
        )
    output.table()
    for line in lines if arguments.wrong else ():
        if line.taken is not line.act:
            progress(f"{line.act} taken for {line.taken}: {line.text}")


if __name__ == "__main__":
    main()
