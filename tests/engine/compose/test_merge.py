"""Merging passages of corpora and web, and the words that a request is about."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from engine.compose.composition import ComposeRequest, RetrievedPassages, SourceKind
from engine.compose.select import (
    choose_evidence,
    extract_topic,
    internal_passages,
    measure_jaccard,
    merge_duplicates,
    source_passage,
)
from engine.search import ItemPlace
from engine.settings.models import ComposeSettings
from engine.values import Flag
from engine.web.results import WebPage
from tests.engine.compose.bench import Preferring, passage
from tests.engine.passages import ME
from tests.engine.passages import passage as found

TEXT = "The board said on Monday that the price of coffee rose by fourteen percent in one year."


def on_the_web(url: str, text: str = TEXT, key: str | None = None) -> object:
    return passage(text, key=key or url, kind=SourceKind.WEB, url=url, title="Page")


def test_repeated_passages_are_dropped_except_the_first() -> None:
    passages = [
        passage(TEXT, key="a"),
        passage(TEXT.upper() + "!", key="b"),
        passage("The board said: " + TEXT * 3 + " And more.", key="c"),
        passage(TEXT.replace("coffee", "tea").replace("one year", "two years"), key="d"),
    ]
    kept, repeats = merge_duplicates(passages)
    assert [one.key for one in kept] == ["a", "c", "d"] and repeats == 1


def test_a_web_page_already_in_a_corpus_is_a_repeat() -> None:
    held = passage("Short.", key="a", url="https://www.news.example/coffee/")
    page = on_the_web("http://news.example/coffee?utm_source=x", "Something else entirely.")
    assert merge_duplicates([held, page]) == ([held], 1)  # type: ignore[list-item]


def test_jaccard_gives_the_share_of_common_shingles() -> None:
    one = frozenset(range(100))
    assert measure_jaccard(one, one) == 1.0
    assert measure_jaccard(one, frozenset(range(5, 105))) == pytest.approx(95 / 105)
    assert measure_jaccard(one, frozenset()) == 0.0


def test_a_chunk_of_a_library_is_cited_by_item_and_page() -> None:
    one = found("Wheat fell.", id=7, author="Ines")
    place = ItemPlace(item=1, title="Grain report", page=12)
    hit = replace(one.hit, candidate=replace(one.hit.candidate, place=place, url=None))
    request = ComposeRequest(prompt="x", corpora=(ME,), found=(replace(one, hit=hit),))
    (own, other) = internal_passages(
        request, [replace(one, hit=hit), found("Tea.", id=8)], maximum=50
    )
    assert (own.title, own.page, own.author, own.pinned) == ("Grain report", 12, "Ines", True)
    assert (other.title, other.author, other.pinned) == ("@ana", None, False)


@pytest.mark.parametrize(
    ("prompt", "about"),
    [
        ("Write a tweet about coffee prices", "coffee prices"),
        ("write me a short thread on the euro", "the euro"),
        ("Escribe un tuit sobre la inflación", "la inflación"),
        ("Coffee prices", "Coffee prices"),
        ("Writers of the year", "Writers of the year"),
        ("Write", "Write"),
    ],
)
def test_the_topic_of_a_request_is_extracted(prompt: str, about: str) -> None:
    assert extract_topic(prompt) == about


def test_a_passage_from_ocr_is_marked_as_recognised() -> None:
    one = found("Wheat fell.", id=7)
    candidate = replace(one.hit.candidate, flags=Flag.RECOGNISED)
    scanned = replace(one, hit=replace(one.hit, candidate=candidate))
    assert source_passage(scanned, ME).is_recognised
    assert not source_passage(one, ME).is_recognised


@pytest.mark.parametrize("reranked", [False, True])
@pytest.mark.parametrize("score", [0.9, 0.1])
async def test_a_page_found_for_each_gap_reaches_the_evidence(reranked: bool, score: float) -> None:
    """It is ranked by the query that found it, as it has no word of the request; the other places
    are for texts of corpora, however well further pages answer those queries."""
    topics = ("frost", "tariffs", "ships", "wages", "fungus")
    pages = [
        WebPage(
            url=f"https://{name}.example/{part}",
            title="Report",
            text=f"{part} report about {name} in the tropics.",
            query=f"{name} in the tropics",
        )
        for name in topics
        for part in ("first", "second", "third")
    ]
    held = [
        passage(f"The price of coffee rose, said nobody, time {at}.", key=str(at), score=score)
        for at in range(50)
    ]
    found = await choose_evidence(
        "price of coffee",
        RetrievedPassages(passages=tuple(held)),
        pages,
        settings=ComposeSettings(),
        reranker=Preferring("coffee") if reranked else None,
    )
    chosen = found.passages
    assert {urlsplit(one.url or "").hostname for one in chosen if one.gap} == {
        f"{name}.example" for name in topics
    }
    assert len(chosen) == ComposeSettings().passages
    assert len([one for one in chosen if one.gap]) == len(topics)
