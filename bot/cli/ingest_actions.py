"""`presagio ingest`: loads files into a corpus, with progress and a report of rejects."""

import asyncio
import io
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.cli.rejects import RejectsReport
from bot.console.output import Output, progress_bar
from bot.media import REJECTS
from engine.errors import CorpusNotFound, InputError, NothingUsable, StorageError, UsageError
from engine.ingest.load import IngestReport, Loader
from engine.ingest.reading import ReadSource, SourceReader
from engine.ingest.records import Defaults
from engine.messages import join_messages
from engine.settings.reading import IngestSettings
from engine.types import Corpus, Kind

if TYPE_CHECKING:
    from bot.app import App

DEFAULT_LANGUAGE = "english"
_LONG = 10.0  # seconds after which the rate is told at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Options from the command line; None means the corpus's value or the default."""

    corpus: str = ""
    kind: Kind | None = None
    language: str | None = None
    format: str = "auto"
    author: str | None = None
    description: str | None = None
    only_mine: bool = False
    json: bool = False

    @property
    def defaults(self) -> Defaults:
        """The values for records that do not have their own."""
        return Defaults(author=self.author, only_mine=self.only_mine, language=self.language)


@asynccontextmanager
async def open_sources(
    files: Sequence[str], options: IngestOptions, settings: IngestSettings
) -> AsyncIterator[list[ReadSource]]:
    """Open all files and recognise their formats; "-" is standard input.

    Raises UsageError for an unknown format, InputError for an unusable file.
    """
    # Standard input without Python's buffer, whose lock a reading thread would hold at exit.
    stdin = io.FileIO(sys.stdin.fileno(), closefd=False) if "-" in files else None
    async with SourceReader(settings) as reader:
        yield [
            await reader.open(name, format=options.format, defaults=options.defaults, stdin=stdin)
            for name in files
        ]


async def ingest_files(
    app: "App", sources: Sequence[ReadSource], options: IngestOptions, *, output: Output
) -> str:
    """Load files into one corpus, write the counts, and return its name.

    Raises NothingUsable if no record could be stored, CorpusConflict, UsageError, and InputError
    for a file that turns out to be damaged.
    """
    corpus, is_new = await _ensure_corpus(app, options, sources)
    if not is_new:
        for source in sources:
            source.read_in(corpus.language)
    damage: InputError | None = None
    begun = time.monotonic()
    with (
        RejectsReport(app.settings.data_dir / REJECTS / f"{corpus.name}.jsonl") as rejects,
        progress_bar(output.remarks, f"ingest {corpus.name}", _total(sources)) as tell,
    ):
        loader = Loader(
            app.documents,
            corpus,
            rejected=rejects.add,
            progress=_telling(tell, sources, begun),
        )
        try:
            with _tell_what_stays(loader):
                for source in sources:
                    await loader.load(source)
        except InputError as error:
            damage = error
        except UsageError:  # the author's own messages cannot be identified
            if is_new:
                await _drop_if_empty(app, corpus)
            raise
        except asyncio.CancelledError:
            output.remark("Stopped. What was stored stays; the same command completes it.")
            raise
        # Even if nothing changed, as an earlier run may have been interrupted before this.
        await loader.finish()
        await app.documents.settle(corpus)
    rejects.tell(output.remark)
    if not loader.report.usable:
        if is_new:
            await _drop_if_empty(app, corpus)
        raise damage or NothingUsable(
            f"Nothing could be stored: {loader.report.read:,} records read.",
            fix="See the reasons above, or name the format with --format.",
        )
    if damage:
        output.remark(f"Before the damage: {_in_words(loader.report)}")
        raise damage
    _write(loader.report, options, output)
    seconds = time.monotonic() - begun
    if seconds > _LONG:
        output.remark(f"It took {seconds:,.0f} s: {_rate(loader.report, seconds)}.")
    if corpus.outdated:
        output.remark(
            f"What was in {corpus.name} before is indexed by older rules."
            f" Run: presagio corpora reindex {corpus.name}"
        )
    return corpus.name


@contextmanager
def _tell_what_stays(loader: Loader) -> Iterator[None]:
    """Add to an error of the database how many records were stored before it."""
    try:
        yield
    except StorageError as error:
        stored = loader.report.inserted + loader.report.updated
        if not stored:
            raise
        stays = f"{stored:,} records of this run are stored and stay."
        raise type(error)(error.message, fix=join_messages(error.fix, stays)) from error


async def _ensure_corpus(
    app: "App", options: IngestOptions, sources: Sequence[ReadSource]
) -> tuple[Corpus, bool]:
    """Return the corpus to fill and whether it is new; properties not given are kept.

    Without a name it is the configured corpus, else the one named after its kind.
    """
    usual = options.kind or sources[0].kinds[0]
    name = options.corpus or app.settings.search.corpus or usual.value
    try:
        known: Corpus | None = await app.corpora.get(name)
    except CorpusNotFound:
        known = None
    kind = known.kind if known and not options.kind else usual
    _require_fitting(sources, kind, name)
    corpus = await app.corpora.ensure(
        name,
        kind=kind,
        language=options.language or (known.language if known else DEFAULT_LANGUAGE),
        author=options.author,
        url_template=None,
        description=options.description,
    )
    author = options.author if corpus.author is None else None
    if author or options.description:
        corpus = await app.corpora.change(name, author=author, description=options.description)
    return corpus, known is None


def _require_fitting(sources: Sequence[ReadSource], kind: Kind, name: str) -> None:
    """Raise UsageError if a file's records do not fit a corpus of that kind."""
    for source in sources:
        if kind not in source.kinds:
            usual = source.kinds[0].value
            raise UsageError(
                f"{source.name} ({source.format}) is {usual}, and corpus {name!r} is {kind.value}.",
                fix=f"Give it a corpus of its own: --corpus NAME --kind {usual}.",
            )


async def _drop_if_empty(app: "App", corpus: Corpus) -> None:
    """Drop the corpus if it is empty, as its kind and language may be mistakes."""
    if not (await app.corpora.get(corpus.name)).documents:
        await app.corpora.drop(corpus.name)


def _total(sources: Sequence[ReadSource]) -> int | None:
    sizes = [source.total_bytes for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _telling(
    tell: Callable[[int, str], None], sources: Sequence[ReadSource], begun: float
) -> Callable[[IngestReport], None]:
    def progress(report: IngestReport) -> None:
        done = sum(source.bytes_read for source in sources)
        rate = _rate(report, time.monotonic() - begun)
        tell(done, f"{report.read:,} read, {report.rejected:,} rejected, {rate}")

    return progress


def _rate(report: IngestReport, seconds: float) -> str:
    return f"{report.read / max(seconds, 0.001):,.0f} records a second"


def _write(report: IngestReport, options: IngestOptions, output: Output) -> None:
    if options.json:
        output.json({"corpus": report.corpus, **_counts(report)})
    else:
        output.line(_in_words(report))


def _in_words(report: IngestReport) -> str:
    counts = (f"{number:,} {name}" for name, number in _counts(report).items())
    return f"{report.corpus}: {', '.join(counts)}"


def _counts(report: IngestReport) -> dict[str, int]:
    return {
        "read": report.read,
        "inserted": report.inserted,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "rejected": report.rejected,
    }
