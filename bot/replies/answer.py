"""A cited answer as a reply, and as `presagio ask --json` prints it."""

from collections.abc import Iterator
from dataclasses import replace

from bot.i18n.words import Words, marked
from bot.replies.buttons import place_json, place_text
from bot.replies.dates import iso_moment
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
        lines += [f"- “{one.text}” {words.render(one.why)}" for one in answer.objections]
    return Reply(words=words, text="\n".join(lines), inert=True)


def _said(answer: CitedAnswer, words: Words) -> list[str]:
    label = answer_label(answer, words)
    lines = [label] if label else []
    if answer.outcome is AnswerOutcome.SILENT:
        return [*lines, _read(answer, words)]
    if answer.outcome is AnswerOutcome.EXTRACTED:
        return [*lines, *(quoted_line(one, answer, words) for one in answer.sentences)]
    return [*lines, answer.text] if answer.sentences else lines


def quoted_line(sentence: Sentence, answer: CitedAnswer, words: Words) -> str:
    """Return a sentence of a source with its mark, and the labels of the source."""
    return " · ".join((str(sentence), *quote_labels(sentence, answer, words)))


def quote_labels(sentence: Sentence, answer: CitedAnswer, words: Words) -> tuple[str, ...]:
    """Return the labels of the sources of a sentence, if it is in their words."""
    cited = [one for one in answer.sources if sentence.quoted and one.number in sentence.sources]
    flags = (flag for one in cited for flag in one.passage.hit.candidate.flags.names)
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
    return replace(view, place=place, small=True)


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
                signature(found.voice, found.author),
            ),
        ),
        *labels(found.flags.names, words),
        *((source.passage.corpus,) if len(answer.corpora) > 1 else ()),
        words.say("relevance {value}", value=f"{source.passage.hit.score:.2f}"),
    ]
    yield f"[{source.number}] {' · '.join(facts)}"
    yield _INDENT + _cited_text(source, answer)
    if found.url:
        yield _INDENT + found.url


def _cited_text(source: CitedSource, answer: CitedAnswer) -> str:
    """Return the passage that is cited, in one line and without what looks like a mark."""
    return " ".join(without_brackets(cited_excerpt(source, answer, longest=_LONGEST_TEXT)).split())


_DIGITS = 4
_SILENCE = "The sources do not say."


def answer_json(answer: CitedAnswer, *, elapsed_ms: float) -> dict[str, object]:
    """Return the JSON object.

    Each sentence of `answer` ends with [n]. "The sources do not say." counts as an answer; null
    means that there is no source.
    """
    usage = answer.usage
    return {
        "question": answer.question.text,
        "earlier": list(answer.question.earlier),
        "corpora": list(answer.corpora),
        "outcome": answer.outcome.value,
        "answer": _SILENCE if answer.outcome is AnswerOutcome.SILENT else answer.text or None,
        "sentences": [
            {
                "text": one.text,
                "sources": list(one.sources),
                "quoted": one.quoted,
                "supported": one.supported if answer.checked or not one.supported else None,
            }
            for one in answer.sentences
        ],
        "checked": answer.checked,
        "objections": [{"text": one.text, "why": one.why} for one in answer.objections],
        "passages": answer.passages,
        "model": answer.model,
        "prompt_version": answer.prompt_version,
        "cached": answer.cached,
        "mode": answer.mode.value,
        "embedding_model": answer.embedding_model,
        "elapsed_ms": round(elapsed_ms),
        "usage": usage
        and {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_usd": usage.cost_usd,
        },
        "notice": answer.notice,
        "sources": [_source_json(one, answer) for one in answer.sources],
    }


def _source_json(source: CitedSource, answer: CitedAnswer) -> dict[str, object]:
    hit = source.passage.hit
    found = hit.candidate
    return {
        "number": source.number,
        "corpus": source.passage.corpus,
        "id": found.external_id,
        "created_at": iso_moment(found.created_at),
        "dated_by": found.dated_by,
        "text": found.text,
        "cited": cited_excerpt(source, answer, longest=_LONGEST_TEXT),
        "place": place_json(found.place),
        "url": found.url,
        "author": found.author,
        "relevance": round(hit.score, _DIGITS),
        "matched": list(hit.matched),
        "flags": list(found.flags.names),
    }
