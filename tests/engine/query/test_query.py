"""Aliases stand beside what was written, and never where it was meant to the letter."""

from collections.abc import Sequence

import pytest

from engine.messages import Message
from engine.query.parser import parse_query
from engine.query.query import Alternative, Filter, Group, Phrase, Query, Unit, Word

ALIASES: dict[Unit, Sequence[tuple[Unit, float]]] = {
    Word("auth"): [(Word("authentication"), 0.5), (Phrase("log in"), 0.4)],
    Word("authentication"): [(Word("auth"), 0.5)],
    Word("login"): [(Phrase("log in"), 0.4)],
    Phrase("auth"): [(Word("never"), 1.0)],
}


def expanded(text: str) -> str:
    return str(parse_query(text).expand_aliases(lambda unit: ALIASES.get(unit, ())))


def test_required_and_or_words_become_groups() -> None:
    assert expanded("auth token") == '(auth | authentication | "log in") token'
    assert expanded("auth OR login") == '(auth | authentication | "log in" | login)'


def test_phrases_and_excluded_words_are_not_expanded() -> None:
    assert expanded('"auth" -auth') == '"auth" -auth'


def test_a_word_already_in_the_query_is_not_added_as_an_alias() -> None:
    assert expanded("auth OR authentication") == '(auth | "log in" | authentication)'


def test_an_alias_keeps_its_weight_and_the_word_it_stands_for() -> None:
    [group] = parse_query("login").expand_aliases(lambda unit: ALIASES.get(unit, ())).groups
    assert group == Group(
        (
            Alternative(Word("login")),
            Alternative(Phrase("log in"), 0.4, alias_of=Word("login")),
        )
    )


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        (Filter("before", "2015"), "before:2015"),
        (Filter("from", "ana", negated=True), "-from:ana"),
        (Filter("mention", "ana"), "@ana"),
        (Filter("from", "a.b"), "from:a.b"),
        (Filter("from", "ana_"), "from:ana_"),
        (Filter("thread", "a."), 'thread:"a."'),
        (Filter("thread", "a b"), 'thread:"a b"'),
    ],
)
def test_a_filter_is_quoted_only_where_its_value_would_end_early(
    condition: Filter, written: str
) -> None:
    assert str(condition) == written


def test_notices_do_not_affect_query_equality() -> None:
    assert Query(notices=(Message("read as a word"),)) == Query()


QUOTA = Alternative(Word("quota"), 0.5, alias_of=Phrase("rate limit"))


def test_the_alias_of_several_words_is_written_once_after_them() -> None:
    rate, limit = (Group((Alternative(Word(word)), QUOTA)) for word in ("rate", "limit"))
    assert str(Query(groups=(rate, limit))) == "(rate limit | quota)"


def test_a_group_alone_shows_each_alternative() -> None:
    group = Group((Alternative(Word("rate")), Alternative(Word("speed")), QUOTA))
    assert str(Query(groups=(group,))) == "(rate | speed | quota)"
