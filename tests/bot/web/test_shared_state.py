"""What a key opens, and what is kept for all routes."""

import hmac
import itertools

import pytest
from pydantic import SecretStr

from bot.web.shared_state import CachedCounts, Keys, Right


def test_without_keys_everybody_may_ask_and_nobody_steer() -> None:
    keys = Keys()
    assert not keys.asks_for_keys()
    assert keys.right_of(None) is Right.ASK
    assert keys.right_of("") is Right.NONE
    assert keys.right_of("anything") is Right.NONE


def test_an_admin_key_alone_leaves_questions_open_to_everybody() -> None:
    keys = Keys(steer=SecretStr("boss"))
    assert keys.right_of(None) is Right.ASK
    assert keys.right_of("boss") is Right.STEER


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("one", Right.ASK),
        ("two", Right.ASK),
        ("boss", Right.STEER),
        ("both", Right.STEER),
        ("One", Right.NONE),
        ("on", Right.NONE),
        ("one ", Right.NONE),
        ("one,two", Right.NONE),
        ("", Right.NONE),
        (None, Right.NONE),
        ("ключ\ud800", Right.NONE),
    ],
)
def test_each_key_opens_what_it_is_for(key: str | None, right: Right) -> None:
    keys = Keys(ask=SecretStr("one, two,,both"), steer=SecretStr("boss,both"))
    assert keys.right_of(key) is right


def test_every_known_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def counting(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    keys = Keys(ask=SecretStr("one,two,three"))
    for key in ("one", "three", "four"):
        keys.right_of(key)
    assert len(compared) == 9
    assert {len(side) for pair in compared for side in pair} == {32}


async def test_what_was_counted_is_kept_for_a_while() -> None:
    now, counted = 0.0, itertools.count(1)
    kept = CachedCounts(lambda: now)

    async def count() -> int:
        return next(counted)

    assert [await kept.get("a", count) for _ in range(2)] == [1, 1]
    assert await kept.get("b", count, seconds=10) == 2
    now = 11.0
    assert [await kept.get("a", count), await kept.get("b", count)] == [1, 3]
    now = 400.0
    assert await kept.get("a", count) == 4


async def test_what_is_kept_is_bounded() -> None:
    kept, counted = CachedCounts(lambda: 0.0), itertools.count()

    async def count() -> int:
        return next(counted)

    for number in range(3000):
        await kept.get(number, count)
    assert len(kept._values) <= 1000
