"""The first step: what the corpora hold about a request."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from engine.answer.types import Passage as Found
from engine.compose.types import ComposeRequest, SourceKind, SourcePassage
from engine.messages import Message
from engine.types import Corpus, Flag

_ASKED = re.compile(
    r"^\W*(?:please\s+|por favor,?\s+)?(?:(?:write|compose|draft|create|make|give|post|prepare)"
    r"(?:\s+me)?|escrib[eaí]\w*|redact[aáe]\w*|haz(?:me)?|prepara|compón|publica|dame)\b"
    r"(?:\s+(?:me|a|an|the|un|una|el|la|some|short|brief|breve|corto|[1-9]|two|three|dos|tres|"
    r"variants?|variantes?))*"
    r"(?:\s+(?:tweets?|threads?|posts?|comments?|tuits?|tweet|hilos?|comentarios?|mensajes?))?"
    r"(?:\s+(?:about|on|regarding|concerning|of|sobre|acerca de|de|respecto a))?\s+",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"^\W*(?:a |an |un |una )?(?:tweet|thread|post|comment|tuit|hilo|comentario)s?"
    r"\s+(?:about|on|sobre|acerca de)\s+",
    re.IGNORECASE,
)


def topic(prompt: str) -> str:
    """Return what a request is about, without the words that ask for a tweet."""
    rest = _FORM.sub("", _ASKED.sub("", prompt, count=1), count=1).strip()
    return rest if re.search(r"\w", rest) else prompt


def internal_passages(
    request: ComposeRequest,
    found: Sequence[Found],
    *,
    most: int,
    cosines: Mapping[str, float] = MappingProxyType({}),
) -> tuple[SourcePassage, ...]:
    """Return the request's own texts, then at most `most` of those found, without repeats.

    `cosines` are those of stored vectors with the request, by key.
    """
    named = {corpus.name: corpus for corpus in request.corpora}
    passages: dict[str, SourcePassage] = {}
    own = len(request.found)
    for at, one in enumerate((*request.found, *found[:most])):
        passage = source_passage(one, named.get(one.corpus), pinned=at < own)
        cosine = cosines.get(passage.key)
        passages.setdefault(passage.key, replace(passage, cosine=cosine))
    return tuple(passages.values())


def source_passage(found: Found, corpus: Corpus | None, *, pinned: bool = False) -> SourcePassage:
    """Return a text of a corpus as a passage that may be cited."""
    candidate = found.hit.candidate
    place = candidate.place
    author = candidate.author or (corpus.author if corpus else None)
    account = f"@{author.removeprefix('@')}" if author else found.corpus
    return SourcePassage(
        key=passage_key(found),
        kind=SourceKind.INTERNAL,
        text=candidate.text,
        title=place.title if place else account,
        score=min(1.0, max(0.0, found.hit.score)),
        date=candidate.created_at,
        url=candidate.url,
        page=place.page if place else None,
        author=author if place else None,  # else it is the title
        corpus=found.corpus,
        pinned=pinned,
        recognised=Flag.RECOGNISED in candidate.flags,
    )


def passage_key(found: Found) -> str:
    """Return the identity of a text of a corpus."""
    return f"{found.corpus}:{found.hit.candidate.external_id}"


def nothing_found(request: ComposeRequest) -> Message:
    """Return why nothing is written without any passage."""
    names = ", ".join(corpus.name for corpus in request.corpora)
    return Message("Nothing was written: nothing was found about this in {names}.", names=names)
