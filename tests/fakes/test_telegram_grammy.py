"""The stand-in as grammY sees it, from a process of its own.

`.ci/telegram-strangers` installs grammY and names its folder in NODE_PATH; elsewhere, or without
node, this is skipped.
"""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.fakes.telegram import TelegramServer
from tests.patience import PATIENCE

_NODE = shutil.which("node")
_GRAMMY = Path(os.environ.get("NODE_PATH", "nowhere")) / "grammy"
_BOT = Path(__file__).with_name("grammy_bot.cjs")

pytestmark = [
    pytest.mark.skipif(not _NODE, reason="node is absent"),
    pytest.mark.skipif(not _GRAMMY.is_dir(), reason="grammY is absent; see .ci/telegram-strangers"),
]


async def test_a_grammy_bot_talks_to_people() -> None:
    async with TelegramServer() as telegram:
        alice = telegram.user("Alice")
        chat = telegram.private_chat(alice)
        assert _NODE
        process = await asyncio.create_subprocess_exec(
            _NODE, str(_BOT), telegram.root, telegram.token, stderr=asyncio.subprocess.PIPE
        )
        try:
            await telegram.until_called("getUpdates", timeout=PATIENCE)
            asked = await alice.says(chat, "man bites dog")
            answer = await asked.answer()
            assert (answer.text, answer.reply_to) == ("man bites dog", asked)
            press = await alice.presses(answer, "Up")
            assert (await press.answered()).text == "Thanks"
            assert (answer.text, answer.buttons) == ("pressed", [])
            picture = await (await alice.says(chat, "/picture")).answer()
            assert picture.photo
            assert (picture.photo.width, picture.text) == (1, "c")
            query = await alice.asks_inline("a headline")
            assert (await query.answered()).results[0].body.text == "a headline"
            assert telegram.menu(alice, chat) == {"picture": "A picture"}
            await telegram.until_acknowledged()
        finally:
            process.terminate()
            _, complaints = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert complaints == b""
    assert telegram.errors == []
    assert [call.error for call in telegram.calls if call.error] == []
