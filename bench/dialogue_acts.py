"""Measures how well headlines, questions, instructions and remarks are told apart.

`python -m bench.dialogue_acts [--rounds 1,2,3,4,5,6,7,8,9] [--wrong]`

bench/labels/dialogue_acts.tsv has what people say to the bot, in the words of many. Its 300 lines
of round 1 were written before the features; each later round was written to measure them anew,
and then used to mend them. `--wrong` prints the lines that are taken for something else.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.timing import Output, progress
from bot.commands.dialogue_acts import DialogueAct, read_dialogue_act

LINES = Path(__file__).parent / "labels" / "dialogue_acts.tsv"
LANGUAGES = ("en", "es")


@dataclass(frozen=True, slots=True)
class Line:
    """Something that somebody says to the bot, and what it is."""

    language: str
    act: DialogueAct
    round: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActScore:
    """How well an act is recognised in a language; None if there is nothing to divide by."""

    language: str
    act: DialogueAct
    lines: int
    precision: float | None
    recall: float | None


def read_lines() -> list[Line]:
    """Return the labelled lines."""
    with LINES.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Line(row["language"], DialogueAct(row["act"]), int(row["round"]), row["text"])
            for row in rows
        ]


def measure_acts(lines: Sequence[Line]) -> Iterator[ActScore]:
    """Yield the scores of each act in each language."""
    for language in LANGUAGES:
        own = [line for line in lines if line.language == language]
        taken = [read_dialogue_act(line.text) for line in own]
        read, labelled = Counter(taken), Counter(line.act for line in own)
        right = Counter(act for act, line in zip(taken, own, strict=True) if act is line.act)
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
    parser.add_argument("--rounds", default="1,2,3,4,5,6,7,8,9", help="of which lines (all)")
    parser.add_argument("--wrong", action="store_true", help="print the lines taken wrongly")
    arguments = parser.parse_args(argv)
    rounds = {int(number) for number in arguments.rounds.split(",")}
    lines = [line for line in read_lines() if line.round in rounds]
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
        if (taken := read_dialogue_act(line.text)) is not line.act:
            progress(f"{line.act} taken for {taken}: {line.text}")


if __name__ == "__main__":
    main()
