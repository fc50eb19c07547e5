"""`presagio ingest`: files into a corpus, with progress and a report of what was refused."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Self

import orjson

from bot.app import App
from bot.console.output import Output
from bot.console.progress import progress_bar
from engine.errors import CorpusNotFound, NothingUsable
from engine.ingest.detect import RecordStream, open_source
from engine.ingest.load import IngestReport, Loader
from engine.ingest.records import Defaults, Reject
from engine.types import Corpus, Kind

DEFAULT_CORPUS = "tweets"
DEFAULT_LANGUAGE = "english"
# Where a post of an account can be seen; an unknown account is "i", which X redirects.
TWEET_URL = "https://x.com/{author}/status/{id}"
_SHOWN_REJECTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """What the command line asked for; None leaves it to the corpus or the defaults."""

    corpus: str = ""
    kind: Kind | None = None
    language: str | None = None
    format: str = "auto"
    author: str | None = None
    json: bool = False


@dataclass(slots=True)
class RejectsReport:
    """A file that gets one JSON object a rejected record; it exists only when there is one."""

    path: Path
    count: int = 0
    first: list[Reject] = field(default_factory=list)
    _file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self.path.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def add(self, reject: Reject) -> None:
        """Write one record's file, line and reason."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb")
        self._file.write(orjson.dumps(asdict(reject), option=orjson.OPT_APPEND_NEWLINE))
        self.count += 1
        if len(self.first) < _SHOWN_REJECTS:
            self.first.append(reject)


async def ingest(
    app: App, files: Sequence[str], options: IngestOptions, *, output: Output
) -> IngestReport:
    """Load files into one corpus and write the counts.

    Raises NothingUsable when no record of any file could be stored, CorpusConflict, UsageError,
    InputError for a file that cannot be read.
    """
    defaults = Defaults(author=options.author.lstrip("@") if options.author else None)
    with ExitStack() as stack:
        # All files are recognised before anything is created.
        sources = [
            stack.enter_context(open_source(name, format=options.format, defaults=defaults))
            for name in files
        ]
        corpus = await ensure_corpus(app, options)
        report_file = app.settings.data_dir / "rejects" / f"{corpus.name}.jsonl"
        rejects = stack.enter_context(RejectsReport(report_file))
        with progress_bar(output.remarks, f"ingest {corpus.name}", _total(sources)) as tell:
            loader = Loader(
                app.documents,
                corpus,
                defaults,
                rejected=rejects.add,
                progress=_telling(tell, sources),
            )
            report = await _load(app, corpus, loader, sources)
    _tell_rejects(rejects, output)
    if not report.usable:
        raise NothingUsable(
            f"Nothing in {', '.join(files)} could be stored: {report.read} records read.",
            fix="See the reasons above, or name the format with --format.",
        )
    _write(report, options, output)
    return report


async def ensure_corpus(app: App, options: IngestOptions) -> Corpus:
    """Return the corpus to fill, creating it if it is new; what was not asked for stays."""
    name = options.corpus or app.settings.search.corpus or DEFAULT_CORPUS
    try:
        known: Corpus | None = await app.corpora.get(name)
    except CorpusNotFound:
        known = None
    kind = options.kind or (known.kind if known else Kind.TWEETS)
    corpus = await app.corpora.ensure(
        name,
        kind=kind,
        language=options.language or (known.language if known else DEFAULT_LANGUAGE),
        author=options.author.lstrip("@") if options.author else None,
        url_template=TWEET_URL if kind is Kind.TWEETS else None,
    )
    if options.author and corpus.author is None:
        corpus = await app.corpora.change(name, author=options.author.lstrip("@"))
    return corpus


async def _load(
    app: App, corpus: Corpus, loader: Loader, sources: Sequence[RecordStream]
) -> IngestReport:
    try:
        for source in sources:
            await loader.load(iter(source))
    finally:
        # What was stored before a damaged file or an interruption is good: it is finished too.
        if loader.report.inserted or loader.report.updated:
            await loader.finish()
            await app.documents.settle(corpus)
    return loader.report


def _total(sources: Sequence[RecordStream]) -> int | None:
    sizes = [source.total_bytes for source in sources]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _telling(
    tell: Callable[[int, str], None], sources: Sequence[RecordStream]
) -> Callable[[IngestReport], None]:
    def progress(report: IngestReport) -> None:
        done = sum(source.bytes_read for source in sources)
        tell(done, f"{report.read:,} read, {report.rejected:,} rejected")

    return progress


def _tell_rejects(rejects: RejectsReport, output: Output) -> None:
    for reject in rejects.first:
        output.remark(f"{reject.file}:{reject.line}: {reject.reason}")
    if rejects.count:
        output.remark(f"{rejects.count:,} records rejected; all of them: {rejects.path}")


def _write(report: IngestReport, options: IngestOptions, output: Output) -> None:
    counts = {
        "read": report.read,
        "inserted": report.inserted,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "rejected": report.rejected,
    }
    if options.json:
        output.json({"corpus": report.corpus, **counts})
    else:
        said = ", ".join(f"{number:,} {name}" for name, number in counts.items())
        output.line(f"{report.corpus}: {said}")
