"""The JSON answer to a query of the dialect, for the command line and for agents."""

from datetime import UTC

from bot.replies.place import place_json
from engine.contracts.results import attachments_of, snippet_of
from engine.query.types import FindHit, Found, Match

_DIGITS = 4


def found_json(asked: str, found: Found, *, elapsed_ms: float) -> dict[str, object]:
    """Return the object that `find --json` prints. Keys may be added, but not changed."""
    counts = found.counts
    return {
        "query": asked,
        "canonical": str(found.query),
        "expanded": str(found.expanded),
        "filters": [str(one) for one in found.query.filters],
        "corpus": found.corpus,
        "plan": found.plan.value,
        "counts": {
            "corpus": counts.corpus,
            "matching": counts.matching,
            "passing": counts.passing,
            "fetched": counts.fetched,
            "distinct": counts.distinct,
            "returned": counts.returned,
            "candidates": counts.candidates,
        },
        "elapsed_ms": round(elapsed_ms),
        "notice": " ".join(found.notices) or None,
        "hits": [_contract(found, hit) | _hit(hit) for hit in found.hits],
    }


def _contract(found: Found, hit: FindHit) -> dict[str, object]:
    """Return a hit in the contract of its kind, but for `source`, which meant the platform here
    before the contract had a name for it."""
    if found.kind is None:
        return {}
    named: dict[str, object] = snippet_of(found.kind, hit).model_dump(mode="json")
    return named | {"source": hit.document.candidate.platform or hit.document.domain}


def _hit(hit: FindHit) -> dict[str, object]:
    document, candidate = hit.document, hit.document.candidate
    return {
        "rank": hit.rank,
        "id": candidate.external_id,
        "created_at": candidate.created_at.astimezone(UTC).isoformat(),
        "text": candidate.text,
        "context": candidate.context,
        "title": document.title,
        "place": place_json(candidate.place),
        "url": candidate.url,
        "author": candidate.author,
        "role": document.role,
        "platform": document.candidate.platform,
        "thread": document.thread,
        "attribution": document.attribution,
        "lang": candidate.lang,
        "tags": list(document.tags),
        "mentions": list(document.mentions),
        "engagement": document.engagement,
        "attachments": [one.model_dump() for one in attachments_of(document)],
        "participants": list(document.participants),
        "flags": list(candidate.flags.names),
        "score": None if hit.score is None else round(hit.score, _DIGITS),
        "similarity": None if hit.similarity is None else round(hit.similarity, _DIGITS),
        "matched": [_match(match) for match in hit.matched],
    }


def _match(match: Match) -> dict[str, object]:
    return {
        "term": match.term,
        "alias_of": match.alias_of,
        "lexemes": list(match.lexemes),
        "count": match.count,
        "fields": list(match.fields),
        "score": round(match.score, _DIGITS),
    }
