"""Into which corpora ingest loads what it found: each kind into its own, private texts apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.console.screen import Output
from engine.errors import CorpusNotFound, UsageError
from engine.values import Corpus, Kind

if TYPE_CHECKING:
    from bot.app import App
    from bot.cli.ingest import IngestOptions
    from engine.ingest.isolated_reader import ReadSource

_SHOWN = 8  # files that are not read


@dataclass(frozen=True, slots=True)
class Target:
    """A corpus to fill, which may not exist yet, and the sources that go into it."""

    name: str
    kind: Kind
    known: Corpus | None
    sources: "list[ReadSource]"


async def choose_targets(
    app: "App", sources: "Sequence[ReadSource]", options: "IngestOptions"
) -> list[Target]:
    """Return the corpora to fill, those of the first files first. Raises UsageError.

    Without a name it is the configured corpus, else one named after the kind. With a name all go
    into that one, which is personal as soon as anything is; what a corpus that exists must not hold
    goes into NAME-KIND.
    """
    targets: dict[str, Target] = {}
    whole = await _find_target(app, sources, options)
    for source in sources:
        target = whole
        if target is None or not fits(source, target.kind):
            if options.kind or (options.corpus and not source.is_part):
                raise _unfitting(source, target)
            kind = source.opened.kinds[0]
            name = f"{options.corpus}-{kind.value}" if options.corpus else kind.value
            target = await _build_target(app, name, kind)
            if not fits(source, target.kind):
                raise _unfitting(source, target)
        targets.setdefault(target.name, target).sources.append(source)
    return list(targets.values())


async def _find_target(
    app: "App", sources: "Sequence[ReadSource]", options: "IngestOptions"
) -> Target | None:
    """Return the corpus that is named, on the command line, in the settings or by --kind."""
    if name := options.corpus:
        usual = options.kind or choose_kind(sources)
    elif name := app.settings.search.corpus:
        usual = options.kind or sources[0].opened.kinds[0]
    elif options.kind:
        name, usual = options.kind.value, options.kind
    else:
        return None
    target = await _build_target(app, name, usual)
    return Target(name, options.kind, target.known, []) if options.kind else target


def choose_kind(sources: "Sequence[ReadSource]") -> Kind:
    """Return the kind of one corpus for all: personal as soon as anything is.

    Messages that lie among the posts of an account do not make those private.
    """
    kinds = [source.opened.kinds[0] for source in sources if not source.is_direct]
    return Kind.PERSONAL if Kind.PERSONAL in kinds else kinds[0]


async def _build_target(app: "App", name: str, kind: Kind) -> Target:
    try:
        stored = await app.corpora.get(name)
    except CorpusNotFound:
        return Target(name, kind, None, [])
    return Target(name, stored.kind, stored, [])


def fits(source: "ReadSource", kind: Kind) -> bool:
    """Tell whether texts of a source may go into a corpus of a kind: into a private one all may."""
    return kind is Kind.PERSONAL or kind in source.opened.kinds


def _unfitting(source: "ReadSource", target: Target | None) -> UsageError:
    usual = source.opened.kinds[0].value
    whole = f", and corpus {target.name!r} is {target.kind.value}" if target else ""
    return UsageError(
        f"{source.opened.name} ({source.opened.format}) is {usual}{whole}.",
        fix=f"Give it a corpus of its own: --corpus NAME --kind {usual}.",
    )


def name_unread(sources: "Sequence[ReadSource]") -> list[str]:
    """Return the files that are there and not read, with the number of their records."""
    return [
        f"{file.name} ({file.records:,})" if file.records else file.name
        for source in sources
        for file in source.unread
    ]


def tell_unread(sources: "Sequence[ReadSource]", output: Output) -> None:
    """Say what is there and not read."""
    unread = [file for source in sources for file in source.unread]
    if not unread:
        return
    first = name_unread(sources)[:_SHOWN]
    more = f", and {len(unread) - _SHOWN:,} more files" if len(unread) > _SHOWN else ""
    output.remark(f"Also there, not read: {', '.join(first)}{more}")
    for file in unread:
        if file.reason:
            output.remark(f"{file.name}: {file.reason}")
