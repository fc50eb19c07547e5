"""Retrieves passages, merges those of all searches, and chooses the evidence among them."""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from engine.answer.cited_answer import Passage as Found
from engine.compose.composition import ComposeRequest, RetrievedPassages, SourceKind, SourcePassage
from engine.errors import PresagioError
from engine.messages import Message
from engine.ports import Reranker
from engine.ranking import scores_of
from engine.rerank import terms_of
from engine.search import ItemPlace
from engine.settings.models import ComposeSettings
from engine.text.address import link_key, read_host
from engine.text.chunks import Block, split_chunks
from engine.text.snippet import one_line
from engine.values import Corpus, ScoredText
from engine.web.results import WebPage

SHINGLE = 5  # words
SAME = 0.9  # Jaccard share of shingles above which two passages say the same
SAME_MEANING = 0.95  # the same of the cosine of their vectors
MAX_CHUNKS = 6  # of one page
_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_PER_SITE = 2  # the most passages of one web site
_RERANKED = 24  # passages that are ordered by how well they answer
_LONGEST_SECTION = 60  # characters
_LONGEST_PASSAGE = 10_000  # characters; a model sees no more, whatever is set
_LONGEST_PAGE = 20_000  # characters that are cut into parts, of which only the first are used
_RERANKED_OF_GAP = 2  # of each gap among them
_RERANK_SECONDS = 5.0  # for ordering them; else words alone decide
_FORM = re.compile(
    r"^\W*(?:a |an |un |una )?(?:tweet|thread|post|comment|tuit|hilo|comentario)s?"
    r"\s+(?:about|on|sobre|acerca de)\s+",
    re.IGNORECASE,
)
# A corpus scores an ordinary text 1 if it has every word once, BM25 of a few passages about half
# of that: pages of the web, which no corpus scores, are put on the same scale.
_ON_SCALE = 2.0
_ASKED = re.compile(
    r"^\W*(?:please\s+|por favor,?\s+)?(?:(?:write|compose|draft|create|make|give|post|prepare)"
    r"(?:\s+me)?|escrib[eaí]\w*|redact[aáe]\w*|haz(?:me)?|prepara|compón|publica|dame)\b"
    r"(?:\s+(?:me|a|an|the|un|una|el|la|some|short|brief|breve|corto|[1-9]|two|three|dos|tres|"
    r"variants?|variantes?))*"
    r"(?:\s+(?:tweets?|threads?|posts?|comments?|tuits?|tweet|hilos?|comentarios?|mensajes?))?"
    r"(?:\s+(?:about|on|regarding|concerning|of|sobre|acerca de|de|respecto a))?\s+",
    re.IGNORECASE,
)


def web_passages(pages: Iterable[WebPage]) -> list[SourcePassage]:
    """Return the parts of pages, each long enough to be understood alone."""
    return [
        SourcePassage(
            key=f"{page.url}#{part}",
            kind=SourceKind.WEB,
            text=chunk.text,
            title=page.title or page.site or read_host(page.url) or page.url,
            date=page.date,
            url=page.url,
            author=page.author,
            gap=page.query or None,
        )
        for page in pages
        for part, chunk in enumerate(
            split_chunks(Block(text=text) for text in _PARAGRAPH.split(page.text[:_LONGEST_PAGE]))[
                :MAX_CHUNKS
            ],
            start=1,
        )
    ]


def merge_duplicates(
    passages: Sequence[SourcePassage], same: Collection[frozenset[str]] = ()
) -> tuple[list[SourcePassage], int]:
    """Return the passages without repeats of earlier ones, and the number of repeats.

    A repeat has the same words, nearly the same shingles, or is named in `same` as a pair of keys
    whose meaning is the same. A web page that a corpus holds too is a repeat of it.
    """
    held = {
        link_key(passage.url)
        for passage in passages
        if passage.url and passage.kind is SourceKind.INTERNAL
    }
    distinct: list[SourcePassage] = []
    seen: list[frozenset[int]] = []
    pairs = set(same)
    for passage in passages:
        if passage.kind is SourceKind.WEB and passage.url and link_key(passage.url) in held:
            continue
        shingles = _build_shingles(passage.text)
        if any(measure_jaccard(shingles, other) > SAME for other in seen):
            continue
        if pairs and any(frozenset((passage.key, other.key)) in pairs for other in distinct):
            continue
        distinct.append(passage)
        seen.append(shingles)
    return distinct, len(passages) - len(distinct)


def measure_jaccard(words: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of shingles in common, 0..1."""
    if not words or not other:
        return 0.0
    smaller, larger = sorted((len(words), len(other)))
    if smaller < SAME * larger:
        return 0.0
    common = len(words & other)
    return common / (len(words) + len(other) - common)


def _build_shingles(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    if len(words) <= SHINGLE:
        return frozenset({hash(tuple(words))}) if words else frozenset()
    return frozenset(
        hash(tuple(words[at : at + SHINGLE])) for at in range(len(words) - SHINGLE + 1)
    )


def choose_passages(
    passages: Sequence[SourcePassage],
    scores: Mapping[str, float],
    *,
    boost: float,
    maximum: int,
    per_site: int,
    per_gap: int = 1,
) -> list[SourcePassage]:
    """Return the best passages, those of corpora weighing `boost` times as much.

    The request's own texts always stay, and so do the best `per_gap` of each gap. Those of the web
    take a half of the places and one more, or what corpora leave. At most `per_site` of those that
    no gap keeps come from one web site.
    """
    weights = {SourceKind.INTERNAL: boost, SourceKind.WEB: 1.0}
    ordered = sorted(
        (replace(passage, score=scores.get(passage.key, 0.0)) for passage in passages),
        key=lambda each: (not each.pinned, -round(each.score * weights[each.kind], 9)),
    )
    limit_of_web = maximum // 2 + 1
    selected = set(_best_of_gaps(ordered, per_gap)[:limit_of_web])
    sites = Counter(_find_site(passage) for passage in ordered if passage.key in selected)
    for web in (limit_of_web, maximum):
        for passage in ordered:
            site = _find_site(passage)
            full = len(selected) >= maximum or (site and sites[site] >= per_site)
            if site and sites.total() - sites[""] >= web:
                full = True
            if passage.key not in selected and (passage.pinned or not full):
                selected.add(passage.key)
                sites[site] += 1
    return [passage for passage in ordered if passage.key in selected]


def _best_of_gaps(ordered: Sequence[SourcePassage], per_gap: int) -> list[str]:
    """Return the keys of the best passages of each gap, the best of all gaps first."""
    places: dict[int, list[str]] = {}
    counts: Counter[str] = Counter()
    for passage in ordered:
        if passage.gap and not passage.pinned:
            places.setdefault(counts[passage.gap], []).append(passage.key)
            counts[passage.gap] += 1
    return [key for place in range(per_gap) for key in places.get(place, ())]


def _find_site(passage: SourcePassage) -> str:
    if passage.kind is SourceKind.INTERNAL or not passage.url:
        return ""
    return read_host(passage.url).removeprefix("www.")


def extract_topic(prompt: str) -> str:
    """Return what a request is about, without the words that ask for a tweet."""
    rest = _FORM.sub("", _ASKED.sub("", prompt, count=1), count=1).strip()
    return rest if re.search(r"\w", rest) else prompt


def internal_passages(
    request: ComposeRequest,
    texts: Sequence[Found],
    *,
    maximum: int,
    cosines: Mapping[str, float] = MappingProxyType({}),
) -> tuple[SourcePassage, ...]:
    """Return the request's own texts, then at most `maximum` of those found, without repeats.

    `cosines` are those of stored vectors with the request, by key.
    """
    named = {corpus.name: corpus for corpus in request.corpora}
    passages: dict[str, SourcePassage] = {}
    own = len(request.found)
    for at, merged in enumerate((*request.found, *texts[:maximum])):
        passage = source_passage(merged, named.get(merged.corpus), pinned=at < own)
        cosine = cosines.get(passage.key)
        passages.setdefault(passage.key, replace(passage, cosine=cosine))
    return tuple(passages.values())


def source_passage(text: Found, corpus: Corpus | None, *, pinned: bool = False) -> SourcePassage:
    """Return a text of a corpus as a passage that may be cited."""
    candidate = text.hit.candidate
    place = candidate.place
    author = candidate.author or (corpus.author if corpus else None)
    account = f"@{author.removeprefix('@')}" if author else text.corpus
    # The account is the title, and its owner's name for people is the author.
    name = corpus.display_name if corpus and author == corpus.author else None
    return SourcePassage(
        key=passage_key(text),
        kind=SourceKind.INTERNAL,
        text=candidate.text[:_LONGEST_PASSAGE],
        title=place.title if place else account,
        score=min(1.0, max(0.0, text.hit.score)),
        date=candidate.created_at,
        dated_by=candidate.dated_by,
        url=candidate.url,
        page=place.page if place else None,
        last_page=place.last_page if place else None,
        page_label=place.page_label if place else None,
        last_label=place.last_label if place else None,
        pages=place.pages if place else None,
        section=_find_section(place) if place else None,
        author=author if place else name,
        corpus=text.corpus,
        pinned=pinned,
        flags=candidate.flags,
    )


def _find_section(place: ItemPlace) -> str | None:
    """Return the innermost heading above a part, if it is not the title."""
    heading = (place.heading or "").rpartition(" > ")[2]
    if not heading or heading == place.title:
        return None
    line = one_line(heading, _LONGEST_SECTION)
    return line if len(line) == len(heading) else f"{line.rstrip(' …')}…"


def passage_key(text: Found) -> str:
    """Return the identity of a text of a corpus."""
    return f"{text.corpus}:{text.hit.candidate.external_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPassages:
    """The best passages, best first; `notice` says why no reranker ordered them."""

    passages: list[SourcePassage]
    repeats: int = 0
    notice: Message | None = None


async def choose_evidence(
    query: str,
    internal: RetrievedPassages,
    pages: Iterable[WebPage],
    *,
    settings: ComposeSettings,
    reranker: Reranker | None,
) -> ChosenPassages:
    """Return the best passages for a query, as the settings say."""
    together = [*internal.passages, *web_passages(pages)]
    kept, repeats = merge_duplicates(together, internal.alike)
    scores = _score_passages(query, kept)
    boost = settings.internal_boost
    # The limit of a site holds for what is chosen in the end, when its best passages are known.
    first = choose_passages(
        kept,
        scores,
        boost=boost,
        maximum=_RERANKED,
        per_site=_RERANKED,
        per_gap=_RERANKED_OF_GAP,
    )
    reranked, notice = await _rerank_passages(query, first, reranker)
    passages = choose_passages(
        first,
        {**scores, **reranked},
        boost=boost,
        maximum=settings.passages,
        per_site=_PER_SITE,
    )
    return ChosenPassages(passages=passages, repeats=repeats, notice=notice)


async def _rerank_passages(
    query: str, passages: Sequence[SourcePassage], reranker: Reranker | None
) -> tuple[Mapping[str, float], Message | None]:
    """Return the reranker's scores by key, or none and why."""
    if reranker is None or len(passages) < 2:
        return {}, None
    seconds = _RERANK_SECONDS
    own = [passage for passage in passages if passage.kind is SourceKind.INTERNAL]
    has_peers = not own or any(passage.cosine is not None for passage in own)
    scores: dict[str, float] = {}
    try:
        async with asyncio.timeout(seconds):
            for gap, group in _group_by_query(query, passages).items():
                texts = [
                    ScoredText(
                        text=each.text, score=each.score, cosine=each.cosine, has_peers=has_peers
                    )
                    for each in group
                ]
                scored = await reranker.rerank(gap, texts)
                scores |= {each.key: score for each, score in zip(group, scored, strict=False)}
    except TimeoutError:
        reason = Message("The reranker gave nothing within {seconds:g} s.", seconds=seconds)
    except PresagioError as error:
        reason = error.full_message
    else:
        if len(scores) == len(passages):
            return scores, None
        reason = Message("The reranker did not score every passage.")
    return {}, Message("Ordered by words alone: {reason}", reason=reason)


def _score_passages(query: str, passages: Sequence[SourcePassage]) -> dict[str, float]:
    """Return the score of each passage by key: that of its corpus, which knows which words are
    rare, and for the web that of the words of its query among all these passages."""
    scores = {passage.key: passage.score for passage in passages}
    for gap in _group_by_query(query, passages):
        texts = [terms_of(f"{passage.title}\n{passage.text}") for passage in passages]
        for passage, score in zip(passages, scores_of(terms_of(gap), texts), strict=True):
            if passage.kind is SourceKind.WEB and (passage.gap or query) == gap:
                scores[passage.key] = min(1.0, _ON_SCALE * score)
    return scores


def _group_by_query(
    query: str, passages: Sequence[SourcePassage]
) -> dict[str, list[SourcePassage]]:
    """Return passages by what they have to answer: the gap they were found for, or the request."""
    groups: dict[str, list[SourcePassage]] = {}
    for passage in passages:
        groups.setdefault(passage.gap or query, []).append(passage)
    return groups
