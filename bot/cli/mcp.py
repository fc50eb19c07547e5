"""`presagio mcp`: the searches as tools for agents, over the Model Context Protocol."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import corpus_names, now, settings_of, text, with_app
from bot.console.screen import Output
from bot.conversation.wiring import read_pasted
from engine.fetch.client import Fetcher

if TYPE_CHECKING:
    from bot.app import App
    from bot.settings import Settings

_STOP_SECONDS = 5.0


def command(
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Listen on [web] host and port, at /mcp.")
    ] = False,
    corpora: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            "-c",
            autocompletion=corpus_names,
            help="Only these corpora, private ones included. Default: web.corpora.",
            callback=lambda names: [text(name) for name in names or ()],
        ),
    ] = None,
) -> None:
    """Serve the searches as tools to agents, by stdio or HTTP.

    An agent starts this command and speaks the Model Context Protocol with it: search, prophecy,
    find, ask, compose, corpora, document. Private corpora are not shown unless they are named.
    With --http the API is served as well, with the keys and limits of [web].

    Example: presagio mcp --corpus demo
    """
    from bot.web.service import require_mcp

    require_mcp()
    chosen = with_tools(settings_of(context, serves=True), corpora or [])

    async def opened(app: "App") -> None:
        for name in corpora or []:
            await app.corpora.get(name)
        await (serve_over_http(app) if http else _answer(app))

    with_app(chosen, opened)


def with_tools(settings: "Settings", corpora: list[str]) -> "Settings":
    """Return the settings with the API open and the page closed."""
    web: dict[str, object] = {"mcp": True, "page": False}
    if corpora:
        web["corpora"] = tuple(corpora)
    return settings.model_copy(update={"web": settings.web.model_copy(update=web)})


async def _answer(app: "App") -> None:
    from bot.web.mcp import serve_on_stdio
    from bot.web.service import WebAdapter

    async with Fetcher(app.settings.fetch) as fetcher:
        shared = WebAdapter.of(app).share_state(
            now=now, read_headline=partial(read_pasted, fetcher, app.isolation)
        )
        await serve_on_stdio(shared)


async def serve_over_http(app: "App") -> None:
    """Serve the tools and the API until cancelled. Raises AdapterFailed."""
    from bot.web.service import WebAdapter

    async with Fetcher(app.settings.fetch) as fetcher:
        service = WebAdapter.of(app).create_service(
            now=now,
            said=Output.of_process().remark,
            read_headline=partial(read_pasted, fetcher, app.isolation),
            adapters=lambda: {"web": service.status()},
        )
        try:
            await service.run()
        finally:
            await service.stop(_STOP_SECONDS)
