"""Templates of posts: what they may say, and what they may not do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.replies.post import (
    LONGEST_POST,
    NAMES,
    TEMPLATE_EXAMPLE,
    apply_template,
    item_text,
)
from bot.replies.template import LONGEST_RENDERED, fill_template, require_template
from bot.reply import Reply
from engine.errors import UsageError


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ headline }}", "Ship blocks Suez Canal"),
        ("{{ number }}. {{ author|upper }}, {{ date }}", "1. @ANA, 14/3/2012"),
        ("{% if reason %}{{ reason }}{% else %}{{ source }}{% endif %}", "BBC News"),
        ("{{ tweet|truncate(12) }}", "One day..."),
        ("{{ reason or 'why not' }}", "why not"),
        ("{{ link if link == url else url }}", "https://x.com/ana/status/1"),
        ("plain <b>words</b>", "plain <b>words</b>"),
    ],
)
def test_template_renders_known_fields(template: str, text: str) -> None:
    require_template(template)
    assert item_text(template, TEMPLATE_EXAMPLE, "BBC News", words_for("en")) == text


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ password }}", "A template knows no password. There are: headline, link"),
        ("{{ headline|attr('x') }}", "A template knows no filter attr. There are: default"),
        ("{{ headline.__class__ }}", "A template has names in double braces"),
        ("{{ headline['x'] }}", "A template has names in double braces"),
        ("{{ range(9999999) }}", "A template has names in double braces"),
        ("{% for x in headline %}{{ tweet }}{% endfor %}", "A template "),
        ("{{ 'a' * 999999999 }}", "A template has names in double braces"),
        ("{{ 9 ** 999999999 }}", "A template has names in double braces"),
        ("{% set headline = 1 %}", "A template has names in double braces"),
        ("{% include 'x' %}", "A template has names in double braces"),
        ("{% macro x() %}{% endmacro %}", "A template has names in double braces"),
        ("{{ headline() }}", "A template has names in double braces"),
        ("{{ headline ~ headline }}", "A template has names in double braces"),
        ("{{ headline", "The template cannot be used:"),
        ("{% if %}", "The template cannot be used:"),
        ("{{ tweet|truncate('x') }}", "The template cannot be used:"),
        ("x" * 501, "A template has at most 500 letters."),
    ],
)
def test_forbidden_template_is_refused_with_a_reason(template: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        require_template(template)
    assert why in str(refused.value)


@given(st.text(max_size=60) | st.from_regex(r"(\{\{ ?[a-z|()'0-9]{0,20} ?\}\}|\{% ?if|\(){0,9}"))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        require_template(text)
    except UsageError:
        return
    assert len(fill_template(text, dict.fromkeys(NAMES, "y" * 9000))) <= LONGEST_RENDERED


def test_template_is_applied_to_each_item_within_the_post_limit() -> None:
    item = replace(TEMPLATE_EXAMPLE, headline="x" * 3000)
    post = Reply(words=words_for("en"), text="The news", items=(item,) * 9, notice="Not judged")
    said = apply_template(post, "{{ headline }}", ["BBC"] * 9)
    assert (said.items, said.notice) == ((), None)
    assert 1000 < len(said.text or "") <= LONGEST_POST
    assert apply_template(post, None, []) is post
