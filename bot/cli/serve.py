"""`presagio serve` and `mcp` listen until they are stopped; `presagio run-once` runs one cycle of
polling, searching, deciding and delivering."""

import asyncio
import io
import re
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.archive_loading import LoadedArchive, OfferedArchive
from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.cli.ingest_sources import SIMPLE, choose_kind, language_setting, name_unread
from bot.cli.shared import CorpusOption, Json, make_folder, parse_texts, settings_of, with_app
from bot.cli.shared import read_clock as clock
from bot.console.screen import Output, progress_bar
from bot.jobs.scheduler import Job
from bot.jobs.wiring import Jobs, open_jobs
from bot.platforms import create_posters
from db.chat.chats import Chats
from db.corpus.documents import Documents
from db.logs import RunOutcome
from engine.corpora import ALL, USUAL, Document
from engine.errors import PresagioError, StorageError, explain_error
from engine.fetch.client import Fetcher
from engine.ingest.isolated_reader import IsolatedSource
from engine.ingest.load import detect_documents_language
from engine.ingest.records import BatchLost
from engine.settings.fetching import IngestSettings
from engine.values import Corpus, CorpusRole, Kind

if TYPE_CHECKING:
    from bot.app import App
    from bot.settings import Settings

_FOLDER = "offered"
_KEPT_SECONDS = 86_400.0
_KEY = re.compile(r"[0-9a-f]{16}")
_APART = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40
_NO_LANGUAGE = "none"  # a folder beside those named english, spanish...
_SAMPLED = 500  # records, by which a language is told
_STEPS = {
    "poll": "reading feeds",
    "search": "searching stories",
    "digest": "deciding",
    "deliver": "delivering",
    "tidy": "tidying up",
}
_DELIVER_SECONDS = 120.0
# A chat receives at most one message per second.
_PACE_SECONDS = 1.3
_LOOK_SECONDS = 0.2
_GIVEN_UP_SINCE = timedelta(days=1)
_STOP_SECONDS = 5.0


class OfferedFiles:
    """Implements ArchiveLoader in the data folder: each file lies in a folder named by its key, in
    one named like the corpus that it would fill, in one named like the language of its texts."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._root = app.settings.data_dir / _FOLDER

    async def receive(
        self, name: str, fetch: Callable[[Path], Awaitable[None]], *, zone: str
    ) -> OfferedArchive:
        """Keep a file for a day, and tell what it holds. Raises PresagioError."""
        await asyncio.to_thread(self._forget_old)
        key = secrets.token_hex(8)
        sent = Path(name)
        plain = _APART.sub("-", sent.stem.lower()).strip("-")[:_LONGEST_NAME].strip("-")
        file = self._root / key / f"{plain or 'archive'}{sent.suffix.lower()}"
        try:
            make_folder(file.parent, within=self._app.settings.data_dir)
            await fetch(file)
            return await self._offer(file, zone)
        except BaseException:
            self.drop(key)
            raise

    async def _offer(self, file: Path, zone: str) -> OfferedArchive:
        """Read what a file holds, and move it to the folder of its corpus and its language."""
        async with open_sources([str(file)], IngestOptions(), self._settings) as sources:
            for source in sources:
                if source.opened.table and "timezone" in source.opened.table.guessed:
                    source.set_time_zone(zone)
                    await source.recognise()
            kind, table = choose_kind(sources), sources[0].opened.table
            documents = await _read_sample(sources[0])
        code = detect_documents_language(documents)
        language = await language_setting(self._app, code) if code else _NO_LANGUAGE
        corpora = {corpus.name: corpus for corpus in await self._app.corpora.list()}
        corpus = await self._find_same(corpora.values(), kind, documents)
        corpus = corpus or self._choose_name(corpora, kind, file.stem)
        folder = file.parent / corpus / language
        make_folder(folder, within=file.parent)
        await asyncio.to_thread(file.rename, folder / file.name)
        is_guessed = table is not None and (table.needs_consent or table.timezone is not None)
        return OfferedArchive(
            key=file.parent.name,
            kind=kind,
            kinds=tuple(dict.fromkeys(source.opened.kinds[0] for source in sources)),
            unread=tuple(name_unread(sources)),
            corpus=corpus,
            is_known=corpus in corpora,
            table=table if is_guessed else None,
        )

    async def load(self, key: str, *, zone: str | None) -> LoadedArchive | None:
        """Load a file; return None if it is gone. Raises PresagioError.

        A new corpus reads texts in the language that they look like, if they name none.
        """
        file = next((self._root / key).glob("*/*/*"), None) if _KEY.fullmatch(key) else None
        if file is None:
            return None
        options = IngestOptions(corpus=file.parent.parent.name, timezone=zone)
        looks = None if file.parent.name == _NO_LANGUAGE else file.parent.name
        try:
            if options.corpus not in {known.name for known in await self._app.corpora.list()}:
                options = replace(options, language=looks)
            async with open_sources([str(file)], options, self._settings) as sources:
                unseen = Output(io.StringIO(), io.StringIO())
                names = await ingest_files(self._app, sources, options, output=unseen)
        finally:
            self.drop(key)
        corpus = await self._app.corpora.get(names[0])
        other = looks if corpus.language not in {looks, SIMPLE} else None
        return LoadedArchive(corpus=corpus, other_language=other)

    async def _find_same(
        self, corpora: Iterable[Corpus], kind: Kind, documents: Sequence[Document]
    ) -> str | None:
        """Return the corpus that holds most of these texts, whatever its file was called."""
        store = Documents(self._app.database)
        for corpus in corpora:
            if corpus.kind is kind and (
                2 * await store.count_held(corpus, documents) > len(documents)
            ):
                return corpus.name
        return None

    def drop(self, key: str) -> None:
        """Delete a file."""
        if _KEY.fullmatch(key):
            shutil.rmtree(self._root / key, ignore_errors=True)

    @property
    def _settings(self) -> IngestSettings:
        return self._app.settings.ingest

    def _choose_name(self, corpora: Mapping[str, Corpus], kind: Kind, plain: str) -> str:
        """Return the name of the corpus to fill, which may be there.

        The first archive has the name that `ingest` gives it, and others that of their file: two
        people's texts would otherwise become one archive.
        """
        name = plain
        if not any(corpus.role is CorpusRole.ARCHIVE for corpus in corpora.values()):
            name = self._app.settings.search.corpus or kind.value
        taken = corpora.get(name)
        if name in {ALL, USUAL} or (taken and taken.kind is not kind):
            name = f"{name}-{kind.value}"
        return name

    def _forget_old(self) -> None:
        for folder in self._root.glob("*"):
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                self.drop(folder.name)


async def _read_sample(source: IsolatedSource) -> Sequence[Document]:
    """Return the first documents of a file; none if they cannot be read, of which loading tells."""
    batch = await source.batch(_SAMPLED)
    with suppress(BatchLost):
        documents, _ = await source.documents(list(batch.digests))
        return documents
    return ()


def serve_command(
    context: typer.Context,
    web: Annotated[
        bool, typer.Option("--web", help="Open the page and the API of [web] as well.")
    ] = False,
    # Only when told: a second bot of a newer version would lock out the first.
    migrate: Annotated[
        bool,
        typer.Option("--migrate", help="First do what presagio init does, on your own database."),
    ] = False,
) -> None:
    """Answer in the chats that are set up, and on the web page.

    Runs until told to end.

    Set TELEGRAM_BOT_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN, before. Without them the page
    alone is opened.

    Example: presagio serve --web
    """
    from bot.serve import serve as listen

    with_app(
        settings_of(context, serves=True),
        lambda opened: listen(
            replace(opened, loader=OfferedFiles(opened)),
            now=clock,
            tell=Output.of_process().remark,
            web=web,
        ),
        migrate=migrate,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """The outcome of the pending deliveries."""

    sent: int = 0
    given_up: int = 0
    waiting: int = 0
    error: str | None = None


async def run_cycle(app: "App", *, now: Callable[[], datetime], json: bool, output: Output) -> None:
    """Run one full cycle and write the counts. Other processes may use the database meanwhile.

    Raises PresagioError if a step fails, or if a message could not be sent, which is then kept
    for the next run.
    """
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(
            Fetcher(app.settings.fetch, at_once=app.settings.polling.at_once)
        )
        posters = create_posters(app.settings, Chats(app.database))
        for poster in posters:
            stack.push_async_callback(poster.close)
        wiring = await stack.enter_async_context(open_jobs(app, fetcher, posters, now=now))
        jobs = {job.name: job for job in wiring.jobs()}
        done, sent = dict[str, int](), _Sent()
        with progress_bar(output.remarks, "one cycle", len(_STEPS)) as tell:
            for number, (name, step) in enumerate(_STEPS.items()):
                tell(number, step)
                if name == "deliver":
                    sent = await _deliver_all(wiring, jobs[name])
                else:
                    done[name] = await _run_job(wiring, jobs[name])
        row = {"feeds": done["poll"], "stories": done["search"], "posts": done["digest"]}
        left = {"sent": sent.sent, "given_up": sent.given_up, "waiting": sent.waiting}
        output.tell(
            row | left,
            f"{done['poll']:,} feeds read, {done['search']:,} stories searched or judged,"
            f" {done['digest']:,} posts decided, {sent.sent:,} messages sent.",
            json=json,
        )
        if not posters:
            output.remark("No token of a chat platform is set: nothing is sent from here.")
    if sent.waiting:
        raise PresagioError(
            f"{sent.waiting:,} messages could not be sent: {sent.error}",
            fix="They are kept; the next run tries again.",
        )
    if sent.given_up:
        raise PresagioError(f"{sent.given_up:,} messages were given up: {sent.error}")


async def _run_job(wiring: Jobs, job: Job) -> int:
    """Run a job once with its timeout, and record the outcome. Raises PresagioError."""
    try:
        async with asyncio.timeout(job.timeout):
            done = await job.work()
    except TimeoutError as exc:
        await _count_outcome(wiring, job, RunOutcome.TIMED_OUT)
        raise PresagioError(f"{job.name} took longer than {job.timeout:g} s.") from exc
    except Exception as error:
        await _count_outcome(wiring, job, RunOutcome.FAILED, explain_error(error))
        raise
    await _count_outcome(wiring, job, RunOutcome.DONE)
    return done


async def _count_outcome(
    wiring: Jobs, job: Job, outcome: RunOutcome, error: str | None = None
) -> None:
    with suppress(StorageError):  # the failure of the job is reported anyway
        await wiring.outcomes.count(job.name, outcome, now=wiring.now(), error=error)


async def _deliver_all(wiring: Jobs, job: Job) -> _Sent:
    """Deliver until nothing more can be sent now."""
    outbox, since = wiring.sender.outbox, wiring.now() - _GIVEN_UP_SINCE
    before = await outbox.health(since)
    end, last = time.monotonic() + _DELIVER_SECONDS, 0.0
    while time.monotonic() < end:
        if await _run_job(wiring, job):
            last = time.monotonic()
        elif time.monotonic() > last + _PACE_SECONDS:
            break
        await asyncio.sleep(_LOOK_SECONDS)
    after = await outbox.health(since)
    given_up = after.failed - before.failed
    return _Sent(
        sent=max(before.owed - after.owed - given_up, 0),
        given_up=max(given_up, 0),
        waiting=after.retried,
        error=after.last_error,
    )


def run_once(context: typer.Context, json: Json = False) -> None:
    """Read feeds, search, judge and post what is due, and end: for cron.

    It may run beside presagio serve: nothing is posted twice.

    Example: presagio run-once
    """
    with_app(
        settings_of(context, serves=True),
        lambda opened: run_cycle(opened, now=clock, json=json, output=Output.of_process()),
    )


def mcp_command(
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Listen on [web] host and port, at /mcp.")
    ] = False,
    corpora: Annotated[
        list[str] | None,
        CorpusOption(
            metavar="<str>",
            help="Only these corpora, private ones included. Default: web.corpora.",
            callback=parse_texts,
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
    settings = with_tools(settings_of(context, serves=True), corpora or [])

    async def opened(app: "App") -> None:
        for name in corpora or []:
            await app.corpora.get(name)
        await (serve_over_http(app) if http else _answer_on_stdio(app))

    with_app(settings, opened)


def with_tools(settings: "Settings", corpora: list[str]) -> "Settings":
    """Return the settings with the API open and the page closed."""
    web = {"mcp": True, "page": False, "corpora": tuple(corpora) or settings.web.corpora}
    return settings.model_copy(update={"web": settings.web.model_copy(update=web)})


async def _answer_on_stdio(app: "App") -> None:
    from bot.web.mcp import serve_on_stdio
    from bot.web.metrics import Metrics
    from bot.web.shared_state import SharedState

    metrics = Metrics()
    await serve_on_stdio(SharedState(metrics.count_searches(app), metrics, now=clock))


async def serve_over_http(app: "App") -> None:
    """Serve the tools and the API until cancelled. Raises AdapterFailed."""
    from bot.web.metrics import Metrics
    from bot.web.service import WebService
    from bot.web.shared_state import SharedState

    metrics = Metrics()
    shared = SharedState(
        metrics.count_searches(app), metrics, now=clock, adapters=lambda: {"web": service.status()}
    )
    service = WebService(shared, tell=Output.of_process().remark)
    try:
        await service.run()
    finally:
        await service.stop(_STOP_SECONDS)
