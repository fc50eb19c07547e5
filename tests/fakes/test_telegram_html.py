"""The stand-in reads HTML as strictly as Telegram; python-telegram-bot writes it back as judge."""

import html as escaping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import Chat, Message, MessageEntity

from tests.fakes.telegram.errors import Refusal
from tests.fakes.telegram.html import parse
from tests.fakes.telegram.text import Entity, clean, finished, piece, units

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@given(_TEXTS)
def test_escaped_text_comes_back_as_it_was(text: str) -> None:
    assert parse(escaping.escape(text, quote=False)) == (text, [])


@given(st.lists(st.tuples(st.sampled_from(["b", "i", "u", "s", "code"]), _TEXTS), max_size=6))
def test_entities_mark_the_text_between_their_tags(parts: list[tuple[str, str]]) -> None:
    markup = "".join(f"<{tag}>{escaping.escape(text)}</{tag}>" for tag, text in parts)
    text, entities = parse(markup)
    marked = [piece(text, entity.offset, entity.end) for entity in entities]
    assert marked == [part for _, part in parts if part]


@pytest.mark.parametrize(
    "markup",
    [
        "plain &amp; <b>bold</b> &lt;b&gt;",
        '<a href="https://x.example/?a=1">🎉 a link</a> after',
        "<b>one <i>two</i></b> <u>three</u> <s>four</s> <code>f(x)</code>",
        "<blockquote>said 😀 he</blockquote><tg-spoiler>hidden</tg-spoiler>",
        "<pre>lines\nof code</pre> <blockquote expandable>long</blockquote>",
    ],
)
def test_python_telegram_bot_writes_the_same_markup_from_our_entities(markup: str) -> None:
    text, entities = parse(markup)
    message = Message(
        message_id=1,
        date=datetime.now(UTC),
        chat=Chat(1, "private"),
        text=text,
        entities=[MessageEntity.de_json(entity.payload(), None) for entity in entities],
    )
    written = message.text_html.replace('<span class="tg-spoiler">', "<tg-spoiler>")
    assert written.replace("</span>", "</tg-spoiler>") == markup


@pytest.mark.parametrize(
    ("markup", "complaint"),
    [
        ("<b>open", "Can't find end tag corresponding to start tag b"),
        ("close</b>", "Unexpected end tag at byte offset 5"),
        ("<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("<p>x</p>", 'Unsupported start tag "p" at byte offset 0'),
        ("é <br>", 'Unsupported start tag "br" at byte offset 3'),
        ("1 < 2", 'Unsupported start tag "" at byte offset 2'),
        ("<!-- x -->", 'Unsupported start tag "!--" at byte offset 0'),
        ("<b", "Unclosed start tag"),
        ("<b>x</b", "Unclosed end tag"),
        ('<b class="x">y</b>', 'Unsupported attribute "class"'),
        ('<a href="x>y</a>', 'Expected equal sign in the tag "a"'),
        ("<a href>y</a>", 'Expected equal sign in the tag "a"'),
    ],
)
def test_malformed_markup_is_refused(markup: str, complaint: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(markup)
    assert refused.value.description.startswith("Bad Request: can't parse entities: ")
    assert complaint in refused.value.description


def test_the_target_of_a_link_is_unescaped() -> None:
    (link,) = parse('<a href="https://x.example/?a=1&amp;b=2">x</a>')[1]
    assert link.url == "https://x.example/?a=1&b=2"


@pytest.mark.parametrize("target", ["javascript:alert(1)", "", "not a link"])
def test_a_link_that_leads_nowhere_is_dropped_and_its_text_kept(target: str) -> None:
    assert parse(f'<a href="{target}">click here</a>') == ("click here", [])


def test_only_four_names_are_character_references() -> None:
    assert parse("&lt;&gt;&amp;&quot;&#65;&#x42;&nbsp;&apos;&#0;")[0] == '<>&"AB&nbsp;&apos;&#0;'


def test_a_reference_smuggles_no_control_character_in() -> None:
    assert parse("a&#1;b&#8238;<b>c</b>") == ("a bc", [Entity("bold", 3, 1)])


def test_lengths_are_counted_in_utf16_units() -> None:
    assert units("aé😀") == 4
    assert parse("😀<b>x</b>")[1] == [Entity("bold", 2, 1)]


def test_control_characters_and_bidi_overrides_are_removed() -> None:
    assert clean("a\0b\tc\r\nd\u202ee\u2028f") == "a b c\ndef"


def test_outer_whitespace_is_trimmed_and_entity_offsets_follow() -> None:
    done = finished("  bold  ", [Entity("bold", 0, 8)])
    assert (done.text, done.entities) == ("bold", (Entity("bold", 0, 4),))


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("/start@presagio_bot now", "bot_command", ["/start@presagio_bot"]),
        ("and/or a/b /p", "bot_command", ["/p"]),
        ("see https://a.example/b?c=d, and bbc.com/news.", "url", None),
        ("@presagio_bot x me@bbc.com", "mention", ["@presagio_bot"]),
        ("me@bbc.com", "email", ["me@bbc.com"]),
        ("#news #1 a#b", "hashtag", ["#news"]),
    ],
)
def test_commands_mentions_and_links_are_detected(
    text: str, kind: str, found: list[str] | None
) -> None:
    expected = ["https://a.example/b?c=d", "bbc.com/news"] if found is None else found
    assert finished(text).marked(kind) == expected


def test_no_entities_are_detected_inside_code() -> None:
    text, entities = parse("<code>/start bbc.com</code> /help")
    done = finished(text, entities)
    assert done.marked("bot_command") == ["/help"]
    assert done.marked("url") == []
