"""A prophecy in plain words: marks, ages, and honest words when nothing is found."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.i18n.words import Words, words_for
from bot.replies.prophecy import hit_view, notice_of, prophecy_answer, prophecy_reply, say_heading
from bot.replies.receipt import list_reasons
from engine.errors import BudgetExhausted
from engine.messages import Message, as_message
from engine.prophecy.prophecy import NO_MODEL
from engine.search import Hit, HitKind, ItemPlace, Mode, Prophecy, Verdict
from engine.values import Flag
from tests.ages import say_years
from tests.bot.prophecies import NOW, make_hit, make_prophecy, make_term

ENGLISH = words_for("en")
UNKNOWN = "No results, nothing spooky: no old tweet shares a word with this."
UNJUDGED_PARTS = {"judgment": None, "lexical": 0.5, "age": 0.1}


def nothing_for(prophecy: Prophecy) -> str:
    reply = prophecy_reply(prophecy, [], now=NOW, words=ENGLISH)
    assert reply.hits == ()
    return reply.text or ""


def test_ages_count_up_to_the_headline_and_without_its_date_to_now() -> None:
    hit = make_hit(created_at=datetime(2014, 3, 1, tzinfo=UTC))
    dated = make_prophecy(hit, date=datetime(2016, 5, 1, tzinfo=UTC))
    assert prophecy_reply(dated, [hit], now=NOW, words=ENGLISH).hits[0].age == say_years(2, 2)
    undated = prophecy_reply(make_prophecy(hit), [hit], now=NOW, words=ENGLISH)
    assert undated.hits[0].age == say_years(10, 3)
    assert undated.text is None, "it is not called near"


@pytest.mark.parametrize(
    ("original", "compact", "pasted", "headline"),
    [
        ("What of  “Coffee prices  soar”?", True, True, None),
        ("https://news.example/a", True, True, "Coffee prices soar"),
        ("Coffee prices soar", True, False, "Coffee prices soar"),
        ("Coffee prices soar", False, True, "Coffee prices soar"),
    ],
)
def test_a_headline_that_stands_above_is_not_repeated(
    original: str, compact: bool, pasted: bool, headline: str | None
) -> None:
    hit = make_hit()
    prophecy = make_prophecy(hit, original=original)
    reply = prophecy_reply(prophecy, [hit], now=NOW, words=ENGLISH, compact=compact, pasted=pasted)
    assert reply.headline == headline


def test_a_part_of_an_item_is_shown_around_the_words_it_was_found_by() -> None:
    hit = make_hit(text=f"{'Tea. ' * 200}Coffee prices soar.", matched=("coffee", "prices"))
    placed = replace(hit.candidate, place=ItemPlace(item=1, title="Ports", page=5))
    view = hit_view(replace(hit, candidate=placed), NOW, ENGLISH)
    assert (view.text[0], view.text[-12:]) == ("…", "prices soar.")
    assert view.place == "Ports, p. 5"


def test_nearest_hits_have_no_sureness_mark() -> None:
    prophecy = make_prophecy(near=(make_hit(parts=UNJUDGED_PARTS),))
    reply = prophecy_reply(prophecy, prophecy.near, now=NOW, words=ENGLISH, near=True)
    assert reply.text == "Nothing foretold this. Nearest:"
    assert reply.hits[0].marks(ENGLISH) == ("not judged",)


@pytest.mark.parametrize(
    ("text", "original"), [("", ""), ("😀🎉", "😀🎉"), ("", "😀"), ("...", "...")]
)
def test_a_headline_without_words_gets_a_hint(text: str, original: str) -> None:
    prophecy = make_prophecy(
        text=text, original=original, candidates=(), notice="There is no word."
    )
    answer = nothing_for(prophecy)
    assert answer.startswith("No results: there is no word to look for. Try a sentence, such as: ")
    assert answer.count("no word") == 1
    assert prophecy_reply(prophecy, [], now=NOW, words=ENGLISH).notice is None


@pytest.mark.parametrize(
    ("text", "candidates", "expected"),
    [
        ("covfefe", (), UNKNOWN),
        ("Año 新聞", (), UNKNOWN),
        (
            "Coffee prices soar",
            ("11", "12"),
            "No results, nothing spooky: no old tweet foretold this.",
        ),
    ],
)
def test_finding_nothing_is_said(text: str, candidates: tuple[str, ...], expected: str) -> None:
    assert nothing_for(make_prophecy(text=text, candidates=candidates)) == expected


@pytest.mark.parametrize(
    ("about_search", "about_judge", "expected"),
    [
        (None, None, None),
        ("Looked for 'coffee'.", None, "Looked for 'coffee'."),
        (None, "Not judged: no key.", "Not judged: no key."),
        ("Looked for 'coffee'.", "Not judged: no key.", "Looked for 'coffee'. Not judged: no key."),
    ],
)
def test_every_notice_is_told_once(
    about_search: str | None, about_judge: str | None, expected: str | None
) -> None:
    verdict = Verdict(scores={}, notice=as_message(about_judge) if about_judge else None)
    prophecy = make_prophecy(verdict=verdict, notice=about_search)
    assert notice_of(prophecy, ENGLISH) == expected
    assert prophecy_reply(prophecy, [], now=NOW, words=ENGLISH).notice == expected


@pytest.mark.parametrize("compact", [True, False])
def test_only_operators_read_why_a_model_was_not_asked(compact: bool) -> None:
    spent = BudgetExhausted(
        Message("The daily model budget is spent."), fix=Message("Raise budget.daily_usd.")
    )
    verdict = Verdict(scores={}, notice=Message("Not judged: {reason}", reason=spent.full_message))
    prophecy = make_prophecy(verdict=verdict)
    operator = words_for("en", operator=True)

    def notice_in(words: Words) -> str | None:
        return prophecy_reply(prophecy, [], now=NOW, words=words, compact=compact).notice

    assert notice_in(operator) == f"Not judged: {spent}"
    plain = "Not judged: My model has done all that it may today. Try again tomorrow."
    assert notice_in(ENGLISH) == ("I cannot judge just now; ranked by words." if compact else plain)


def test_notice_names_unknown_words_and_their_replacements() -> None:
    terms = (
        make_term("covfefe", frequency=0),
        make_term("coffe", neighbour_of="covfefe"),  # a stem
        make_term("caf", neighbour_of="covfefe"),
        make_term("prices"),
        make_term("zoorl", frequency=0),
        make_term("zoo", neighbour_of="zoorl"),  # which no hit says
    )
    hits = (
        make_hit(1, text="RT @ana: Coffees of the world", matched=("coffe",)),
        make_hit(2, text="El café, dice @caf_net", matched=("caf", "prices")),
        make_hit(3, text="Any coffee left in the zoo?", matched=("prices",)),
    )
    assert notice_of(make_prophecy(*hits, terms=terms, notice="And more."), ENGLISH) == (
        'No tweet says "covfefe"; looked for "Coffees", "café". And more.'
    )
    assert notice_of(make_prophecy(terms=terms, notice="And more."), ENGLISH) == "And more."


def test_notices_are_said_in_the_reader_s_language() -> None:
    verdict = Verdict(scores={}, notice=NO_MODEL)
    notice = Message("Corpus {name} is empty.", name="demo")
    terms = (make_term("coffee", neighbour_of="covfefe"),)
    prophecy = make_prophecy(
        make_hit(matched=("coffee",)), verdict=verdict, notice=notice, terms=terms
    )
    assert notice_of(prophecy, words_for("es")) == (
        "Ningún tuit dice «covfefe»; busqué «coffee». El corpus demo está vacío."
        " Sin evaluar: no hay un modelo de lenguaje configurado."
    )


@pytest.mark.parametrize(
    ("authors", "introduction"),
    [
        (("ana", "ana"), (say_years(10, 3),)),
        (("ana", "luis"), ("@luis", say_years(10, 3))),
        (("luis", "ana"), ("@ana", say_years(10, 3))),
        ((None, None), (say_years(10, 3),)),
        (("ana", None), (say_years(10, 3),)),
    ],
)
def test_short_answer_lines_name_authors_if_they_differ(
    authors: tuple[str | None, ...], introduction: tuple[str, ...]
) -> None:
    hits = [make_hit(rank, author=author) for rank, author in enumerate(authors, start=1)]
    prophecy = make_prophecy(*hits)
    _, line = prophecy_reply(prophecy, hits, now=NOW, words=ENGLISH, compact=True).hits
    assert line.introduction == introduction


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (Mode.LEXICAL, "Not judged: found by the words in common alone."),
        (Mode.RERANK, "Not judged: found by words and meaning."),
    ],
)
def test_notice_without_a_model_names_how_hits_were_found(mode: Mode, said: str) -> None:
    verdict = Verdict(scores={}, notice=NO_MODEL)
    hit = make_hit(1, parts=UNJUDGED_PARTS)
    shown: list[tuple[list[Hit], str | None]] = [([hit], said), ([], None)]
    for hits, notice in shown:
        prophecy = replace(make_prophecy(*hits, verdict=verdict), mode=mode)
        reply = prophecy_reply(prophecy, hits, now=NOW, words=ENGLISH, compact=True)
        assert reply.notice == notice
        assert all("not judged" not in view.marks(ENGLISH) for view in reply.hits)


def test_receipt_of_an_empty_result_says_if_no_model_read_it() -> None:
    verdict = Verdict(scores={}, notice=Message("The model does not answer."))
    assert list_reasons(make_prophecy(verdict=verdict), [], NOW, ENGLISH).endswith(
        "4 tweets share words with the headline, but too few; no model read them."
    )
    assert list_reasons(make_prophecy(), [], NOW, ENGLISH).endswith("but none tells it.")


@pytest.mark.parametrize(
    ("kinds", "english", "spanish"),
    [
        ("prediction", "What was foretold", "Lo que estaba anunciado"),
        ("demand demand", "It was asked for", "Lo habían pedido"),
        ("mirror", "It was once held against others", "Se lo reprochaban a otros"),
        ("earlier_case earlier_case", "It has happened before", "Ya pasó antes"),
        ("prediction earlier_case", "What was said before", "Lo que se dijo antes"),
        ("none", "What was said before", "Lo que se dijo antes"),
        ("guess", "", ""),
        ("prediction guess", "What was foretold", "Lo que estaba anunciado"),
    ],
)
def test_a_heading_says_what_the_answer_is(kinds: str, english: str, spanish: str) -> None:
    guess = make_hit(parts=UNJUDGED_PARTS)
    hits = [
        guess
        if kind == "guess"
        else replace(make_hit(), kind=HitKind.__members__.get(kind.upper()))
        for kind in kinds.split()
    ]
    assert [say_heading(hits, words_for(code)) for code in ("en", "es")] == [english, spanish]


def printed(prophecy: Prophecy, elapsed_ms: float = 12.6) -> dict[str, Any]:
    text = json.dumps(prophecy_answer(prophecy, now=NOW, elapsed_ms=elapsed_ms).to_json())
    result: dict[str, Any] = json.loads(text)
    return result


def test_a_judged_prophecy() -> None:
    hit = make_hit(flags=Flag.REPOST | Flag.TRUNCATED, factors={"repost": 0.5}, text="Café ☕")
    date = datetime(2020, 1, 1, tzinfo=UTC)
    assert printed(make_prophecy(hit, original="Coffee prices soar - BBC", date=date)) == {
        "query": "Coffee prices soar - BBC",
        "headline": "Coffee prices soar",
        "date": "2020-01-01T00:00:00+00:00",
        "corpus": "demo",
        "judged": True,
        "model": "openai/gpt-5-mini",
        "prompt_version": "3",
        "cached": False,
        "mode": "lexical",
        "embedding_model": None,
        "compared": 0,
        "candidates": 4,
        "coverage": 0.61,
        "elapsed_ms": 13,
        "phrases": [],
        "phrases_ms": None,
        "phrases_late": False,
        "usage": {"prompt_tokens": 4321, "completion_tokens": 56, "cost_usd": 0.00123},
        "notice": None,
        "hits": [
            {
                "rank": 1,
                "id": "9007199254740993",
                "created_at": "2014-03-01T09:00:00+00:00",
                "dated_by": None,
                "age": "5 years, 9 months before",
                "text": "Café ☕",
                "place": None,
                "url": "https://x.com/ana/status/9007199254740993",
                "author": "ana",
                "corpus": None,
                "score": 0.8346,
                "parts": {"judgment": 1.0, "lexical": 0.4242, "age": 0.9, "semantic": None},
                "factors": {"repost": 0.5},
                "matched": ["coffee", "prices"],
                "why": None,
                "kind": "prediction",
                "sureness": "foretold",
                "proposed_by": {},
                "asked_for": {},
                "flags": ["repost", "truncated"],
            }
        ],
        "near": [],
    }


def test_json_of_hybrid_search_has_model_and_proposing_lists() -> None:
    hit = make_hit()
    found = replace(hit, candidate=replace(hit.candidate, ranks={"lexical": 2, "semantic": 7}))
    prophecy = replace(make_prophecy(found), mode=Mode.HYBRID, embedding_model="m-small")
    result = printed(prophecy)
    assert (result["mode"], result["embedding_model"]) == ("hybrid", "m-small")
    assert result["hits"][0]["proposed_by"] == {"lexical": 2, "semantic": 7}
