"""Replies to queries and questions: what was found and where, and the answer with its sources."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import HitView, Reply, format_signature, name_beside, name_flags, say_date
from engine.answer.cited_answer import (
    AnswerOutcome,
    CitedAnswer,
    CitedSource,
    Sentence,
    cited_excerpt,
    without_brackets,
)
from engine.query.query import Plan
from engine.query.results import FindHit, Match, QueryAnswer
from engine.search import Candidate, ItemPlace
from engine.text.snippet import narrow_excerpt

_LONGEST_TITLE = 100
_LONGEST_HEADING = 60
_INDENT = "   "
_LONGEST_QUERY = 200
_MORE = "…"
_LONGEST_TEXT = 280
_LABELS = {
    AnswerOutcome.EXTRACTED: marked("No model wrote this; these are words of the sources:"),
    AnswerOutcome.SILENT: marked("The sources do not say."),
    AnswerOutcome.NOTHING: marked("Nothing found that could answer this."),
}


def place_text(place: ItemPlace, words: Words) -> str:
    """Return "Title, p. 5 (15 of 40)", or the title and the last heading if there are no pages."""
    title = cut(" ".join(place.title.split()), _LONGEST_TITLE)
    if place.page_label and place.page_label != str(place.page):
        return words.say(
            "{title}, p. {label} ({page} of {pages})",
            title=title,
            label=place.page_label,
            page=place.page,
            pages=place.pages,
        )
    if place.page is not None:
        last = place.last_page or place.page
        if last > place.page:
            return words.say(
                "{title}, pp. {first}-{last}", title=title, first=place.page, last=last
            )
        return words.say("{title}, p. {page}", title=title, page=place.page)
    heading = (place.heading or "").rpartition(" > ")[2]
    if not heading or heading == place.title:
        return title
    return f"{title}, {cut(heading, _LONGEST_HEADING)}"


def brief_find_reply(answer: QueryAnswer, words: Words, *, longest: int, after: int = 0) -> Reply:
    """Return the answer without scores: how many there are, and the hits beyond rank `after`.

    Texts longer than `longest` characters are cut.
    """
    hits = tuple(
        _view(hit.document.candidate, hit.rank, _format_text(hit, longest), words)
        for hit in answer.hits[after:]
    )
    heading = _describe_found(answer, words).partition("\n")[0]
    left_out = after or len(hits) < answer.counts.passing
    if hits and left_out and answer.plan is not Plan.NEAREST:
        span = words.say(
            "Shown: {first} to {last}.",
            first=words.number(hits[0].rank),
            last=words.number(hits[-1].rank),
        )
        heading = f"{heading}\n{span}{_left_out(answer, words)}"
    return Reply(
        words=words,
        text=heading,
        hits=hits,
        notice=" ".join(words.render(sentence) for sentence in answer.notices) or None,
    )


def _view(candidate: Candidate, rank: int, text: str, words: Words) -> HitView:
    view = HitView.of(candidate, words, rank=rank, text=text)
    return replace(view, place=place_text(candidate.place, words)) if candidate.place else view


def find_reply(answer: QueryAnswer, words: Words, *, longest: int | None = None) -> Reply:
    """Return the answer with all its hits; texts longer than `longest` characters are cut."""
    lines = [_describe_found(answer, words)]
    for hit in answer.hits:
        lines += ["", *_render_hit(hit, words, longest)]
    return Reply(
        words=words,
        text="\n".join(lines),
        notice=" ".join(words.render(sentence) for sentence in answer.notices) or None,
    )


def _describe_found(answer: QueryAnswer, words: Words) -> str:
    query = cut(str(answer.query), _LONGEST_QUERY)
    if not answer.hits:
        return words.say("Nothing found: {query}", query=query or "-")
    if answer.plan is Plan.NEAREST:
        return words.say(
            "Nearest in {corpus}: {query} ({number})",
            number=words.number(len(answer.hits)),
            corpus=answer.corpus,
            query=query,
        )
    sentence = words.count(
        "{number} text in {corpus}: {query}",
        "{number} texts in {corpus}: {query}",
        answer.counts.passing,
        corpus=answer.corpus,
        query=query,
    )
    if answer.expanded != answer.query:
        looked_for = cut(str(answer.expanded), _LONGEST_QUERY)
        sentence += "\n" + words.say("Looked for: {query}", query=looked_for)
    if answer.counts.passing > answer.counts.returned:
        shown = words.say("Shown: {number}.", number=words.number(answer.counts.returned))
        sentence += f"\n{shown}{_left_out(answer, words)}"
    return sentence


def _left_out(answer: QueryAnswer, words: Words) -> str:
    """Return what to say after how many texts are shown: how many others differ too little."""
    alike = answer.counts.fetched - answer.counts.distinct - answer.counts.elsewhere
    if not alike:
        return ""
    return " " + words.count(
        "{number} near-identical one is left out.",
        "{number} near-identical ones are left out.",
        alike,
    )


def _render_hit(hit: FindHit, words: Words, longest: int | None) -> Iterator[str]:
    candidate = hit.document.candidate
    facts = [*_name_origin(candidate, words), candidate.platform, *candidate.flags.names]
    if hit.score is not None:
        facts.append(f"{hit.score:.2f}")
    if hit.similarity is not None:
        facts.append(words.say("similarity {number}", number=f"{hit.similarity:.2f}"))
    yield f"{hit.rank}. {' · '.join(filter(None, facts))}"
    yield from (f"{_INDENT}{line}" for line in _format_text(hit, longest).split("\n"))
    yield from (_INDENT + line for line in name_beside(candidate, words))
    if hit.elsewhere:
        yield _INDENT + words.count(
            "{number} more place in it", "{number} more places in it", hit.elsewhere
        )
    if candidate.url:
        yield _INDENT + candidate.url
    if hit.matched:
        yield _INDENT + ", ".join(_describe_matches(hit.matched, words))


def _name_origin(candidate: Candidate, words: Words) -> list[str | None]:
    """Return where in an item a text stands, its date, and its author, as far as they are known."""
    return [
        place_text(candidate.place, words) if candidate.place else None,
        say_date(candidate.created_at, candidate.dated_by, words),
        format_signature(candidate.voice, candidate.author, in_item=candidate.place is not None),
    ]


def _format_text(hit: FindHit, longest: int | None) -> str:
    text, excerpt = hit.document.candidate.text, hit.excerpt
    if excerpt is None:
        return text if longest is None else cut(text, longest)
    if longest is not None:
        excerpt = narrow_excerpt(text, excerpt, longest - 2 * len(_MORE))
    before, after = (_MORE if more else "" for more in (excerpt.before, excerpt.after))
    return f"{before}{excerpt.text.strip()}{after}"


def _describe_matches(matches: Sequence[Match], words: Words) -> Iterator[str]:
    """Yield each matched word or phrase once, with its count, alias and field."""
    by_term: dict[tuple[str, str | None], list[Match]] = {}
    for match in matches:
        by_term.setdefault((match.term, match.alias_of), []).append(match)
    for (term, alias_of), parts in by_term.items():
        named = term if alias_of is None else f"{alias_of} → {term}"
        facts = [named, f"×{min(part.count for part in parts)}"]
        if not any("text" in part.fields for part in parts):
            facts.append(words.say("(in what it answers)"))
        yield " ".join(facts)


def answer_label(answer: CitedAnswer, words: Words) -> str | None:
    """Return what explains a missing or extracted answer, or None."""
    label = _LABELS.get(answer.outcome)
    return words.say(label) if label else None


def answer_reply(answer: CitedAnswer, words: Words) -> Reply:
    """Return the answer with all its sources. The text explains a missing or extracted answer."""
    lines = _answer_lines(answer, words)
    if answer.notice:
        lines += ["", words.render(answer.notice)]
    for source in answer.sources:
        lines += ["", *_render_source(source, answer, words)]
    if answer.objections:
        lines += ["", words.say("What the check objected to:")]
        lines += [
            f"- “{objection.text}” {words.render(objection.why)}" for objection in answer.objections
        ]
    return Reply(words=words, text="\n".join(lines), inert=True)


def _answer_lines(answer: CitedAnswer, words: Words) -> list[str]:
    label = answer_label(answer, words)
    lines = [label] if label else []
    if answer.outcome is AnswerOutcome.SILENT:
        read = words.count("{number} text was read.", "{number} texts were read.", answer.passages)
        return [*lines, read]
    if answer.outcome is AnswerOutcome.EXTRACTED:
        return [
            *lines,
            *(_quote_sentence(sentence, answer, words) for sentence in answer.sentences),
        ]
    return [*lines, answer.text] if answer.sentences else lines


def _quote_sentence(sentence: Sentence, answer: CitedAnswer, words: Words) -> str:
    """Return a sentence with its mark; if it is in the words of sources, with their labels."""
    cited = [
        source for source in answer.sources if sentence.quoted and source.number in sentence.sources
    ]
    flags = (flag for source in cited for flag in source.passage.hit.candidate.flags.names)
    return " · ".join((str(sentence), *name_flags(flags, words)))


def brief_answer_reply(answer: CitedAnswer, words: Words) -> Reply:
    """Return the answer with its sources in a line each, without scores."""
    extracted = answer.outcome is AnswerOutcome.EXTRACTED  # its label says that no model answered
    lines = _answer_lines(answer, words)
    if answer.notice and not extracted:
        lines += ["", words.render(answer.notice)]
    views = (
        _view(source.passage.hit.candidate, source.number, _cited_text(source, answer), words)
        for source in answer.sources
    )
    # Of an archive with one voice, everybody knows whose texts they are.
    hits = tuple(
        replace(view, small=True, signed=view.voice is None and view.place is None)
        for view in views
    )
    return Reply(words=words, text="\n".join(lines), hits=hits, inert=True)


def _render_source(source: CitedSource, answer: CitedAnswer, words: Words) -> Iterator[str]:
    candidate = source.passage.hit.candidate
    facts = [*_name_origin(candidate, words), *name_flags(candidate.flags.names, words)]
    if len(answer.corpora) > 1:
        facts.append(source.passage.corpus)
    yield f"[{source.number}] {' · '.join(filter(None, facts))}"
    yield _INDENT + _cited_text(source, answer)
    if candidate.url:
        yield _INDENT + candidate.url


def _cited_text(source: CitedSource, answer: CitedAnswer) -> str:
    """Return the passage that is cited, in one line and without what looks like a mark."""
    return " ".join(without_brackets(cited_excerpt(source, answer, longest=_LONGEST_TEXT)).split())
