"""The grammar of the dialect, row by row, and that any text whatever is a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.query.parser import LONGEST_PART, MAX_PARTS, parse_query
from engine.query.query import Filter, Phrase, Query, Word
from tests.query_texts import query_texts


def groups(query: Query) -> list[list[str]]:
    return [[str(alternative.unit) for alternative in group.alternatives] for group in query.groups]


@pytest.mark.parametrize(
    ("text", "wanted", "excluded", "filters"),
    [
        ("", [], [], []),
        ("wall", [["wall"]], [], []),
        ("border wall", [["border"], ["wall"]], [], []),
        ('"border wall"', [['"border wall"']], [], []),
        ('"  border \n wall "', [['"border wall"']], [], []),
        ("a OR b", [["a", "b"]], [], []),
        ("a OR b c OR d", [["a", "b"], ["c", "d"]], [], []),
        ("a OR OR b", [["a", "b"]], [], []),
        ("a OR -b c", [["a"], ["c"]], ["b"], []),
        ("a OR from:b c", [["a"], ["c"]], [], ["from:b"]),
        ("a or b", [["a"], ["or"], ["b"]], [], []),
        ("-a", [], ["a"], []),
        ('-"a b" c', [["c"]], ['"a b"'], []),
        ("-OR a", [["a"]], ["OR"], []),
        ("a - b", [["a"], ["b"]], [], []),
        ("well-known", [["well-known"]], [], []),
        ('"a b." c "d e"', [['"a b."'], ["c"], ['"d e"']], [], []),
        ("from:ana -from:Ben", [], [], ["from:ana", "-from:ben"]),
        ('from:"Ana Ruiz"', [], [], ['from:"ana ruiz"']),
        ("#Coffee -#Tea", [], [], ["tag:coffee", "-tag:tea"]),
        ('tag:"c++"', [], [], ['tag:"c++"']),
        ("@Ana, -@ben_", [], [], ["@ana", "-@ben_"]),
        ("@ana@example.social", [], [], ["@ana@example.social"]),
        ("thread:-100123", [], [], ["thread:-100123"]),
        ("min:007", [], [], ["min:7"]),
        ("lang:pt-BR lang:Spanish", [], [], ["lang:pt", "lang:spanish"]),
        ("on:2015-03-02z", [], [], ["on:2015-03-02Z"]),
        ("has:media is:repost", [], [], ["has:media", "is:repost"]),
        ("in:Demo", [], [], ["in:demo"]),
        ("a AND b AND -c and", [["a"], ["b"], ["and"]], ["c"], []),
        # Ordinary text: the operators of other languages, and quotes left open.
        ("(A | B) & !(C | D)", [["A"], ["B"], ["C"], ["D"]], [], []),
        ('"open quote', [["open"], ["quote"]], [], []),
        ('12" vinyl "record store"', [["12"], ["vinyl"], ['"record store"']], [], []),
        ('ab"cd ef"', [["ab"], ["cd"], ["ef"]], [], []),
        ("“curly quotes” -«no»", [['"curly quotes"']], ['"no"'], []),
        ('& | ! ( ) : * < > \' \\ - -- " "" #', [], [], []),
        ("10:30", [["10:30"]], [], []),
        ("http://a.example/b", [["http://a.example/b"]], [], []),
        ("#1 #foo-bar @", [["1"], ["foo-bar"]], [], []),
        ("from: x", [["from"], ["x"]], [], []),
        ("a\0b", [["a"], ["b"]], [], []),
        ("हिन्दी \u202eעברית", [["हिन्दी"], ["עברית"]], [], []),
    ],
)
def test_the_grammar_parses_groups_exclusions_and_filters(
    text: str, wanted: list[list[str]], excluded: list[str], filters: list[str]
) -> None:
    query = parse_query(text)
    assert groups(query) == wanted
    assert [str(unit) for unit in query.excluded] == excluded
    assert [str(one) for one in query.filters] == filters


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  wall   -#Tea @Ana  a OR  b", "wall a OR b -tag:tea @ana"),
        ('-x from:"Ana" "a  b"', '"a b" -x from:ana'),
        ("antes:2015 -Desde:2014-03 fecha:2013", "before:2015 -after:2014-03 on:2013"),
    ],
)
def test_queries_have_a_canonical_form(text: str, canonical: str) -> None:
    assert str(parse_query(text)) == canonical


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foo:bar", '"foo:" is no filter, so it was read as a word. There are: before:, after:,'),
        ("before:soon", '"before:soon" is no filter, so it was read as a word. Write for example'),
        ("on:2015-03-02T10:00", '"on:2015-03-02T10:00" is no filter'),
        ("antes:ayer", '"before:ayer" is no filter'),
        ("has:legs", "Write for example: has:media."),
        ("is:odd", "is:repost, is:quote, is:reply, is:truncated, is:deleted."),
        ("a OR", "An OR was left out"),
        ("a OR -b", "An OR was left out"),
        ("from:a OR from:b", "An OR was left out"),
        ("a NOT b", "NOT was read as a word. To leave out a word, write a minus before it"),
        ("x" * (LONGEST_PART + 1), f"What is longer than {LONGEST_PART} characters was left out."),
        (" ".join(map(str, range(99))), f"Only the first {MAX_PARTS} parts of the query count."),
        (" " * 50_001, "Only the first 50000 characters were read."),
    ],
)
def test_notices_explain_input_that_was_reinterpreted(text: str, said: str) -> None:
    assert said in " ".join(parse_query(text).notices)


@pytest.mark.parametrize("text", ["a OR b", "a OR OR b", " " * 50_000])
def test_nothing_is_said_of_what_is_read_as_written(text: str) -> None:
    assert parse_query(text).notices == ()


def test_filters_are_listed_only_for_one_that_there_is_not() -> None:
    assert len(parse_query("a NOT b").notices) == len(parse_query("on:soon").notices) == 1


def test_a_quoted_value_of_an_unknown_filter_is_a_phrase() -> None:
    assert parse_query('-foo:"a b"').excluded == (Word("foo"), Phrase("a b"))


@given(st.text() | query_texts())
def test_any_text_parses_and_its_canonical_form_parses_equally(text: str) -> None:
    query = parse_query(text)
    assert parse_query(str(query)) == query


@given(query_texts())
def test_no_more_than_the_first_parts_count(text: str) -> None:
    query = parse_query(text)
    units = sum(len(group.alternatives) for group in query.groups) + len(query.excluded)
    assert units + len(query.filters) <= MAX_PARTS


@given(
    name=st.sampled_from(["from", "platform", "role", "thread", "tag"]),
    value=st.text(min_size=1, max_size=30),
    negated=st.booleans(),
)
def test_a_quoted_value_comes_back_whole(name: str, value: str, negated: bool) -> None:
    plain = " ".join("".join(c for c in value if c not in '"“”„«»″\0').split())
    written = f'{"-" if negated else ""}{name}:"{plain}"'
    for one in parse_query(written).filters:
        assert parse_query(str(one)).filters == (Filter(one.name, one.value, negated),)


@pytest.mark.parametrize(("longer", "kept"), [(0, True), (1, False)])
def test_a_filter_value_at_the_limit_of_a_part_is_kept(longer: int, kept: bool) -> None:
    value = "x" * (LONGEST_PART + longer)
    query = parse_query(f'thread:"{value}"')
    assert (query.filters == (Filter("thread", value),)) is kept
    assert (query.notices == ()) is kept
