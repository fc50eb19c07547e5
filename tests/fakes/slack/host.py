"""A web server on a free loopback port that does not let its own mistakes pass unseen."""

from collections.abc import Sequence

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tests.fakes.stand_in import listen

_MAX_BODY = 1 << 26


class Host:
    """Serves routes between `start` and `stop`. `broken` holds what went wrong in a handler."""

    def __init__(self, middlewares: Sequence[Middleware] = ()) -> None:
        self._middlewares = middlewares
        self.broken: list[Exception] = []
        self.address = ""
        self._runner: web.AppRunner | None = None

    async def start(self, routes: Sequence[web.RouteDef]) -> None:
        @web.middleware
        async def notes(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                return await handler(request)
            except (web.HTTPException, ConnectionError):
                raise
            except Exception as exc:
                self.broken.append(exc)
                raise

        app = web.Application(client_max_size=_MAX_BODY, middlewares=[notes, *self._middlewares])
        app.add_routes(routes)
        self._runner, port = await listen(app)
        self.address = f"127.0.0.1:{port}"

    async def stop(self) -> None:
        """Close everything; an ExceptionGroup if a handler had failed."""
        assert self._runner is not None
        await self._runner.cleanup()
        if self.broken:
            raise ExceptionGroup("the stand-in itself failed", self.broken)
