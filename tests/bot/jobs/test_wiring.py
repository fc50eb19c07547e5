"""Which corpus a chat may be told of."""

from dataclasses import replace

import pytest

from bot.app import open_app
from bot.jobs.digest import deciding_of
from bot.settings import load_settings
from engine.chat import Chat
from engine.values import Kind

CHAT = Chat(id=1, platform="telegram", external_id="42", private=False)


@pytest.mark.parametrize(
    ("kinds", "chosen", "address"),
    [
        ({"mine": Kind.TWEETS}, None, "mine"),
        ({"zebra": Kind.TWEETS, "ant": Kind.TWEETS}, None, "zebra"),  # the one that there was
        ({"diary": Kind.PERSONAL}, None, None),  # never by chance, trusted or not
        ({"mine": Kind.TWEETS, "diary": Kind.PERSONAL}, "diary", {"trusted": "diary"}),
        ({"mine": Kind.TWEETS}, "gone", None),
        ({}, None, None),
    ],
)
@pytest.mark.parametrize("trusted", [True, False])
async def test_corpus_for_posts_is_one_the_chat_may_see(
    database_url: str,
    kinds: dict[str, Kind],
    chosen: str | None,
    address: str | dict[str, str] | None,
    trusted: bool,
) -> None:
    environ = {"DATABASE_URL": database_url}
    if trusted:
        environ["PRESAGIO_CHAT__PRIVATE"] = '["telegram:42"]'
    if isinstance(address, dict):
        address = address["trusted"] if trusted else None
    async with open_app(
        load_settings(environ=environ), progress=lambda _: None, set_up=True
    ) as app:
        for name, kind in kinds.items():
            await app.corpora.ensure(
                name, kind=kind, language="english", author=None, url_template=None
            )
        assert await deciding_of(app).corpus(replace(CHAT, corpus=chosen)) == address
