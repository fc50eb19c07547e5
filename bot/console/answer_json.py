"""A cited answer as `presagio ask --json` prints it. Names may be added, not changed."""

from datetime import UTC

from engine.answer_types import CitedAnswer, Outcome, Source

_DIGITS = 4
_SILENCE = "The sources do not say."


def answer_json(answer: CitedAnswer, *, elapsed_ms: float) -> dict[str, object]:
    """Return the object.

    Each sentence of `answer` ends with [n]; that the sources do not say is an answer, and null
    means that there is no source.
    """
    usage = answer.usage
    return {
        "question": answer.question.text,
        "earlier": list(answer.question.earlier),
        "corpora": list(answer.corpora),
        "outcome": answer.outcome.value,
        "answer": _SILENCE if answer.outcome is Outcome.SILENT else answer.text or None,
        "sentences": [
            {"text": one.text, "sources": list(one.sources), "quoted": one.quoted}
            for one in answer.sentences
        ],
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
        "sources": [_source(one) for one in answer.sources],
    }


def _source(source: Source) -> dict[str, object]:
    hit = source.passage.hit
    found = hit.candidate
    return {
        "number": source.number,
        "corpus": source.passage.corpus,
        "id": found.external_id,
        "created_at": found.created_at.astimezone(UTC).isoformat(),
        "text": found.text,
        "url": found.url,
        "author": found.author,
        "relevance": round(hit.score, _DIGITS),
        "matched": list(hit.matched),
        "flags": list(found.flags.names),
    }
