"""One corpus is meant, or it is said why none is: names, settings, roles and kinds."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from engine.corpora import (
    find_news_corpus,
    list_corpora_of_kind,
    list_default_corpora,
    resolve_corpus,
    role_of_new,
)
from engine.errors import CorpusNotFound, NoCorpora, NotAnswerable, SeveralCorpora
from engine.values import Corpus, CorpusRole, Kind
from tests.engine.candidates import CORPUS


def corpus(name: str, kind: Kind = Kind.TWEETS, role: CorpusRole = CorpusRole.ARCHIVE) -> Corpus:
    return replace(CORPUS, name=name, kind=kind, role=role)


MINE, YOURS = corpus("mine"), corpus("yours")
DIARY, BOOKS = corpus("diary", Kind.PERSONAL), corpus("books", Kind.LIBRARY)
ARTICLES = corpus("articles", Kind.PUBLISHED)
# Roles count, not names.
SAMPLE = corpus("sample", role=CorpusRole.DEMONSTRATION)
WIRE = corpus("wire", Kind.PUBLISHED, CorpusRole.NEWS)
OWN_DEMO, OWN_NEWS = corpus("demo"), corpus("news", Kind.PUBLISHED)


@pytest.mark.parametrize(
    ("corpora", "asked", "expected"),
    [
        ([MINE], {}, "mine"),
        ([MINE, YOURS], {"name": "yours"}, "yours"),
        ([MINE, YOURS], {"configured": "yours"}, "yours"),
        ([MINE, YOURS], {"name": "mine", "configured": "yours"}, "mine"),
        ([MINE, YOURS], {"without": {"mine"}}, "yours"),
        ([SAMPLE], {}, "sample"),
        ([SAMPLE, MINE], {}, "mine"),
        ([SAMPLE, MINE], {"without": {"mine"}}, "sample"),
        ([SAMPLE, MINE], {"name": "sample"}, "sample"),
        ([OWN_DEMO], {}, "demo"),
        ([WIRE, DIARY], {}, "diary"),
        ([WIRE, MINE], {"name": "wire"}, "wire"),
        ([WIRE, MINE], {"kinds": [Kind.PUBLISHED]}, "wire"),
        ([WIRE, ARTICLES], {"kinds": [Kind.PUBLISHED]}, "articles"),
        ([DIARY, BOOKS, ARTICLES, MINE], {}, "mine"),
        ([DIARY, BOOKS, ARTICLES], {}, "articles"),
        ([ARTICLES, BOOKS], {"kinds": [Kind.LIBRARY, Kind.PUBLISHED]}, "books"),
        ([MINE, ARTICLES], {"kinds": [Kind.PUBLISHED], "configured": "mine"}, "articles"),
        ([MINE, YOURS], {"kinds": [Kind.TWEETS], "configured": "yours"}, "yours"),
        ([MINE], {"kinds": [Kind.PUBLISHED, Kind.TWEETS], "name": "mine"}, "mine"),
    ],
)
def test_a_corpus_is_resolved_by_name_or_settings(
    corpora: Sequence[Corpus], asked: dict[str, object], expected: str
) -> None:
    assert resolve_corpus(corpora, **asked).name == expected  # type: ignore[arg-type]  # the table


@pytest.mark.parametrize(
    ("corpora", "asked", "error", "said"),
    [
        ([], {}, NoCorpora, "There is no corpus yet. Load one with: presagio ingest FILE"),
        ([WIRE], {}, NoCorpora, "There is no corpus yet."),
        ([MINE], {"without": {"mine"}}, NoCorpora, "There is no corpus yet."),
        ([], {"name": "x"}, CorpusNotFound, "There is no corpus 'x'. Load one with:"),
        ([MINE, YOURS], {"name": "x"}, CorpusNotFound, "'x'. There are: mine, yours."),
        ([MINE], {"name": "mine", "without": {"mine"}}, CorpusNotFound, "mine is left out by"),
        ([MINE], {"configured": "mine", "without": {"mine"}}, CorpusNotFound, "is left out by"),
        ([SAMPLE, MINE, YOURS], {}, SeveralCorpora, "There are several corpora: mine, yours."),
        (
            [MINE],
            {"kinds": [Kind.PUBLISHED, Kind.LIBRARY]},
            CorpusNotFound,
            "no corpus of the kind published or library.",
        ),
        (
            [MINE],
            {"name": "mine", "kinds": [Kind.PUBLISHED, Kind.LIBRARY]},
            NotAnswerable,
            "Corpus mine is of kind tweets, not published or library.",
        ),
    ],
)
def test_an_unresolvable_corpus_raises_an_explaining_error(
    corpora: Sequence[Corpus], asked: dict[str, object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as raised:
        resolve_corpus(corpora, **asked)  # type: ignore[arg-type]  # the table above
    assert said in str(raised.value)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("corpora", "configured", "expected"),
    [
        ([MINE, YOURS, DIARY, SAMPLE, WIRE], "", {"mine", "yours"}),
        ([MINE, YOURS, DIARY], "diary", {"diary"}),
        ([MINE, YOURS], "hidden", {"mine", "yours"}),
    ],
)
def test_meant_corpora_returns_several_equally_suitable_corpora(
    corpora: Sequence[Corpus], configured: str, expected: Collection[str]
) -> None:
    assert {one.name for one in list_default_corpora(corpora, configured=configured)} == expected


def test_demo_corpora_are_left_out_beside_own_ones() -> None:
    everything = [MINE, SAMPLE, ARTICLES, WIRE]
    assert list_corpora_of_kind(everything, Kind.TWEETS) == [MINE]
    assert list_corpora_of_kind([SAMPLE, WIRE], Kind.TWEETS) == [SAMPLE]
    assert list_corpora_of_kind(everything, Kind.PUBLISHED) == [ARTICLES, WIRE]
    with pytest.raises(CorpusNotFound, match="of the kind personal"):
        list_corpora_of_kind(everything, Kind.PERSONAL)


def test_the_news_are_found_by_their_role() -> None:
    assert find_news_corpus([OWN_NEWS, WIRE]) is WIRE
    with pytest.raises(CorpusNotFound, match="no corpus of news"):
        find_news_corpus([OWN_NEWS])


@pytest.mark.parametrize(
    ("name", "role"),
    [("demo", CorpusRole.DEMONSTRATION), ("news", CorpusRole.NEWS), ("demos", CorpusRole.ARCHIVE)],
)
def test_only_what_the_program_makes_gets_another_role(name: str, role: CorpusRole) -> None:
    assert role_of_new(name) is role
