"""`presagio serve`: every configured face in one process and one event loop."""

import asyncio
import gc
import logging
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from bot.app import App
from bot.commands import standard_commands
from bot.commands.ownership import Ownership
from bot.conversation.wiring import conversation_of, open_news_services, read_pasted
from bot.face.face import FaceFailed, Poster
from bot.jobs.scheduler import Scheduler
from bot.jobs.troubles import Troubles
from bot.jobs.wiring import open_jobs
from bot.platforms import (
    FaceDependencies,
    Service,
    platforms_of,
    posters_of,
    services_of,
    tell_what_is_missing,
)
from bot.running import heard, reported, stop_all, tell_status, until_deaf
from db.chat.access import Access
from db.chat.answers import Answers
from db.chat.chats import Chats
from db.chat.compositions import Compositions
from db.chat.events import EventClaims
from db.chat.questions import Questions
from db.chat.quotas import Quotas
from db.chat.waiting import Waiting
from db.chat.wall import VotingKeys
from db.embedded.watch import keep_running
from db.lease import Lease
from engine.errors import PresagioError
from engine.fetch.client import Fetcher

if TYPE_CHECKING:
    from bot.web.service import WebFace

logger = logging.getLogger("presagio.serve")

_TIDY_SECONDS = 3600.0
_SETTLED_SECONDS = 10.0


async def serve(
    app: App,
    *,
    now: Callable[[], datetime],
    said: Callable[[str], None],
    clock_rate: float = 1.0,
    web: bool = False,
) -> None:
    """Listen on all faces until cancelled, or until every face has stopped.

    A face that cannot start is reported and does not affect the others. When cancelled, work under
    way is finished within ten seconds. `clock_rate` is how many seconds `now` advances per real
    second; `web` enables the web face whatever the settings say. Raises SettingsError when no face
    is set up, FaceFailed when the last one has failed, and StorageError, also when the embedded
    database has died.
    """
    async with AsyncExitStack() as stack:
        platforms = platforms_of(app.settings)
        page = _web(app) if web or app.settings.web.enabled or not platforms else None
        app = page.app if page else app
        claims = await stack.enter_async_context(EventClaims(app.database))
        fetcher = await stack.enter_async_context(Fetcher(app.settings.fetch))
        news = await stack.enter_async_context(open_news_services(app, fetcher, delivers=platforms))
        commands = standard_commands()
        chats = Chats(app.database)
        posters = posters_of(app.settings, chats, now=now)
        ownership = Ownership(
            access=Access(app.database),
            chats=chats,
            posters={poster.platform: poster for poster in posters},
        )
        troubles = Troubles(
            app.database,
            platforms=platforms,
            admins=app.settings.chat.admins,
            now=now,
        )
        if app.client:
            app.client.report_to(troubles.report)
        if app.web:
            app.web.report_to(troubles.report)
        faces = FaceDependencies(
            conversation=conversation_of(
                app,
                claims=claims,
                commands=commands,
                fetcher=fetcher,
                news=news,
                ownership=ownership,
                report=troubles.report,
            ),
            commands=commands,
            chats=chats,
            database=app.database,
            now=now,
        )
        services = services_of(app.settings, faces)
        port = None
        webhooks = [one.webhook for one in services.values() if one.webhook]
        if page or webhooks:
            port = (page or _web(app)).service(
                now=now,
                said=said,
                read_headline=partial(read_pasted, fetcher, app.isolation),
                faces=lambda: {name: one.status() for name, one in services.items()},
                webhooks=webhooks,
                visitors=page is not None,
            )
        if page and port:
            services["web"] = port
        await tell_what_is_missing(
            await app.corpora.list(),
            platforms,
            ownership,
            said,
            open=app.settings.chat.access == "open",
            now=now(),
        )
        leader = await stack.enter_async_context(Lease(app.database, "leader"))
        # A separate fetcher, so that slow feeds do not delay links that people send.
        feeds = await stack.enter_async_context(
            Fetcher(app.settings.fetch, at_once=app.settings.polling.at_once)
        )
        wiring = await stack.enter_async_context(
            open_jobs(app, feeds, posters, now=now, clock_rate=clock_rate, troubles=troubles)
        )
        jobs = Scheduler(wiring.jobs(), leader=leader, outcomes=wiring.outcomes, now=now)
        if page:
            page.metrics.job_ages = jobs.ages
        _log_start(app, services)
        aside = [
            asyncio.create_task(jobs.run()),
            asyncio.create_task(jobs.watch()),
            asyncio.create_task(troubles.run()),
            asyncio.create_task(_tidy(app, claims, now)),
            asyncio.create_task(tell_status(services)),
            asyncio.create_task(leave_out_what_stays()),
        ]
        listening = [
            asyncio.create_task(reported(name, heard(service, port), said))
            for name, service in services.items()
        ]
        if port and not page:  # webhooks only: it does not keep the process alive
            aside.append(asyncio.create_task(reported("web", port.run(), said)))
        watching = [asyncio.create_task(keep_running(app.server))] if app.server else []
        try:
            await until_deaf(listening, watching)
        finally:
            everybody: set[Service | Poster] = {*services.values(), *posters}
            if port:
                everybody.add(port)
            await stop_all(
                [*aside, *watching, *listening], everybody, faces.conversation, jobs, said
            )
            logger.info("stopped")
        raise FaceFailed("No face is left to listen.", fix="Mend what is said above.")


def _log_start(app: App, faces: Collection[str]) -> None:
    fields = {
        "version": version("presagio"),
        "faces": ",".join(faces),
        "database": "own" if app.server is None else "embedded",
    }
    logger.info("started", extra={"fields": fields})


async def _tidy(app: App, claims: EventClaims, now: Callable[[], datetime]) -> None:
    """Delete expired data every hour."""
    database = app.database
    tables = (
        claims,
        Quotas(database),
        Answers(database),
        Questions(database),
        Compositions(database),
        VotingKeys(database),
        Waiting(database),
    )
    while True:
        try:
            for table in tables:
                await table.forget(now=now())
        except PresagioError as error:
            logger.warning("tidying up failed: %s", error)
        await asyncio.sleep(_TIDY_SECONDS)


async def leave_out_what_stays() -> None:
    """Exclude everything loaded so far from garbage collection, once startup has settled.

    The platform libraries create some hundred thousand objects that live as long as the process.
    Scanning them all stops every thread for up to a tenth of a second.
    """
    await asyncio.sleep(_SETTLED_SECONDS)
    gc.freeze()


def _web(app: App) -> "WebFace":
    from bot.web.service import WebFace  # noqa: PLC0415 - brings a web framework

    return WebFace.of(app)
