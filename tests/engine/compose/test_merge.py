"""Merging passages of corpora and web, and the words that a request is about."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from engine.compose.composition import ComposeRequest, RetrievedPassages, SourceKind
from engine.compose.select import (
    Chooser,
    by_words,
    choose_passages,
    extract_topic,
    internal_passages,
    measure_jaccard,
    merge_duplicates,
    source_passage,
    web_passages,
)
from engine.search import ItemPlace
from engine.settings.models import ComposeSettings
from engine.values import Flag, ScoredText
from engine.web.results import WebPage
from tests.engine.compose.bench import Preferring, passage
from tests.engine.passages import ME, scored
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


def test_passages_with_equal_vectors_are_repeats() -> None:
    one, other = passage("Coffee is dear.", key="a"), passage("Coffee costs a lot.", key="b")
    assert merge_duplicates([one, other], [frozenset(("a", "b"))])[0] == [one]


def test_jaccard_gives_the_share_of_common_shingles() -> None:
    one = frozenset(range(100))
    assert measure_jaccard(one, one) == 1.0
    assert measure_jaccard(one, frozenset(range(5, 105))) == pytest.approx(95 / 105)
    assert measure_jaccard(one, frozenset()) == 0.0


def test_corpora_weigh_more_and_a_site_has_at_most_two() -> None:
    pages = [on_the_web(f"https://www.news.example/{n}", f"{n}") for n in range(4)]
    own = passage("own", key="own")
    scores = {page.key: 0.9 for page in pages} | {"own": 0.61}  # type: ignore[attr-defined]
    chosen = choose_passages([*pages, own], scores, boost=1.5, maximum=8, per_site=2)  # type: ignore[list-item]
    assert [one.key for one in chosen] == [
        *("own", "https://www.news.example/0", "https://www.news.example/1"),
    ]
    chosen = choose_passages([*pages, own], scores, boost=1.0, maximum=1, per_site=2)  # type: ignore[list-item]
    assert [one.key for one in chosen] == ["https://www.news.example/0"]


def test_words_order_passages_in_any_form_and_accent() -> None:
    texts = ["Nada de eso.", "La inflación subió.", "Inflacion e inflación: la inflación otra vez."]
    passages = [passage(text, key=str(n), title="") for n, text in enumerate(texts)]
    scores = by_words("la INFLACIÓN", passages)
    assert 0 == scores[0] < scores[1] < scores[2] <= 1
    assert by_words("", passages) == [0.0, 0.0, 0.0] and by_words("x", []) == []


async def test_passages_of_a_corpus_keep_the_order_that_it_gave_them() -> None:
    texts = ["Coffee coffee coffee.", "The harvest of coffee failed.", "Frost."]
    held = [passage(text, key=str(n), score=0.2 + n / 10) for n, text in enumerate(texts)]
    chooser = Chooser(ComposeSettings(), None)
    chosen = await chooser.choose("coffee", RetrievedPassages(passages=tuple(held)), [])
    assert [one.key for one in chosen.passages] == ["2", "1", "0"]


async def test_pages_are_scored_on_the_scale_of_corpora() -> None:
    held = (passage("Tea is cheap.", key="own", score=0.3), passage("Rain.", key="low", score=0.0))
    pages = [WebPage(url=f"https://{n}.example/", title="", text=t) for n, t in enumerate([TEXT])]
    chooser = Chooser(ComposeSettings(internal_boost=1), None)
    chosen = await chooser.choose("price of coffee", RetrievedPassages(passages=held), pages)
    (page, *_) = chosen.passages
    assert page.kind is SourceKind.WEB and 0.6 < page.score <= 1
    assert [one.key for one in chosen.passages[1:]] == ["own", "low"]


async def test_a_reranker_receives_known_cosines() -> None:
    class Asked:
        name = "stand-in"
        texts: Sequence[ScoredText] = ()

        async def rerank(self, query: str, texts: Sequence[ScoredText]) -> Sequence[float]:
            self.texts = texts
            return [text.cosine or 0.0 for text in texts]

    held = [passage(f"{n}", key=str(n), score=0.5) for n in range(2)]
    known = tuple(replace(one, cosine=0.5 + n / 4) for n, one in enumerate(held))
    asked = Asked()
    chosen = await Chooser(ComposeSettings(), asked).choose(
        "coffee", RetrievedPassages(passages=known), []
    )
    assert asked.texts == scored(["0", "1"], [0.5, 0.5], [0.5, 0.75])
    assert [one.key for one in chosen.passages] == ["1", "0"]


def test_pages_become_passages_with_their_own_address() -> None:
    date = datetime(2026, 1, 2, tzinfo=UTC)
    text = "\n\n".join(
        f"Paragraph {n}. " + "Words fill this line up to the end. " * 12 for n in range(12)
    )
    page = WebPage(url="https://a.example/x", title="T", text=text, author="Ana", date=date)
    parts = web_passages([page, WebPage(url="https://b.example/", title="", text="Short.")])
    assert len(parts) > 3 and len({part.key for part in parts}) == len(parts)
    first = parts[0]
    assert (first.url, first.title, first.author, first.date) == (page.url, "T", "Ana", date)
    assert parts[-1].title == "b.example" and parts[-1].text == "Short."


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
        ("Redacta un hilo acerca de los trenes", "los trenes"),
        ("A tweet about rain", "rain"),
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
    chooser = Chooser(ComposeSettings(), Preferring("coffee") if reranked else None)
    found = await chooser.choose("price of coffee", RetrievedPassages(passages=tuple(held)), pages)
    chosen = found.passages
    assert {urlsplit(one.url or "").hostname for one in chosen if one.gap} == {
        f"{name}.example" for name in topics
    }
    assert len(chosen) == ComposeSettings().passages
    assert len([one for one in chosen if one.gap]) == len(topics)
