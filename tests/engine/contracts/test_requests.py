"""Fields of a search become filters that hold beside those of the query, and never less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.contracts.requests import PersonalSearch, PublishedSearch, SearchContract, SocialSearch
from engine.query.filters import combine_conditions
from engine.values import Kind
from tests.query_texts import query_texts


@pytest.mark.parametrize(
    ("search", "canonical"),
    [
        (PersonalSearch(query="coffee"), "coffee"),
        (
            PersonalSearch(
                query="coffee -tea",
                date_from="2015-03-02",
                date_to="2015-03-31",
                role="me",
                source="Slack",
                thread_id="C1 general",
                tags=("#Late", "work"),
            ),
            "coffee -tea after:2015-03-02 before:2015-04-01 role:me platform:slack"
            ' thread:"C1 general" tag:late tag:work',
        ),
        (
            SocialSearch(platform="x", hashtags=("ai",), mentions=("@Ben",), min_engagement=10),
            "platform:x tag:ai @ben min:10",
        ),
        (
            PublishedSearch(query='"price of" beans', author="Ana Ruiz", domain="www.Example.org"),
            '"price of" beans from:"ana ruiz" domain:example.org',
        ),
    ],
)
def test_a_search_is_a_query_of_the_dialect(search: SearchContract, canonical: str) -> None:
    assert str(search.to_query()) == canonical


def test_a_date_range_includes_both_days() -> None:
    search = PersonalSearch(date_from="2015-12-31", date_to="2015-12-31")
    found = combine_conditions(search.to_query().filters)
    assert (f"{found.after:%F %T}", f"{found.before:%F %T}") == (
        "2015-12-31 00:00:00",
        "2016-01-01 00:00:00",
    )


def test_a_field_overrides_filters_of_the_query_that_conflict() -> None:
    """Otherwise posts of a platform would be mixed in that the field leaves out."""
    query = SocialSearch(query="ai platform:x -platform:linkedin", platform="mastodon").to_query()
    assert combine_conditions(query.filters).platforms == ("mastodon",)
    assert combine_conditions(query.filters).not_platforms == ("linkedin",)
    assert query.notices == ("Left out, for a field goes before it: platform:x.",)
    query = SocialSearch(query="ai platform:x", platform="x").to_query()
    assert (str(query), query.notices) == ("ai platform:x", ())


def test_the_narrower_of_two_dates_holds() -> None:
    query = PersonalSearch(query="after:2016 before:2020", date_from="2015-01-01").to_query()
    assert f"{combine_conditions(query.filters).after:%F}" == "2016-01-01"


@given(query_texts(), st.sampled_from(["mastodon", "x", "linked in"]))
def test_fields_apply_whatever_the_query_text_says(text: str, platform: str) -> None:
    query = SocialSearch(query=text, platform=platform).to_query()
    assert combine_conditions(query.filters).platforms == (platform,)


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (PersonalSearch, {"limit": 0}, "greater than or equal to 1"),
        (PersonalSearch, {"limit": 101}, "less than or equal to 100"),
        (PersonalSearch, {"platform": "x"}, "Extra inputs"),
        (PersonalSearch, {"role": " "}, "no value for the filter role"),
        (PersonalSearch, {"tags": ("#",)}, "no value for the filter tag"),
        (SocialSearch, {"mentions": ("@",)}, "no value for the filter mention"),
        (PublishedSearch, {"domain": "www."}, "no value for the filter domain"),
        (SocialSearch, {"min_engagement": -1}, "greater than or equal to 0"),
        (SocialSearch, {"comments": 11}, "less than or equal to 10"),
        (SocialSearch, {"date_from": "2020-02-30"}, "date"),
        (SocialSearch, {"date_to": "9999-12-31"}, "must be a year"),
        (SocialSearch, {"date_from": "2020-02-02", "date_to": "2020-02-01"}, "before date_from"),
    ],
)
def test_invalid_field_values_are_rejected(
    kind: type[SearchContract], values: dict[str, object], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        kind.model_validate(values)


def test_limits_and_kinds_are_as_promised() -> None:
    assert (PersonalSearch().limit, SocialSearch().limit, PublishedSearch().limit) == (20, 30, 20)
    kinds = {*PersonalSearch.kinds, *SocialSearch.kinds, *PublishedSearch.kinds}
    assert kinds == set(Kind)
