"""Replies within Telegram's limits, whatever is in them."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.replies.limits import utf16_length
from bot.reply import MAX_HITS, Action, Button, HitView, Reply
from bot.telegram.render import LONGEST_TEXT, render_keyboard, render_messages
from engine.prophecy.score import Sureness
from tests.fakes.telegram.html import parse
from tests.fakes.telegram.text import Entity

WORDS = words_for("en")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def view(text: str, **about: object) -> HitView:
    known = {
        "rank": 1,
        "author": "ana",
        "date": datetime(2012, 3, 14, tzinfo=UTC),
        "date_text": "March 14, 2012",
        "age": "9 years before",
        "url": "https://x.com/ana/status/1",
        "sureness": Sureness.CLOSE,
        "flags": (),
    }
    return HitView(text=text, **(known | about))  # type: ignore[arg-type]  # a table of values


def shown(html: str) -> str:
    """What a person reads."""
    return parse(html)[0]


def at(text: str, entity: Entity) -> str:
    """What an entity covers."""
    units = text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def test_an_answer_shows_headline_text_date_lead_time_and_link() -> None:
    (html,) = render_messages(
        Reply(words=WORDS, headline="It rains", hits=(view("Rain & <wind>"),))
    )
    assert html.splitlines() == [
        "<b>It rains</b>",
        "",
        '<b>1. 9 years before · <a href="https://x.com/ana/status/1">March 14, 2012</a>'
        " · @\u2060ana · close</b>",
        "<blockquote>Rain &amp; &lt;wind&gt;</blockquote>",
    ]


def test_small_hits_are_rendered_as_single_lines() -> None:
    small = view("Wind\nand @sea " + "x" * 900, rank=2, small=True, why="unseen")
    (html,) = render_messages(Reply(words=WORDS, hits=(view("Rain"), small), notice="So it is."))
    first, _, _, line, _, notice = html.splitlines()
    assert first.startswith("<b>1. ")
    assert line.startswith(
        '2. 9 years before · <a href="https://x.com/ana/status/1">March 14, 2012</a>: Wind and @'
    )
    assert len(shown(line)) < 200
    assert "unseen" not in html
    assert notice == "<i>So it is.</i>"


def test_small_hit_shows_its_flags() -> None:
    small = view("RT Wind", rank=2, small=True, flags=("repost", "reply"))
    (html,) = render_messages(Reply(words=WORDS, hits=(view("Rain"), small)))
    assert "March 14, 2012</a> · repost · reply: RT Wind" in html


# What Telegram makes a link, a command or a mention of, where nothing invisible stands between.
LINKED = re.compile(r"://|(?<![\w/])/\w|(?<!\w)[@＠][A-Za-z0-9_]{2}|\w[.。．｡][^\W\d_]")
WRITTEN = (
    *("evil", ".", "。", "com", "/", "//", ":", "http", "https://", "www.", "mailto:", "tg:", "@"),
    *(" ", "\n", "a", "b", "1", "ab", "/start", "https://x.example/a\n"),
)


@given(st.lists(st.sampled_from(WRITTEN), max_size=40).map("".join), st.booleans())
@example("evilhttps://x.example/a", False)
def test_inert_text_has_no_links_and_reads_unchanged(text: str, beside_hits: bool) -> None:
    hits = (view("Rain", rank=2, small=True),) if beside_hits else ()
    reply = Reply(words=WORDS, text=f"So: {text}", hits=hits, inert=True)
    found = "\n".join(map(shown, render_messages(reply)))
    said = found.partition("\n2. 9 years")[0]
    own_line = re.compile(r"^[ \t]*https?://\S+[ \t]*$", re.MULTILINE)
    assert not LINKED.search(own_line.sub("", said)), said
    assert said.replace("\u2060", "").split() == f"So: {text}".split()


DRAFT = "The U.S. said @ana <was> right: https://x.example/a?b=1&c=2 [1]"


@pytest.mark.parametrize("tweets", [(DRAFT,), (DRAFT, '2/2 /start "Again", says evil.com [2]')])
def test_a_draft_is_copied_as_it_is_written(tweets: tuple[str, ...]) -> None:
    lines = ["A draft to copy, @luis.", "", *tweets, "evil.com"]
    reply = Reply(words=WORDS, text="\n".join(lines), notice="@bob", inert=True, copies=tweets)
    (html,) = render_messages(reply)
    text, entities = parse(html)
    assert render_messages(reply, utf16_length(text)) == [html]
    assert [at(text, entity) for entity in entities if entity.type == "pre"] == list(tweets)
    assert "\u2060" not in "".join(tweets)
    assert [part.count("\u2060") for part in (text.partition(tweets[0])[0], text[-20:])] == [1, 2]


def test_a_draft_that_is_too_long_mentions_nobody() -> None:
    tweets = ("@ana " * 500, "@luis " * 500)
    reply = Reply(words=WORDS, text="\n".join(tweets), inert=True, copies=tweets)
    assert not LINKED.search("".join(map(shown, render_messages(reply))))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("/corpus @our_news ana", "/corpus @\u2060our_news ana"),
        ("/why@presagio_bot", "/why@presagio_bot"),
        ("ana@example.org", "ana@example.org"),
        ("5 @ 3, @x, @ñandú", "5 @ 3, @x, @ñandú"),
    ],
)
def test_mentions_are_broken_and_other_text_is_unchanged(written: str, shown: str) -> None:
    assert render_messages(Reply(words=WORDS, text=written)) == [shown]


def test_own_text_of_the_bot_keeps_commands_and_links() -> None:
    (html,) = render_messages(Reply(words=WORDS, text='Send "/help" or see example.org'))
    assert html == 'Send "/help" or see example.org'


def test_the_models_reason_stands_below_the_text_and_is_only_text() -> None:
    hit = view("Rain", why="<b>he</b> & @ana said https://evil.example", url=None)
    (html,) = render_messages(Reply(words=WORDS, headline="It rains", hits=(hit,)))
    assert html.splitlines()[-1] == (
        "<i>Why: &lt;b&gt;he&lt;/b&gt; &amp; @\u2060ana said https://evil.example</i>"
    )


@given(headline=TEXTS, texts=st.lists(TEXTS, max_size=3), notice=TEXTS, times=st.integers(1, 300))
def test_any_answer_is_one_message_that_telegram_takes(
    headline: str, texts: list[str], notice: str, times: int
) -> None:
    hits = tuple(view(text * times, why=text or None) for text in texts)
    reply = Reply(words=WORDS, headline=headline * times or "x", hits=hits, notice=notice * times)
    (html,) = render_messages(reply)
    assert utf16_length(shown(html)) <= LONGEST_TEXT


def test_all_tweets_of_a_full_page_are_shown() -> None:
    hits = tuple(view("word " * 100, rank=rank) for rank in range(1, MAX_HITS + 1))
    (html,) = render_messages(Reply(words=WORDS, headline="x " * 200, hits=hits, notice="y " * 300))
    text = shown(html)
    assert utf16_length(text) <= LONGEST_TEXT
    assert text.count("9 years before") == MAX_HITS
    assert "y y" in text


@given(text=TEXTS, times=st.integers(1, 300))
def test_any_text_is_sent_in_pieces_that_telegram_takes(text: str, times: int) -> None:
    for html in render_messages(Reply(words=WORDS, text=text * times)):
        assert 0 < utf16_length(shown(html)) <= LONGEST_TEXT


def test_long_texts_share_the_room_that_short_ones_leave() -> None:
    hits = (view("short"), view("a " * 5000), view("b " * 5000))
    (html,) = render_messages(Reply(words=WORDS, headline="x", hits=hits))
    text = shown(html)
    assert utf16_length(text) > LONGEST_TEXT - 100
    assert abs(text.count("a ") - text.count("b ")) < 60
    assert "short" in text


def test_small_hits_take_no_length_from_the_first_text() -> None:
    hits = (view("a " * 5000), *(view("b " * 5000, rank=rank, small=True) for rank in (2, 3)))
    (html,) = render_messages(Reply(words=WORDS, hits=hits))
    text = shown(html)
    assert LONGEST_TEXT - 100 < utf16_length(text) <= LONGEST_TEXT
    assert text.count("b ") < 200


@pytest.mark.parametrize("length", [400, 10_000])
def test_a_link_too_long_is_left_out_before_it_spoils_the_message(length: int) -> None:
    address = "https://x.com/" + "y" * length
    (html,) = render_messages(Reply(words=WORDS, headline="x", hits=(view("text", url=address),)))
    assert (address in html) == (length == 400)


def test_link_url_is_escaped_in_its_attribute() -> None:
    hit = view("text", url='https://x.com/"onclick="alert(1)&a=<b>')
    (html,) = render_messages(Reply(words=WORDS, headline="x", hits=(hit,)))
    assert 'href="https://x.com/&quot;onclick=&quot;alert(1)&amp;a=&lt;b&gt;"' in html


def test_a_notice_follows_text_that_has_no_hits() -> None:
    reply = Reply(
        words=words_for("en"), text="Two texts say so.", notice="One filter was read as words."
    )
    assert render_messages(reply) == ["Two texts say so.\n\nOne filter was read as words."]
    assert render_messages(Reply(words=words_for("en"), notice="<b>")) == ["&lt;b&gt;"]


def test_without_buttons_there_is_no_keyboard() -> None:
    assert render_keyboard(()) is None
    assert render_keyboard(((),)) is None


def test_a_button_carries_its_action() -> None:
    markup = render_keyboard(((Button(label="More", action=Action(name="more", answer_id=7)),),))
    assert markup
    assert [(b.text, b.callback_data) for b in markup.inline_keyboard[0]] == [("More", "more:7:")]


def test_undated_hit_links_its_number() -> None:
    hit = view("Rain", date=None, date_text="", age="", sureness=None)
    small = view("Wind", date=None, date_text="", age="", rank=2, small=True, author=None)
    (html,) = render_messages(Reply(words=WORDS, headline="x", hits=(hit, small)))
    assert html.splitlines()[2:] == [
        '<b><a href="https://x.com/ana/status/1">1.</a> @\u2060ana</b>',
        "<blockquote>Rain</blockquote>",
        "",
        '<a href="https://x.com/ana/status/1">2.</a> Wind',
    ]
