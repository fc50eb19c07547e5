"""Replies as blocks, judged by the rules that Slack is known to have."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.reply import Action, Button, HitView, Reply
from bot.slack.events import plain_text
from bot.slack.render import escape_mrkdwn, render_blocks, render_fallback
from engine.prophecy.score import Sureness
from tests.fakes.slack.block_kit import check_blocks
from tests.fakes.slack.chat import check_content
from tests.fakes.slack.mrkdwn import Seen, read, read_blocks

WORDS = words_for("en")
HIT = HitView(
    rank=1,
    text="Coffee will be dear",
    author="ana",
    date=datetime(2010, 1, 2, tzinfo=UTC),
    date_text="January 2, 2010",
    age="9 years before",
    url="https://x.com/ana/status/1",
    sureness=Sureness.PERHAPS,
    flags=(),
)
BUTTON = Button(label="More", action=Action(name="more", answer_id=1, value="3"))
HOSTILE = (
    "<!channel> <!here|all> <@U1> <#C1|x> @everyone *bold* _it_ `code` ```block``` <https://a|b>",
    "<!subteam^S1|@team> <!date^1392734382^{date}^https://evil.example|now> &lt;!channel&gt;",
    "\u202eright to left\u202c שלום עולם مرحبا",
    "NUL \0 in the middle",
    "&" * 3000,
    "x" * 100_000,
    "word " * 20_000,
    "<" * 20_000,
    "👩‍👩‍👧‍👦" * 5_000,
    "\n" * 3000 + "end",
    " ",
    "\0",
    "",
)


def reply(text: str, hits: int = 3) -> Reply:
    """A reply that has the text everywhere."""
    hit = replace(HIT, text=text, author=text or None, url=f"https://x.com/{text}")
    return Reply(
        words=WORDS,
        headline=text,
        hits=tuple(replace(hit, rank=rank) for rank in range(1, hits + 1)),
        notice=text,
        buttons=tuple((BUTTON, BUTTON) for _ in range(hits + 1)),
    )


def seen(shown: Reply) -> Seen:
    """What Slack makes of it; it must take it."""
    made = [block.to_dict() for block in render_blocks(shown)]
    check_blocks(made)
    check_content({"text": render_fallback(shown), "blocks": made})
    return read_blocks(made)


def calls_nobody(shown: Reply) -> bool:
    body, head = seen(shown), read(render_fallback(shown), mentions=True)
    called = (body.broadcasts, body.users, body.channels, head.users, head.channels)
    return not any(called) and not read(render_fallback(shown)).broadcasts


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("hits", [1, 3, 50])
def test_hostile_text_fits_the_blocks_without_mentions(text: str, hits: int) -> None:
    assert calls_nobody(reply(text, hits))
    assert calls_nobody(Reply(words=WORDS, text=text))
    assert render_fallback(reply(text, hits))


@given(st.text(max_size=3000))
def test_any_text_fits_the_blocks_without_mentions(text: str) -> None:
    assert calls_nobody(reply(text))


def test_markup_is_shown_as_it_was_written() -> None:
    shown = seen(reply(HOSTILE[0], 1))
    assert shown.text.count(HOSTILE[0]) == 3  # headline, tweet, notice
    assert [link.url for link in shown.links] == []


def test_nothing_is_lost_of_a_tweet_of_ordinary_length() -> None:
    text = "&<>" * 93 + "\nsecond line"
    assert text in seen(reply(text)).text


@pytest.mark.parametrize(
    ("hits", "said"), [(15, ""), (16, "1 more tweet "), (50, "35 more tweets ")]
)
def test_tweets_that_do_not_fit_are_counted(hits: int, said: str) -> None:
    shown = seen(reply("Coffee", hits)).text
    assert shown.count("9 years before") == 15
    assert (f"{said}does not fit" in shown or f"{said}do not fit" in shown) is bool(said)


def test_the_date_leads_to_the_tweet_and_the_facts_are_there() -> None:
    shown = seen(Reply(words=WORDS, headline="News", hits=(replace(HIT, label_unjudged=True),)))
    assert [(link.url, link.label) for link in shown.links] == [(HIT.url, HIT.date_text)]
    facts = "".join(shown.text.split("\n"))
    for fact in ("1. 9 years before", "@ana", "perhaps", "not judged", HIT.text):
        assert fact in facts


def test_the_models_reason_is_only_text() -> None:
    hits = tuple(replace(HIT, rank=rank, why="<!channel> & *bold*") for rank in range(1, 16))
    shown = seen(Reply(words=WORDS, headline="News", hits=hits))
    assert shown.text.count("Why: <!channel> & *bold*") == 15
    assert len(shown.links) == 15


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "https://x.com/a b", "https://x|y>"])
def test_invalid_url_is_not_linked(url: str | None) -> None:
    assert seen(Reply(words=WORDS, headline="News", hits=(replace(HIT, url=url),))).links == ()


@pytest.mark.parametrize("url", [None, HIT.url])
def test_of_a_small_hit_nothing_is_bold(url: str | None) -> None:
    small = replace(HIT, rank=2, small=True, url=url, date_text="Monday")
    hits = (replace(HIT, url=url), small)
    _, body = (
        block.to_dict() for block in render_blocks(Reply(words=WORDS, headline="x", hits=hits))
    )
    parts = [part for section in body["elements"] for part in section["elements"]]
    assert [part["text"] for part in parts if part.get("style")] == [
        "1. 9 years before",
        HIT.date_text,
    ]


def test_addresses_in_the_bots_own_words_can_be_clicked() -> None:
    shown = seen(Reply(words=WORDS, text="1. Look:\nhttps://x.com/ana/status/1\n2. No more"))
    assert [link.url for link in shown.links] == [HIT.url]


def test_inert_text_links_only_addresses_alone_in_their_line() -> None:
    text = "See https://evil.example and think. [1]\n   https://x.com/ana/status/1\n"
    shown = seen(Reply(words=WORDS, text=text, inert=True))
    assert [link.url for link in shown.links] == [HIT.url]
    assert "See https://evil.example and think. [1]" in shown.text


def test_small_hit_shows_its_flags() -> None:
    small = replace(HIT, small=True, flags=("quote", "reply"))
    shown = seen(Reply(words=WORDS, text="So it is.", hits=(small,)))
    assert "January 2, 2010 · quote · reply: Coffee will be dear" in shown.text


@pytest.mark.parametrize("number", [1, 15, 16, 60])
def test_the_last_row_of_buttons_is_never_left_out(number: int) -> None:
    rows = tuple((replace(BUTTON, label=str(row)),) for row in range(number))
    made = [block.to_dict() for block in render_blocks(Reply(words=WORDS, text="x", buttons=rows))]
    check_blocks(made)
    labels = [int(block["elements"][0]["text"]["text"]) for block in made[1:]]
    assert labels == [*range(min(number - 1, 15)), number - 1]


@given(st.text(alphabet="&<>;ltgam!@#|x \u202e", max_size=60))
def test_escaped_text_reads_unchanged(text: str) -> None:
    assert read(escape_mrkdwn(text)).text == text
    assert plain_text(escape_mrkdwn(text)) == text.strip()


def test_undated_hit_links_its_number() -> None:
    whole = replace(HIT, date=None, date_text="", age="", sureness=None)
    small = replace(whole, rank=2, small=True, flags=("quote",))
    shown = seen(Reply(words=WORDS, headline="News", hits=(whole, small)))
    assert [link.url for link in shown.links] == [HIT.url, HIT.url]
    assert "1. @ana" in shown.text
    assert "2. quote: Coffee will be dear" in shown.text
