"""Slack's events over HTTP; Bolt verifies signature and age before anything else."""

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp

_LARGEST = 1 << 20  # bytes


def events_application(app: AsyncApp) -> web.Application:
    """Return the web application that hands requests to Bolt."""

    async def pushed(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    application = web.Application(client_max_size=_LARGEST)
    application.router.add_post("/slack/events", pushed)
    return application
