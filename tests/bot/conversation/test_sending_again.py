"""An answer is sent again once where the platform says that it failed, and nowhere else."""

from typing import Any, cast

import pytest

from bot.adapter import DeliveryError, PlatformFailed, Unsure
from bot.conversation import sending
from bot.conversation.sending import Sender


@pytest.mark.parametrize(
    ("failures", "times", "sent"),
    [
        ([], 1, "m"),
        ([PlatformFailed("502")], 2, "m"),
        ([PlatformFailed("502"), PlatformFailed("502")], 2, None),
        ([Unsure("no answer")], 1, None),
        ([DeliveryError("no connection")], 1, None),
    ],
)
async def test_an_answer_is_sent_again_once_after_a_failure_of_the_platform(
    failures: list[DeliveryError], times: int, sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_AGAIN_SECONDS", 0.0)
    tried = 0

    async def send() -> str:
        nonlocal tried
        tried += 1
        if tried <= len(failures):
            raise failures[tried - 1]
        return "m"

    class Asked:
        event = ("telegram", "1:2")

    sender = Sender(cast(Any, None), None)
    assert await sender.send(cast(Any, Asked()), send) == sent
    assert tried == times
