"""HTML of posts and articles as text."""

import pytest

from engine.ingest.parsers.html import html_text
from tests.patterns import grows_faster, needs_timer


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One</p><p>Two<br />three</p>", "One\n\nTwo\nthree"),
        ("plain &amp; simple", "plain & simple"),
        ("a\n  b\t c", "a b c"),
        ("<h1>Title</h1><div>a</div><div>b</div>", "Title\n\na\nb"),
        ("<ul><li>a</li><li>b</li></ul>end", "a\nb\n\nend"),
        ("a <b>bold</b> <i>word</i>.", "a bold word."),
        ("<script>x</script>a<style>y</style><!-- z -->", "a"),
        ("", ""),
        (
            '<a href="https://example.org/2020/long"><span class="invisible">https://</span>'
            '<span class="ellipsis">example.org/2020/lo</span>'
            '<span class="invisible">ng</span></a>',
            "https://example.org/2020/long",
        ),
        ('<a href="https://example.org/2020">example.org/20…</a>', "https://example.org/2020"),
        ('read <a href="https://example.org/">the paper</a>', "read the paper"),
        (
            '<a href="https://example.social/@ana" class="u-url mention">@<span>ana</span></a> hi',
            "@ana hi",
        ),
        ('<a href="https://x.example/tags/storm" class="mention hashtag">#storm</a>', "#storm"),
        ("<a>no address</a>", "no address"),
    ],
)
def test_html_is_converted_to_readable_text(markup: str, text: str) -> None:
    assert html_text(markup) == text


@needs_timer
def test_html_text_takes_linear_time_on_deep_nesting() -> None:
    def use(markup: str) -> None:
        assert html_text(markup) == "deep"

    assert not grows_faster(lambda size: "<b>" * (size // 3) + "deep", use, 300_000)
