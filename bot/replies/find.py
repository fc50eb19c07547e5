"""The result of a query as a reply."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.i18n.words import Words
from bot.replies.buttons import place_text
from bot.replies.limits import cut
from bot.reply import HitView, Reply, say_date, signature
from engine.query.query import Plan
from engine.query.results import FindHit, Found, Match
from engine.text.snippet import narrow_excerpt

_INDENT = "   "
_LONGEST_QUERY = 200
_MORE = "…"


def brief_find_reply(found: Found, words: Words, *, longest: int, after: int = 0) -> Reply:
    """Return the answer without scores: how many there are, and the hits beyond rank `after`.

    Texts longer than `longest` characters are cut.
    """
    hits = tuple(_view_hit(hit, words, longest) for hit in found.hits[after:])
    shown = _summary(found, words).partition("\n")[0]
    left_out = after or len(hits) < found.counts.passing
    if hits and left_out and found.plan is not Plan.NEAREST:
        span = words.say(
            "Shown: {first} to {last}.",
            first=words.number(hits[0].rank),
            last=words.number(hits[-1].rank),
        )
        shown = f"{shown}\n{span}{_left_out(found, words)}"
    return Reply(
        words=words,
        text=shown,
        hits=hits,
        notice=" ".join(words.render(said) for said in found.notices) or None,
    )


def _view_hit(hit: FindHit, words: Words, longest: int) -> HitView:
    found = hit.document.candidate
    view = HitView.of(found, words, rank=hit.rank, text=_text(hit, longest))
    return replace(view, place=place_text(found.place, words)) if found.place else view


def find_reply(found: Found, words: Words, *, longest: int | None = None) -> Reply:
    """Return the answer with all its hits; texts longer than `longest` characters are cut."""
    lines = [_summary(found, words)]
    for hit in found.hits:
        lines += ["", *_hit(hit, words, longest)]
    return Reply(
        words=words,
        text="\n".join(lines),
        notice=" ".join(words.render(said) for said in found.notices) or None,
    )


def _summary(found: Found, words: Words) -> str:
    query = cut(str(found.query), _LONGEST_QUERY)
    if not found.hits:
        return words.say("Nothing found: {query}", query=query or "-")
    if found.plan is Plan.NEAREST:
        return words.say(
            "Nearest in {corpus}: {query} ({number})",
            number=words.number(len(found.hits)),
            corpus=found.corpus,
            query=query,
        )
    said = words.count(
        "{number} text in {corpus}: {query}",
        "{number} texts in {corpus}: {query}",
        found.counts.passing,
        corpus=found.corpus,
        query=query,
    )
    if found.expanded != found.query:
        looked_for = cut(str(found.expanded), _LONGEST_QUERY)
        said += "\n" + words.say("Looked for: {query}", query=looked_for)
    left = found.counts.passing - found.counts.returned
    return said if not left else f"{said}\n{_rest(found, words)}"


def _rest(found: Found, words: Words) -> str:
    shown = words.say("Shown: {number}.", number=words.number(found.counts.returned))
    return f"{shown}{_left_out(found, words)}"


def _left_out(found: Found, words: Words) -> str:
    """Return what to say after how many texts are shown: how many others differ too little."""
    alike = found.counts.fetched - found.counts.distinct - found.counts.elsewhere
    if not alike:
        return ""
    return " " + words.count(
        "{number} near-identical one is left out.",
        "{number} near-identical ones are left out.",
        alike,
    )


def _hit(hit: FindHit, words: Words, longest: int | None) -> Iterator[str]:
    found = hit.document.candidate
    facts = [
        *((place_text(found.place, words),) if found.place else ()),
        *filter(
            None,
            (
                say_date(found.created_at, found.dated_by, words),
                signature(found.voice, found.author, in_item=found.place is not None),
            ),
        ),
        *((hit.document.candidate.platform,) if hit.document.candidate.platform else ()),
        *found.flags.names,
        *(() if hit.score is None else (f"{hit.score:.2f}",)),
        *_similar(hit, words),
    ]
    yield f"{hit.rank}. {' · '.join(facts)}"
    yield from (f"{_INDENT}{line}" for line in _text(hit, longest).split("\n"))
    if hit.elsewhere:
        yield _INDENT + words.count(
            "{number} more place in it", "{number} more places in it", hit.elsewhere
        )
    if found.url:
        yield _INDENT + found.url
    if hit.matched:
        yield _INDENT + ", ".join(_matches(hit.matched, words))


def _similar(hit: FindHit, words: Words) -> Iterator[str]:
    if hit.similarity is not None:
        yield words.say("similarity {number}", number=f"{hit.similarity:.2f}")


def _text(hit: FindHit, longest: int | None) -> str:
    text, shown = hit.document.candidate.text, hit.excerpt
    if shown is None:
        return text if longest is None else cut(text, longest)
    if longest is not None:
        shown = narrow_excerpt(text, shown, longest - 2 * len(_MORE))
    before, after = (_MORE if more else "" for more in (shown.before, shown.after))
    return f"{before}{shown.text.strip()}{after}"


def _matches(matches: Sequence[Match], words: Words) -> Iterator[str]:
    """Yield each matched word or phrase once, with its count, alias and field."""
    for (term, alias_of), parts in _by_term(matches).items():
        named = term if alias_of is None else f"{alias_of} → {term}"
        said = [named, f"×{min(part.count for part in parts)}"]
        if not any("text" in part.fields for part in parts):
            said.append(words.say("(in what it answers)"))
        yield " ".join(said)


def _by_term(matches: Sequence[Match]) -> dict[tuple[str, str | None], list[Match]]:
    found: dict[tuple[str, str | None], list[Match]] = {}
    for match in matches:
        found.setdefault((match.term, match.alias_of), []).append(match)
    return found
