"""A cited answer as a reply in plain words: the answer, then its sources."""

from collections.abc import Iterator

from bot.cut import cut
from bot.engine_sentences import in_language
from bot.reply import Reply
from bot.words import Words, marked
from engine.answer_types import CitedAnswer, Outcome, Source
from engine.citations import bare
from engine.plain_text import without_links

_INDENT = "   "
_LONGEST_TEXT = 280
_LABELS = {
    Outcome.EXTRACTED: marked("No model wrote this; these are words of the sources:"),
    Outcome.SILENT: marked("The sources do not say."),
    Outcome.NOTHING: marked("Nothing found that could answer this."),
}


def answer_reply(answer: CitedAnswer, words: Words) -> Reply:
    """Return the answer with all its sources. Why it is no more than it is stands in its text."""
    lines = [words.say(_LABELS[answer.outcome])] if answer.outcome in _LABELS else []
    if answer.outcome is Outcome.SILENT:
        lines += [_read(answer, words)]
    elif answer.outcome is Outcome.EXTRACTED:
        lines += [str(sentence) for sentence in answer.sentences]
    elif answer.sentences:
        lines += [answer.text]
    if answer.notice:
        lines += ["", in_language(answer.notice, words)]
    for source in answer.sources:
        lines += ["", *_source(source, answer, words)]
    return Reply(words=words, text="\n".join(lines))


def _read(answer: CitedAnswer, words: Words) -> str:
    return words.count("{number} text was read.", "{number} texts were read.", answer.passages)


def _source(source: Source, answer: CitedAnswer, words: Words) -> Iterator[str]:
    found = source.passage.hit.candidate
    facts = [
        words.date(found.created_at),
        *((f"@{found.author.removeprefix('@')}",) if found.author else ()),
        *((source.passage.corpus,) if len(answer.corpora) > 1 else ()),
        words.say("relevance {value}", value=f"{source.passage.hit.score:.2f}"),
    ]
    yield f"[{source.number}] {' · '.join(facts)}"
    # Its own "[1]" and addresses would look like marks and sources of the answer.
    yield _INDENT + cut(without_links(bare(found.text)), _LONGEST_TEXT)
    if found.url:
        yield _INDENT + found.url
