"""`presagio serve`: every configured adapter in one process and one event loop."""

import asyncio
import gc
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Never

from bot.adapter import AdapterFailed, Poster
from bot.app import App
from bot.commands import Registry, standard_commands
from bot.commands.intents import IntentJudge, load_classifier
from bot.commands.rights import Ownership
from bot.conversation.conversation import Conversation
from bot.conversation.gates import Doorkeeper
from bot.jobs.scheduler import Scheduler
from bot.jobs.troubles import Troubles
from bot.jobs.wiring import open_jobs
from bot.platforms import (
    Service,
    create_posters,
    create_services,
    find_platforms,
    how_to_own,
    list_platforms,
)
from bot.reply import MAX_HITS
from db.chat.answers import Answers, Questions
from db.chat.chats import Quotas, Waiting
from db.chat.compositions import Compositions
from db.chat.events import EventClaims
from db.embedded.server import EmbeddedServer, keep_running
from db.lease import Lease
from engine.corpora import NO_ARCHIVE, holds_archive
from engine.errors import PresagioError, explain_error
from engine.fetch.client import Fetcher
from engine.values import Corpus

if TYPE_CHECKING:
    from bot.web.metrics import Metrics
    from bot.web.service import WebService

logger = logging.getLogger("presagio.serve")

# A stop may take ten seconds; most of them are for people who wait for an answer.
_FINISH_SECONDS = 5.0
_CLOSE_SECONDS = 2.0
_LOOK_SECONDS = 1.0
_TIDY_SECONDS = 3600.0
_SETTLED_SECONDS = 10.0
_PATIENCE = 1.0  # seconds for texts to be compared; a model at work needs half of it


async def wait_until_stopped(
    listening: Sequence[asyncio.Task[None]], watching: Sequence[asyncio.Task[Never]]
) -> None:
    """Wait until all adapters have stopped. Raises the error of a `watching` task that fails.

    None of these ends by itself.
    """
    while not all(task.done() for task in listening):
        left = [task for task in (*listening, *watching) if not task.done()]
        await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for task in watching:
            if task.done():
                task.result()


async def run_adapter(service: Service, port: "WebService | None") -> None:
    """Run an adapter. A webhook is registered with its platform only once the port is open."""
    if port and service.webhook:
        await port.wait_until_open()
    await service.run()


async def report_failure(name: str, running: Awaitable[None], tell: Callable[[str], None]) -> None:
    """Await an adapter; its error is given to `tell` and ends it alone."""
    try:
        await running
    except PresagioError as error:
        tell(f"{name}: {error}")
    except Exception as error:
        logger.error("%s stopped: %s", name, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
        tell(f"{name}: stopped by an error that the log describes.")


async def log_status_changes(services: Mapping[str, Service]) -> Never:
    """Log each change in whether an adapter receives events, until cancelled."""
    statuses = {name: service.status() for name, service in services.items()}
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        for name, service in services.items():
            status = service.status()
            if status != statuses[name]:
                logger.log(
                    logging.INFO if status.listening else logging.WARNING, "%s: %s", name, status
                )
            statuses[name] = status


async def stop_all(
    tasks: Sequence[asyncio.Task[Any]],
    everybody: Collection[Service | Poster],
    conversation: Conversation,
    jobs: Scheduler,
    tell: Callable[[str], None],
) -> None:
    """Accept nothing new, finish what is under way, and close everything."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
    drained, _ = await asyncio.gather(
        conversation.drain(_FINISH_SECONDS), jobs.stop(_FINISH_SECONDS - 1)
    )
    if not drained:
        tell("Some answers were not finished; their events may be delivered again.")

    async def close(service: Service | Poster) -> None:
        async with asyncio.timeout(_CLOSE_SECONDS + 1):
            await (service.close() if isinstance(service, Poster) else service.stop(_CLOSE_SECONDS))

    for closed in await asyncio.gather(*map(close, everybody), return_exceptions=True):
        if isinstance(closed, Exception):
            logger.warning("an adapter was not closed: %s", explain_error(closed))


async def serve(
    app: App,
    *,
    now: Callable[[], datetime],
    tell: Callable[[str], None],
    clock_rate: float = 1.0,
    web: bool = False,
) -> None:
    """Listen on all adapters until cancelled, or until every adapter has stopped.

    An adapter that cannot start is reported and does not affect the others. When cancelled, work
    under way is finished within ten seconds. `clock_rate` is how many seconds `now` advances per
    real second; `web` enables the web adapter whatever the settings say. Raises
    SettingsError when no adapter is set up, AdapterFailed when the last one has failed, and
    StorageError, also when the embedded database has died and cannot be started again.
    """
    async with AsyncExitStack() as stack:
        # From the first step on: what waits for the database would otherwise wait for ever.
        watching = []
        if app.server:
            watching.append(await stack.enter_async_context(_watch_server(app.server)))
        bot = await _assemble(app, stack, now=now, tell=tell, clock_rate=clock_rate, web=web)
        _log_start(bot.app, bot.services)
        watching += [
            asyncio.create_task(bot.jobs.run()),
            asyncio.create_task(bot.jobs.watchdog.watch()),
            asyncio.create_task(bot.troubles.run()),
            asyncio.create_task(_delete_expired(bot.app, bot.claims, now)),
            asyncio.create_task(log_status_changes(bot.services)),
        ]
        await _listen_until_stopped(bot, watching, tell)
        raise AdapterFailed("Nothing is left to serve.", fix="Mend what is said above.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bot:
    """All that answers and posts in one process."""

    app: App
    claims: EventClaims
    conversation: Conversation
    services: Mapping[str, Service]
    port: "WebService | None"
    posters: Sequence[Poster]
    jobs: Scheduler
    troubles: Troubles


async def _assemble(
    app: App,
    stack: AsyncExitStack,
    *,
    now: Callable[[], datetime],
    tell: Callable[[str], None],
    clock_rate: float,
    web: bool,
) -> _Bot:
    """Return what answers and posts, which `stack` closes, and say what is missing."""
    platforms = list_platforms(app.settings)
    wants_page = web or app.settings.web.enabled
    metrics = _create_metrics() if wants_page or not platforms else None
    app = metrics.count_searches(app) if metrics else app
    claims = await stack.enter_async_context(EventClaims(app.database))
    commands = standard_commands()
    posters = create_posters(app.settings, app.chats)
    app = replace(app, posters={poster.platform: poster for poster in posters})
    ownership = Ownership(app, commands.write_as_typed)
    troubles = _collect_troubles(app, platforms, now)
    conversation = _create_conversation(app, claims, commands, ownership, troubles)
    services = create_services(app, conversation, now)
    port = _create_port(app, metrics, services, now=now, tell=tell)
    if metrics and port:
        services["web"] = port
    await tell_what_is_missing(
        await app.corpora.list(),
        platforms,
        ownership,
        tell,
        open=app.settings.chat.access == "open",
        wants_chat=not wants_page,
        now=now(),
    )
    jobs = await stack.enter_async_context(
        _open_scheduler(app, posters, troubles, now=now, clock_rate=clock_rate)
    )
    if metrics:
        metrics.job_ages = jobs.watchdog.ages
    return _Bot(
        app=app,
        claims=claims,
        conversation=conversation,
        services=services,
        port=port,
        posters=posters,
        jobs=jobs,
        troubles=troubles,
    )


def _collect_troubles(
    app: App, platforms: Collection[str], now: Callable[[], datetime]
) -> Troubles:
    """Return what gathers the troubles that the admins are told of."""
    troubles = Troubles(app.database, platforms=platforms, admins=app.settings.chat.admins, now=now)
    for reporting in (app.client, app.web):
        if reporting:
            reporting.report_to(troubles.report)
    return troubles


def _log_start(app: App, services: Iterable[str]) -> None:
    fields = {
        "version": version("presagio"),
        "faces": ",".join(services),
        "database": "own" if app.server is None else "embedded",
    }
    logger.info("started", extra={"fields": fields})


async def tell_what_is_missing(
    corpora: Sequence[Corpus],
    platforms: Collection[str],
    ownership: Ownership,
    tell: Callable[[str], None],
    *,
    open: bool,  # noqa: A002 - the word of the settings
    wants_chat: bool,
    now: datetime,
) -> None:
    """Say that there is no archive or no chat, and how somebody becomes the owner on each platform.

    An `open` bot answers everybody and needs no owner. If only the page was asked for, no chat is
    needed: then `wants_chat` is false. Raises StorageError.
    """
    if not holds_archive(corpora):
        tell(NO_ARCHIVE)
    if not platforms and wants_chat:
        tokens = ", or ".join(
            " and ".join(token.variable for token in platform.tokens)
            for platform in find_platforms().values()
        )
        tell(f"No chat is set up. Set {tokens}, or run: presagio setup")
    if open:
        return
    for platform in platforms:
        if code := await ownership.code(platform, now=now):
            tell(f"{platform}: nobody owns this bot yet. {how_to_own(platform, code)}")


async def _listen_until_stopped(
    bot: _Bot, watching: Sequence["asyncio.Task[Never]"], tell: Callable[[str], None]
) -> None:
    """Listen until all adapters have stopped or one of `watching` fails; then stop everything."""
    services, port = bot.services, bot.port
    aside = [asyncio.create_task(load_what_stays(classifies=services.keys() != {"web"}))]
    listening = [
        asyncio.create_task(report_failure(name, run_adapter(service, port), tell))
        for name, service in services.items()
    ]
    everybody: set[Service | Poster] = {*services.values(), *bot.posters}
    if port and port not in everybody:  # webhooks only: it does not keep the process alive
        aside.append(asyncio.create_task(report_failure("web", port.run(), tell)))
        everybody.add(port)
    try:
        await wait_until_stopped(listening, watching)
    finally:
        tasks = [*aside, *watching, *listening]
        await stop_all(tasks, everybody, bot.conversation, bot.jobs, tell)
        logger.info("stopped")


def _create_conversation(
    app: App, claims: EventClaims, commands: Registry, ownership: Ownership, troubles: Troubles
) -> Conversation:
    """Return the conversation of all chat platforms."""
    settings = app.settings
    limit = min(settings.search.limit, MAX_HITS)  # /more shows the others
    search = settings.search.model_copy(update={"limit": limit})
    return Conversation(
        replace(app, settings=settings.model_copy(update={"search": search})),
        claims=claims,
        registry=commands,
        doorkeeper=Doorkeeper(ownership, settings.chat),
        judge=IntentJudge(app.client) if app.client else None,
        report=troubles.report,
        patience=_PATIENCE,
    )


def _create_port(
    app: App,
    metrics: "Metrics | None",
    services: Mapping[str, Service],
    *,
    now: Callable[[], datetime],
    tell: Callable[[str], None],
) -> "WebService | None":
    """Return what listens for visitors of the page and for webhooks, or None without either."""
    webhooks = [service.webhook for service in services.values() if service.webhook]
    if not metrics and not webhooks:
        return None
    from bot.web.service import WebService  # noqa: PLC0415 - brings a web framework
    from bot.web.shared_state import SharedState  # noqa: PLC0415 - so does it

    shared = SharedState(
        app,
        metrics or _create_metrics(),
        now=now,
        adapters=lambda: {name: service.status() for name, service in services.items()},
    )
    return WebService(shared, tell=tell, webhooks=webhooks, visitors=metrics is not None)


@asynccontextmanager
async def _open_scheduler(
    app: App,
    posters: Sequence[Poster],
    troubles: Troubles,
    *,
    now: Callable[[], datetime],
    clock_rate: float,
) -> AsyncIterator[Scheduler]:
    """Yield the scheduler of the jobs, for the one process that leads and for all others."""
    async with AsyncExitStack() as stack:
        leader = await stack.enter_async_context(Lease(app.database, "leader"))
        # A separate fetcher, so that slow feeds do not delay links that people send.
        feeds = await stack.enter_async_context(
            Fetcher(app.settings.fetch, at_once=app.settings.polling.at_once)
        )
        wiring = await stack.enter_async_context(
            open_jobs(app, feeds, posters, now=now, clock_rate=clock_rate, troubles=troubles)
        )
        yield Scheduler(wiring.jobs(), leader=leader, outcomes=wiring.outcomes, now=now)


@asynccontextmanager
async def _watch_server(server: EmbeddedServer) -> AsyncIterator["asyncio.Task[Never]"]:
    """Keep the embedded database running until the block ends."""
    watching = asyncio.create_task(keep_running(server))
    try:
        yield watching
    finally:
        watching.cancel()
        await asyncio.wait({watching})


async def _delete_expired(app: App, claims: EventClaims, now: Callable[[], datetime]) -> Never:
    """Delete expired data every hour."""
    database = app.database
    tables = (
        claims,
        Quotas(database),
        Answers(database),
        Questions(database),
        Compositions(database),
        Waiting(database),
    )
    while True:
        try:
            for table in tables:
                await table.forget(now=now())
        except PresagioError as error:
            logger.warning("tidying up failed: %s", error)
        await asyncio.sleep(_TIDY_SECONDS)


async def load_what_stays(*, classifies: bool) -> None:
    """Load what classifies messages, and exclude everything loaded from garbage collection, once
    startup has settled.

    The platform libraries create some hundred thousand objects that live as long as the process.
    Scanning them all stops every thread for up to a tenth of a second.
    """
    await asyncio.sleep(_SETTLED_SECONDS)
    if classifies:
        await asyncio.to_thread(load_classifier)
    gc.freeze()


def _create_metrics() -> "Metrics":
    from bot.web.metrics import Metrics  # noqa: PLC0415 - brings a library of the web adapter

    return Metrics()
