"""Which blocks the stand-in takes, held against the models of slack_sdk."""

import itertools
from typing import Any

import pytest
from slack_sdk.models import blocks as kit

from tests.fakes.slack.block_kit import check_blocks, interactive_elements, with_ids
from tests.fakes.slack.wire import Refusal

Block = dict[str, Any]


def section(text: str, kind: str = "mrkdwn") -> Block:
    return {"type": "section", "text": {"type": kind, "text": text}}


def fields(text: str) -> Block:
    return {"type": "section", "fields": [{"type": "mrkdwn", "text": text}]}


def header(text: str, kind: str = "plain_text") -> Block:
    return {"type": "header", "text": {"type": kind, "text": text}}


def button(text: str = "Press", kind: str = "plain_text", **more: object) -> Block:
    return {"type": "button", "text": {"type": kind, "text": text}, **more}


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def context(count: int) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * count}


def numbered(count: int) -> list[Block]:
    return [button(action_id=f"a{number}") for number in range(count)]


FITS = [
    section("x" * 3000),
    fields("x" * 2000),
    header("x" * 150),
    actions(button("x" * 75, action_id="i" * 255, value="v" * 2000)),
    actions(*numbered(25)),
    context(10),
    {"type": "divider"},
    {"type": "image", "image_url": "https://a.b/c.png", "alt_text": "a cat"},
    {**section("with"), "accessory": button(action_id="a", style="primary")},
]
TOO_MUCH = [
    (section("x" * 3001), "3000"),
    (section(""), ""),
    (fields("x" * 2001), "2001"),
    (header("x" * 151), "150"),
    (header("x", "mrkdwn"), "plain_text"),
    (actions(button("x" * 76)), "75"),
    (actions(button("x", "mrkdwn")), "plain_text"),
    (actions(button(action_id="i" * 256)), "255"),
    (actions(button(value="v" * 2001)), "2000"),
    (actions(button(style="purple")), "style"),
    (actions(*numbered(26)), "25"),
    (actions(), "elements"),
    (actions(button(action_id="a"), button(action_id="a")), "already exists"),
    (context(11), "10"),
    ({**section("x"), "block_id": "b" * 256}, "255"),
    ({**section("x"), "colour": "red"}, "colour"),
    ({"type": "section"}, "text or fields"),
    ({"type": "image", "image_url": "https://a.b/c.png"}, "alt_text"),
    ({"type": "marquee", "text": "x"}, "unsupported type"),
    ({"text": "x"}, "unsupported type"),
    ({"type": "actions", "elements": [{"type": "knob"}]}, "knob"),
    ("section", ""),
]


@pytest.mark.parametrize("block", FITS)
def test_valid_blocks_are_accepted(block: Block) -> None:
    check_blocks([block])
    parsed = kit.Block.parse(block)
    assert parsed is not None
    parsed.validate_json()


@pytest.mark.parametrize(("block", "reason"), TOO_MUCH)
def test_invalid_blocks_are_refused_with_a_reason(block: Block, reason: str) -> None:
    with pytest.raises(Refusal, match="invalid_blocks") as refused:
        check_blocks([block])
    assert reason in str(refused.value.body["errors"])
    assert refused.value.body["response_metadata"]["messages"][0].startswith("[ERROR]")


def test_at_most_fifty_blocks_are_accepted() -> None:
    check_blocks([section("x")] * 50)
    with pytest.raises(Refusal, match="invalid_blocks"):
        check_blocks([section("x")] * 51)


def test_the_total_text_of_all_blocks_is_limited() -> None:
    check_blocks([section("x" * 2500)] * 4)
    with pytest.raises(Refusal, match="msg_blocks_too_long"):
        check_blocks([section("x" * 2500)] * 4 + [section("x")])


def test_two_blocks_of_one_name_are_refused() -> None:
    twice = [{**section("x"), "block_id": "same"}] * 2
    with pytest.raises(Refusal, match="invalid_blocks"):
        check_blocks(twice)


def test_missing_block_and_action_ids_are_generated() -> None:
    names = (f"b{number}" for number in itertools.count())
    press = button("A")
    sent = [section("x"), actions(press, button("B", action_id="mine")), {"type": "divider"}]
    kept = with_ids(sent, names)
    assert len({block["block_id"] for block in kept}) == 3
    found = interactive_elements(kept)
    assert [block_id for block_id, _ in found] == [kept[1]["block_id"]] * 2
    assert found[1][1]["action_id"] == "mine"
    assert found[0][1]["action_id"] != "mine"
    assert press == button("A")  # what was sent stays as it was
