"""The ranking of finds in corpora of each kind.

A profile is a weighted mean of features, each a pure function to 0..1, over the features that are
present in the answer (None = unknown). docs/kinds.md explains each of them.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from engine.query.query import Group, Query
from engine.query.types import FoundDocument, Scored
from engine.ranking.profile import Parts, best_first, level, weighted_mean
from engine.settings.finding import PersonalSettings, PublishedSettings, SocialSettings

_ROLES = frozenset({"me", "user", "others", "assistant", "system", "tool"})
_SECONDS_A_DAY = 86_400


KindProfile = PersonalSettings | SocialSettings | PublishedSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureContext:
    """What the features need besides the document. `now` may be None if it is not known."""

    query: Query
    reference: float  # BM25 of a text of average length that has each part of the query once
    now: datetime | None
    threads: Mapping[str | None, int] = field(default_factory=dict)  # thread -> candidates in it


def lexical_share(bm25: float, reference: float) -> float:
    """Return BM25 as a share below 1: one half for a text that has each part once.

    bm25 / (bm25 + reference) keeps the order of BM25, and depends on no other document.
    """
    return bm25 / (bm25 + reference) if bm25 > 0 and reference > 0 else 0.0


def recency(created_at: datetime, now: datetime, decay_days: float) -> float:
    """Return exp(-days / decay_days): 1 for a text that is new or dated in the future."""
    days = max(0.0, (now - created_at).total_seconds() / _SECONDS_A_DAY)
    return math.exp(-days / decay_days)


def is_preferred(role: str | None, preferred: Collection[str]) -> float | None:
    """Return 1 for a preferred role, 0 for any other, None if the role is not known."""
    known = (role or "").casefold()
    if known in {one.casefold() for one in preferred}:
        return 1.0
    return 0.0 if known in _ROLES else None


def focus(same_thread: int) -> float:
    """Return how much a thread is about the query: 0 for one candidate in it, then 1/2, 3/4..."""
    return 1.0 - 0.5 ** max(0, same_thread)


def engagement(count: int, full: int) -> float:
    """Return likes and reposts on a logarithmic scale: log1p(count) / log1p(full), at most 1."""
    return min(1.0, math.log1p(max(0, count)) / math.log1p(full))


def hashtags(groups: Sequence[Group], tags: Collection[str]) -> float:
    """Return the share of the wanted words (phrases joined) that are tags of the post."""
    if not groups:
        return 0.0
    own = {_joined(tag) for tag in tags}
    met = sum(any(_joined(one.unit.text) in own for one in group.alternatives) for group in groups)
    return met / len(groups)


def authority(
    author: str | None, domain: str | None, known: Mapping[str, float], otherwise: float
) -> float | None:
    """Return the worth of the author or the domain, whichever is higher; a domain includes its
    subdomains. None if the settings name no worths."""
    if not known:
        return None
    names = [(author or "").casefold().removeprefix("@"), *_domains(domain)]
    return max((known[name] for name in names if name in known), default=otherwise)


def _domains(domain: str | None) -> list[str]:
    """Return a domain and its parents: "blog.example.org", "example.org", "org"."""
    labels = (domain or "").casefold().split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


def _joined(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def ranked(
    documents: Sequence[FoundDocument], asked: FeatureContext, profile: KindProfile
) -> list[Scored]:
    """Return the documents by score, best first, ties by date then id."""
    threads = Counter(one.thread for one in documents)
    asked = replace(asked, threads=threads)
    weights = {name: weight for name, weight in profile.weights.items() if weight > 0}
    known = [features(one, asked, profile) for one in documents]
    parts = level([{name: its[name] for name in weights} for its in known], weights)
    scored = [
        (weighted_mean(its, weights), one, its) for one, its in zip(documents, parts, strict=True)
    ]
    scored.sort(key=lambda found: best_first(found[0], found[1].candidate))
    return [Scored(one, score, its) for score, one, its in scored]


def features(found: FoundDocument, asked: FeatureContext, profile: KindProfile) -> Parts:
    """Return the features of a document that the profile weighs, by name."""
    lexical = lexical_share(found.candidate.bm25, asked.reference)
    match profile:
        case PersonalSettings():
            return {
                "lexical": lexical,
                "recency": _recency(found, asked, profile.decay_days),
                "role": is_preferred(found.role, profile.preferred_roles),
                "thread": focus(asked.threads.get(found.thread, 1) - 1) if found.thread else 0.0,
            }
        case SocialSettings():
            return {
                "lexical": lexical,
                "recency": _recency(found, asked, profile.decay_days),
                "engagement": engagement(found.engagement, profile.engagement_full),
                "hashtags": hashtags(asked.query.groups, found.tags),
            }
        case PublishedSettings():
            return {
                "lexical": lexical,
                "authority": authority(
                    found.candidate.author,
                    found.domain,
                    profile.worths,
                    profile.authority_otherwise,
                ),
            }


def _recency(found: FoundDocument, asked: FeatureContext, decay_days: float) -> float | None:
    return recency(found.candidate.created_at, asked.now, decay_days) if asked.now else None
