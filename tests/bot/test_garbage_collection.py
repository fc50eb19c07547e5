"""What stays is not looked at again and again."""

import gc

import pytest

from bot.garbage_collection import leave_out_what_stays


async def test_what_was_loaded_is_left_out_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.garbage_collection._SETTLED_SECONDS", 0)
    loaded = [object()]
    frozen = gc.get_freeze_count()
    await leave_out_what_stays()
    assert gc.get_freeze_count() > frozen
    assert not any(one is loaded for one in gc.get_objects())
