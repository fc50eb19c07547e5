"""A cited answer as a reply."""

from collections.abc import Iterator
from dataclasses import replace

from bot.i18n.words import Words, marked
from bot.replies.buttons import place_text
from bot.reply import HitView, Reply, labels, say_date, signature
from engine.answer.cited_answer import (
    AnswerOutcome,
    CitedAnswer,
    CitedSource,
    Sentence,
    cited_excerpt,
    without_brackets,
)

_INDENT = "   "
_LONGEST_TEXT = 280
_LABELS = {
    AnswerOutcome.EXTRACTED: marked("No model wrote this; these are words of the sources:"),
    AnswerOutcome.SILENT: marked("The sources do not say."),
    AnswerOutcome.NOTHING: marked("Nothing found that could answer this."),
}


def answer_label(answer: CitedAnswer, words: Words) -> str | None:
    """Return what explains a missing or extracted answer, or None."""
    label = _LABELS.get(answer.outcome)
    return words.say(label) if label else None


def answer_reply(answer: CitedAnswer, words: Words) -> Reply:
    """Return the answer with all its sources. The text explains a missing or extracted answer."""
    lines = _said(answer, words)
    if answer.notice:
        lines += ["", words.render(answer.notice)]
    for source in answer.sources:
        lines += ["", *_source(source, answer, words)]
    if answer.objections:
        lines += ["", words.say("What the check objected to:")]
        lines += [
            f"- “{objection.text}” {words.render(objection.why)}" for objection in answer.objections
        ]
    return Reply(words=words, text="\n".join(lines), inert=True)


def _said(answer: CitedAnswer, words: Words) -> list[str]:
    label = answer_label(answer, words)
    lines = [label] if label else []
    if answer.outcome is AnswerOutcome.SILENT:
        return [*lines, _read(answer, words)]
    if answer.outcome is AnswerOutcome.EXTRACTED:
        return [*lines, *(quoted_line(sentence, answer, words) for sentence in answer.sentences)]
    return [*lines, answer.text] if answer.sentences else lines


def quoted_line(sentence: Sentence, answer: CitedAnswer, words: Words) -> str:
    """Return a sentence of a source with its mark, and the labels of the source."""
    return " · ".join((str(sentence), *quote_labels(sentence, answer, words)))


def quote_labels(sentence: Sentence, answer: CitedAnswer, words: Words) -> tuple[str, ...]:
    """Return the labels of the sources of a sentence, if it is in their words."""
    cited = [
        source for source in answer.sources if sentence.quoted and source.number in sentence.sources
    ]
    flags = (flag for source in cited for flag in source.passage.hit.candidate.flags.names)
    return labels(flags, words)


def brief_answer_reply(answer: CitedAnswer, words: Words) -> Reply:
    """Return the answer with its sources in a line each, without scores."""
    extracted = answer.outcome is AnswerOutcome.EXTRACTED  # its label says that no model answered
    lines = _said(answer, words)
    if answer.notice and not extracted:
        lines += ["", words.render(answer.notice)]
    hits = tuple(_source_view(source, answer, words) for source in answer.sources)
    return Reply(words=words, text="\n".join(lines), hits=hits, inert=True)


def _source_view(source: CitedSource, answer: CitedAnswer, words: Words) -> HitView:
    found = source.passage.hit.candidate
    view = HitView.of(found, words, rank=source.number, text=_cited_text(source, answer))
    place = place_text(found.place, words) if found.place else None
    # Of an archive with one voice, everybody knows whose texts they are.
    return replace(view, place=place, small=True, signed=view.voice is None and place is None)


def _read(answer: CitedAnswer, words: Words) -> str:
    return words.count("{number} text was read.", "{number} texts were read.", answer.passages)


def _source(source: CitedSource, answer: CitedAnswer, words: Words) -> Iterator[str]:
    found = source.passage.hit.candidate
    facts = [
        *((place_text(found.place, words),) if found.place else ()),
        *filter(
            None,
            (
                say_date(found.created_at, found.dated_by, words),
                signature(found.voice, found.author, in_item=found.place is not None),
            ),
        ),
        *labels(found.flags.names, words),
        *((source.passage.corpus,) if len(answer.corpora) > 1 else ()),
    ]
    yield f"[{source.number}] {' · '.join(facts)}"
    yield _INDENT + _cited_text(source, answer)
    if found.url:
        yield _INDENT + found.url


def _cited_text(source: CitedSource, answer: CitedAnswer) -> str:
    """Return the passage that is cited, in one line and without what looks like a mark."""
    return " ".join(without_brackets(cited_excerpt(source, answer, longest=_LONGEST_TEXT)).split())
