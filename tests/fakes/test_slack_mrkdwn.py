"""What a person sees of a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.slack.mrkdwn import Link, Seen, escaped, read, read_blocks, rich_text, typed


@pytest.mark.parametrize(
    ("wire", "seen"),
    [
        ("plain", Seen("plain")),
        ("a &lt; b &amp;amp; c", Seen("a < b &amp; c")),
        ("<!channel> look", Seen("@channel look", broadcasts=("channel",))),
        ("<!here|here>", Seen("@here", broadcasts=("here",))),
        ("<!subteam^S1|@crew>", Seen("@@crew", broadcasts=("S1",))),
        ("<@U1>", Seen("@U1", users=("U1",))),
        ("<@U1|alice>", Seen("@alice", users=("U1",))),
        ("<#C1|general>", Seen("#general", channels=("C1",))),
        ("<!date^0^{date}|long ago>", Seen("long ago")),
        ("<https://a.b/?x&amp;y|it>", Seen("it", links=(Link("https://a.b/?x&y", "it"),))),
        ("<!date^0^{date}^http://a.b|then>", Seen("then", links=(Link("http://a.b", "then"),))),
        ("see http://a.b", Seen("see http://a.b", links=(Link("http://a.b", "http://a.b"),))),
        ("@channel in a text is no call", Seen("@channel in a text is no call")),
        ("&lt;!channel&gt;", Seen("<!channel>")),
    ],
)
def test_control_sequences_become_mentions_and_links(wire: str, seen: Seen) -> None:
    assert read(wire) == seen


@given(st.text())
def test_escaped_text_is_shown_as_it_was_and_calls_nobody(text: str) -> None:
    assert read(escaped(text), verbatim=True) == Seen(text)


@given(st.text())
def test_typed_text_is_shown_as_it_was(text: str) -> None:
    seen = read(typed(text))
    assert seen.text == text
    assert not seen.users
    assert not seen.broadcasts


@given(st.text(min_size=1))
def test_typed_text_looks_the_same_in_the_block_of_a_client(text: str) -> None:
    assert read_blocks(rich_text(typed(text), "b")).text == text.replace("\n", "")


def section(text: str, **options: object) -> list[dict[str, object]]:
    return [{"type": "section", "text": {"type": "mrkdwn", "text": text, **options}}]


def test_mrkdwn_in_blocks_is_parsed_for_calls_unless_verbatim() -> None:
    assert read_blocks(section("ask @here or @channel")).broadcasts == ("here", "channel")
    assert read_blocks(section("ask @here", verbatim=True)).broadcasts == ()
    assert read_blocks(section("mail me@here.com", verbatim=False)).broadcasts == ()
    assert read_blocks(section("<!here>", verbatim=True)).broadcasts == ("here",)


def test_plain_text_blocks_mention_nobody() -> None:
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": "<!channel> @here"}}]
    assert read_blocks(blocks) == Seen("<!channel> @here")


def test_rich_text_mentions_and_links_are_read() -> None:
    wire = "hi <@U1> <!here> in <#C1> and <https://a.b|there>"
    assert read_blocks(rich_text(wire, "b")) == read(wire)


def test_markdown_links_are_recognised() -> None:
    seen = read_blocks([{"type": "markdown", "text": "[click](https://a.b) <!channel>"}])
    assert Link("https://a.b", "click") in seen.links
    assert seen.broadcasts == ("channel",)


def test_blocks_are_read_line_by_line() -> None:
    buttons = [{"type": "button", "text": {"type": "plain_text", "text": name}} for name in "ab"]
    image = {"type": "image", "image_url": "https://a.b/c.png", "alt_text": "a cat"}
    context = {"type": "context", "elements": [image]}
    blocks = [*section("first"), context, {"type": "actions", "elements": buttons}]
    assert read_blocks(blocks).text == "first\na cat\na\nb"
