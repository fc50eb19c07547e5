"""Features are 0..1 and move the right way; profiles order deterministically."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.query.find import (
    FeatureContext,
    compute_features,
    is_preferred,
    lexical_share,
    rank_documents,
    weigh_authority,
    weigh_engagement,
    weigh_hashtags,
    weigh_recency,
)
from engine.query.parser import parse_query
from engine.query.results import FoundDocument
from engine.settings.searching import (
    FindSettings,
    KindProfile,
    PersonalSettings,
    PublishedSettings,
    list_profiles,
)
from engine.values import Kind
from tests.bot.finds import make_find_hit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROFILES = FindSettings().profiles
PERSONAL, SOCIAL, PUBLISHED = (
    PROFILES[kind] for kind in (Kind.PERSONAL, Kind.SOCIAL, Kind.PUBLISHED)
)
ASKED = FeatureContext(query=parse_query("coffee prices"), reference=2.0, now=NOW)


def found(
    number: int = 1, *, bm25: float = 2.0, days: float = 0, **changes: object
) -> FoundDocument:
    hit = make_find_hit(number, score=bm25, created_at=NOW - timedelta(days=days))
    return replace(hit.document, **changes)  # type: ignore[arg-type]  # fields of FoundDocument


def order(
    profile: KindProfile, *documents: FoundDocument, asked: FeatureContext = ASKED
) -> list[int]:
    return [
        document.document.candidate.id for document in rank_documents(documents, asked, profile)
    ]


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_lexical_keeps_the_order_of_bm25_below_one(one: float, other: float, whole: float) -> None:
    assert 0 <= lexical_share(one, whole) <= 1
    if one < other:
        assert lexical_share(one, whole) <= lexical_share(other, whole)


@pytest.mark.parametrize(
    ("days", "expected"), [(0, 1), (180, 1 / math.e), (360, math.exp(-2)), (-5, 1)]
)
def test_recency_is_the_exponential_of_the_age(days: float, expected: float) -> None:
    assert weigh_recency(NOW - timedelta(days=days), NOW, 180) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("role", "expected"),
    [("me", 1), ("others", 0), (None, None), ("editor", None)],
)
def test_own_messages_count_and_an_unknown_role_is_neutral(
    role: str | None, expected: float | None
) -> None:
    assert is_preferred(role, ("me", "user")) == expected


def test_the_answers_of_an_assistant_are_preferred_where_so_set() -> None:
    """The other way round, as one of the designs has it."""
    own = PersonalSettings(preferred_roles=("assistant",))
    assistants = list_profiles(own, PublishedSettings())[Kind.PERSONAL]
    messages = (found(1, role="user"), found(2, role="assistant"))
    assert order(PERSONAL, *messages) == [1, 2]
    assert order(assistants, *messages) == [2, 1]


@pytest.mark.parametrize(("count", "expected"), [(-1, 0), (0, 0), (9, 1 / 3), (999, 1), (10**9, 1)])
def test_engagement_is_logarithmic_up_to_full(count: int, expected: float) -> None:
    assert weigh_engagement(count, 999) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("coffee", 1),
        ("coffee tea", 0.5),
        ("tea OR coffee", 1),
        ('"Coffee Prices"', 1),
        ("prices", 0),
        ("", 0),
    ],
)
def test_hashtags_are_the_share_of_the_words_that_are_tags(query: str, expected: float) -> None:
    assert weigh_hashtags(parse_query(query).groups, ("coffee", "coffeeprices")) == expected


@pytest.mark.parametrize(
    ("author", "domain", "expected"),
    [
        ("Ana", None, 0.9),
        (None, "example.org", 0.7),
        ("eve", "blog.example.org", 0.7),
        ("ana", "example.org", 0.9),
        ("eve", "notexample.org", 0.2),
        (None, None, 0.2),
    ],
)
def test_authority_is_that_of_the_author_or_of_a_domain_above(
    author: str | None, domain: str | None, expected: float
) -> None:
    assert weigh_authority(author, domain, {"ana": 0.9, "example.org": 0.7}, 0.2) == expected


def test_social_profile_prefers_liked_tagged_and_newer_posts() -> None:
    assert order(SOCIAL, found(1), found(2, engagement=500)) == [2, 1]
    assert order(SOCIAL, found(1), found(2, tags=("coffee",))) == [2, 1]
    assert order(SOCIAL, found(1, days=60), found(2, days=1)) == [2, 1]


@given(st.permutations([found(n, bm25=float(n % 3), days=n % 2) for n in range(8)]))
def test_the_order_does_not_depend_on_how_candidates_came(documents: list[FoundDocument]) -> None:
    usual = [found(n, bm25=float(n % 3), days=n % 2) for n in range(8)]
    assert order(SOCIAL, *documents) == order(SOCIAL, *usual)


@pytest.mark.parametrize("profile", [PERSONAL, SOCIAL, PUBLISHED])
def test_scores_are_between_zero_and_one_with_the_weighted_parts(profile: KindProfile) -> None:
    document = found(1, engagement=10**9, tags=("coffee",), role="me")
    [one] = rank_documents([document], ASKED, profile)
    assert one.score is not None
    assert 0 <= one.score <= 1
    assert set(one.parts) == set(profile.weights) == set(compute_features(document, ASKED, profile))
    assert all(part is None or 0 <= part <= 1 for part in one.parts.values())
