"""A cited answer as `presagio ask --json` prints it. Names may be added, not changed."""

from datetime import UTC

from engine.answer_types import CitedAnswer, Source

_DIGITS = 4


def answer_json(answer: CitedAnswer, *, elapsed_ms: float) -> dict[str, object]:
    """Return the object. `answer` is null where there is none; else each claim ends with [n]."""
    usage = answer.usage
    return {
        "question": answer.question.text,
        "earlier": list(answer.question.earlier),
        "corpora": list(answer.corpora),
        "outcome": answer.outcome.value,
        "answer": answer.text or None,
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
