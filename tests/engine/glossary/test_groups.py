"""The glossary as values: who stands for whom, and who never does."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.glossary.aliases import expand_query, list_expandable_words
from engine.glossary.groups import (
    Glossary,
    MatchedAlias,
    build_glossary,
    check_terms,
    drop_heard_pairs,
    explain_protection,
    fold_term,
    fold_terms,
    frequent_terms,
    is_exact,
    match_aliases,
    telling_terms,
)
from engine.glossary.suggest import SuggestedPair
from engine.query.parser import parse_query
from engine.query.query import Phrase, Word
from engine.text.terms import Reading
from tests.engine.readings import reading

STOP = {"the", "of", "up"}
WORDS = frozenset({"fed", "federal", "reserve", "apple", "rose", "e", "mail", "new", "york"})


def read(texts: Sequence[str], language: str = "english") -> list[Reading]:
    """Read like a stemmer that knows one ending."""
    return [
        reading(unit, word.lower().strip('"').removesuffix("s"), language=language, position=at)
        for unit, text in enumerate(texts)
        for at, word in enumerate(text.split(), start=1)
        if word.lower() not in STOP
    ]


def known(*groups: tuple[str, ...]) -> Glossary:
    return build_glossary(groups, read([term for group in groups for term in group]))


def written(text: str, have: Glossary) -> str:
    query = parse_query(text)
    return str(
        expand_query(query, have, read([w.text for w in list_expandable_words(query)]), weight=0.5)
    )


GROUPS = known(("auth", "authentication", "sign in"), ("Fed", "Federal Reserve"), ("auth", "login"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("auth", '(auth | authentication | "sign in" | login)'),
        ("AUTHENTICATION", "AUTHENTICATION"),
        ("Authentications", '(Authentications | auth | "sign in")'),
        ("Fed OR train", '(Fed | "Federal Reserve" | train)'),
        ("Fed OR login", '(Fed | "Federal Reserve" | login | auth)'),
        ('"Fed" login -auth -"Fed"', '"Fed" (login | auth) -auth -"Fed"'),
        ("auth OR authentication", '(auth | "sign in" | login | authentication)'),
        ("tag:fed #fed @fed", "tag:fed @fed"),
        ("sign in", "(sign in | auth | authentication)"),
        ("the sign in page", "the (sign in | auth | authentication) page"),
        ("sign OR in", "sign OR in"),
        ("in sign", "in sign"),
        ("federal of reserve", "(federal | Fed) of (reserve | Fed)"),
    ],
)  # fmt: skip
def test_only_required_and_or_words_are_expanded(query: str, expected: str) -> None:
    assert written(query, GROUPS) == expected


DESIGN = known(
    ("auth", "authentication", "sign-in"),
    ("rate limit", "throttle", "quota"),
    ("tariff limit", "customs"),
    ("tariff", "duty"),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("auth rate limit", "(auth | authentication | sign-in) (rate limit | throttle | quota)"),
        ("tariff limit", "((tariff | duty) limit | customs)"),
        ("throttle", '(throttle | "rate limit" | quota)'),
        ('"rate limit"', '"rate limit"'),
        ("rate tea limit", "rate tea limit"),
    ],
)
def test_a_term_of_several_words_expands_within_a_longer_query(query: str, expected: str) -> None:
    assert written(query, DESIGN) == expected


def test_aliases_of_a_multi_word_term_accompany_each_of_its_words() -> None:
    rate, limit = expand_query(
        parse_query("rate limit"), DESIGN, read(["rate", "limit"]), weight=0.5
    ).groups
    assert [(a.unit, a.alias_of) for a in rate.alternatives] == [
        (Word("rate"), None),
        (Word("throttle"), Phrase("rate limit")),
        (Word("quota"), Phrase("rate limit")),
    ]
    assert rate.alternatives[1:] == limit.alternatives[1:]


NAMES = frozenset(fold_terms(["Prometheus", "Sentinel", "Gatekeeper"]))


@pytest.mark.parametrize("name", ["Prometheus", "Sentinel", "gatekeeper", "Sentinel's watch"])
def test_names_that_are_ordinary_words_can_be_protected(name: str) -> None:
    words = {"prometheus", "sentinel", "gatekeeper", "watch", "guard"}.__contains__
    assert explain_protection(name, words) is None
    assert "glossary.protected" in (explain_protection(name, words, NAMES) or "")
    assert is_exact(name, NAMES)
    assert not is_exact(name)


def test_a_protected_name_neither_expands_nor_stands_for_anything() -> None:
    groups = [("sentinel", "guard", "watchman"), ("gatekeeper", "porter")]
    terms = [term for group in groups for term in group]
    have = build_glossary(groups, read(terms), protected=NAMES)
    assert written("guard", have) == "(guard | watchman)"
    assert written("Sentinel", have) == "Sentinel"
    assert written("porter", have) == "porter"
    assert match_aliases(["Sentinel", "guard"], read(["Sentinel", "guard"]), have) == [
        MatchedAlias("guard", "watchman")
    ]


def test_an_alias_carries_its_weight_and_what_it_stands_for() -> None:
    query = parse_query("Fed")
    (group,) = expand_query(query, GROUPS, read(["Fed"]), weight=0.5).groups
    assert [(a.unit, a.weight, a.alias_of) for a in group.alternatives] == [
        (Word("Fed"), 1.0, None),
        (Phrase("Federal Reserve"), 0.5, Word("Fed")),
    ]


@given(st.text(max_size=60))
def test_whatever_is_typed_the_written_query_stays_in_the_expanded_one(text: str) -> None:
    query = parse_query(text)
    wide = expand_query(
        query, GROUPS, read([w.text for w in list_expandable_words(query)]), weight=0.5
    )
    kept = [[a for a in g.alternatives if not a.alias_of] for g in wide.groups]
    assert kept == [list(g.alternatives) for g in query.groups]
    assert (wide.excluded, wide.filters) == (query.excluded, query.filters)


def test_forms_of_one_word_are_no_aliases_of_each_other() -> None:
    assert not known(("car", "cars"))


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        ("Fed up", [("Fed", "Federal Reserve")]),
        ('the "Federal Reserve" meets', [("Federal Reserve", "Fed")]),
        ("Federal of the Reserve", [("Federal of the Reserve", "Fed")]),  # stop words are nothing
        ("Federal train reserve", []),
        ("Reserve Federal", []),
        ("", []),
    ],
)
def test_adjacent_words_expand_as_a_term(headline: str, expected: list[tuple[str, str]]) -> None:
    words = headline.split()
    assert match_aliases(words, read(words), GROUPS) == [MatchedAlias(*one) for one in expected]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Auth", "auth"), ("é tude", "E  TUDE"), ("log-in", "log in"), ("U.S.", "us")],
)
def test_spellings_of_one_term_share_a_key(one: str, other: str) -> None:
    assert fold_term(one) == fold_term(other)


@pytest.mark.parametrize(
    ("term", "why"),
    [
        ("FBI", "acronym"), ("U.S.", "acronym"), ("S&P", "acronym"), ("CEOs", "acronym"),
        ("G20", "acronym"), ("COVID-19", "acronym"), ("FBI director", "acronym"),
        ("snake_case", "identifier"), ("camelCase", "identifier"), ("HTMLParser", "identifier"),
        ("iPhone", "identifier"), ("Kubernetes", "name"), ("Obama's", "name"),
        ("Fed Obama", "name"), ("Fed", None), ("Federal Reserve", None), ("E-mail", None),
        ("auth", None), ("kubernetes", None), ("I", None), ("_x_", None), ("9/11", None),
    ],
)  # fmt: skip
def test_protected_terms_are_explained(term: str, why: str | None) -> None:
    reason = explain_protection(term, WORDS.__contains__)
    assert (reason is None) if why is None else (reason is not None and why in reason)
    assert is_exact(term) == (why in {"acronym", "identifier"})


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (["auth"], "2 to 20"),
        ([f"word{n}" for n in range(21)], "2 to 20"),
        (["auth", "..."], "no letter"),
        (["auth", 'say "hi"'], "a sign"),
        (["auth", "-b"], "a sign"),
        (["auth", "x" * 101], "at most 100"),
        (["bureau", "FBI"], "protected"),
    ],
)
def test_invalid_groups_are_rejected(terms: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_terms(terms, WORDS.__contains__)


def test_a_group_keeps_the_first_spelling_of_each_term() -> None:
    terms = ["Fed", " federal  reserve", "fed"]
    assert check_terms(terms, WORDS.__contains__) == ("Fed", "federal reserve")


def test_suggestions_already_decided_in_another_word_form_are_dropped() -> None:
    found = [
        SuggestedPair(("cars", "automobile"), sure=True),
        SuggestedPair(("car", "cars"), sure=True),
        SuggestedPair(("cars", "train"), sure=False),
    ]
    heard = [("automobiles", "car")]
    texts = [t for p in found for t in p.terms] + [t for pair in heard for t in pair]
    assert drop_heard_pairs(found, heard, read(texts)) == [found[2]]


# Which terms are worth asking about

SAMPLED = frozenset({"fed", "federal", "reserve", "the", "rates", "rise", "again", "of"})


def sampled_terms(*texts: str, minimum: int = 3) -> list[str]:
    return frequent_terms(texts, SAMPLED.__contains__, minimum=minimum)


def test_sampled_terms_keep_their_usual_spelling_most_frequent_first() -> None:
    texts = ["The Federal Reserve meets. rates rise"] * 3 + ["Rates rise", "rates"]
    found = sampled_terms(*texts)
    assert found[0] == "rates"
    assert {"Federal Reserve", "Federal", "Reserve", "meets"} <= set(found)
    assert "federal reserve" not in found


def test_protected_terms_links_handles_and_short_words_are_left_out() -> None:
    texts = ["FBI Obama camelCase snake_case @rates #rates https://x.io/rates is Barack Obama"] * 3
    texts += ["https://rates (x.io/rates) reserve.example/rates@rates @rates.io/rates"] * 3
    assert sampled_terms(*texts) == []


def test_stop_words_and_other_forms_of_a_word_fall_out() -> None:
    readings = [reading(0, "rate"), reading(2, "rate"), reading(3, "rise"), reading(4, "meet")]
    assert telling_terms(["rates", "the", "rate", "rise", "meet"], readings, 2) == ["rates", "rise"]
