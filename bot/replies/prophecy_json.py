"""A prophecy as `presagio search --json` prints it. Keys may be added, but not changed."""

from datetime import UTC, datetime

from bot.i18n.words import DEFAULT, words_for
from bot.replies.dates import age_between
from bot.replies.place import place_json
from bot.replies.prophecy import notice_of
from engine.prophecy.sureness import sureness
from engine.search import Hit, Prophecy
from engine.types import Usage

_PARTS = ("judgment", "lexical", "age", "semantic")
_DIGITS = 4


def prophecy_json(prophecy: Prophecy, *, now: datetime, elapsed_ms: float) -> dict[str, object]:
    """Return the JSON object; ages are relative to the headline's date, or to `now`."""
    headline, verdict, expansion = prophecy.headline, prophecy.verdict, prophecy.expansion
    until = headline.date or now
    return {
        "query": headline.original,
        "headline": headline.text,
        "date": _moment(headline.date) if headline.date else None,
        "corpus": prophecy.corpus,
        "judged": prophecy.judged,
        "model": verdict.model,
        "prompt_version": verdict.prompt_version,
        "cached": verdict.cached,
        "mode": prophecy.mode.value,
        "embedding_model": prophecy.embedding_model,
        "compared": prophecy.compared,
        "candidates": len(prophecy.candidates),
        "coverage": round(prophecy.coverage, _DIGITS),
        "elapsed_ms": round(elapsed_ms),
        "phrases": list(expansion.phrases),
        "phrases_ms": None if expansion.seconds is None else round(expansion.seconds * 1000),
        "phrases_late": expansion.late,
        "usage": _usage(prophecy.usage) if prophecy.usage else None,
        "notice": notice_of(prophecy, words_for(DEFAULT, operator=True)),
        "hits": [_hit(hit, until) | {"sureness": sureness(hit).value} for hit in prophecy.hits],
        "near": [_hit(hit, until) | {"sureness": None} for hit in prophecy.near],
    }


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
    }


def _hit(hit: Hit, until: datetime) -> dict[str, object]:
    found = hit.candidate
    return {
        "rank": hit.rank,
        "id": found.external_id,
        "created_at": _moment(found.created_at),
        "age": str(age_between(found.created_at, until)),
        "text": found.text,
        "place": place_json(found.place),
        "url": found.url,
        "author": found.author,
        "score": round(hit.score, _DIGITS),
        "parts": {name: _part(hit.parts.get(name)) for name in _PARTS},
        "factors": {name: round(value, _DIGITS) for name, value in hit.factors.items()},
        "matched": list(hit.matched),
        "why": hit.why,
        "proposed_by": dict(found.ranks),
        "asked_for": dict(found.asked_for),
        "flags": list(found.flags.names),
    }


def _part(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
