"""Corpora and their documents: which corpus answers a request, and what ingest produces."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from engine.errors import CorpusNotFound, NoCorpora, NotAnswerable, SeveralCorpora
from engine.messages import Message, for_operators
from engine.values import Corpus, CorpusRole, DateKind, Flag, Kind

# The program creates these itself; a corpus with any other name is a user's archive.
DEMO_CORPUS = "demo"
NEWS_CORPUS = "news"
# Names that chats choose with, which no new corpus may have: every archive, and the usual one.
ALL, USUAL = "all", "default"
NO_ARCHIVE = "There is no archive to search yet. Load one: presagio ingest FILE"
_MOST_AT_ONCE = 200  # corpora of one search: some 15 ms each
_ROLES = {DEMO_CORPUS: CorpusRole.DEMONSTRATION, NEWS_CORPUS: CorpusRole.NEWS}
# A request that names no corpus gets an archive; the demonstration only if there is no archive.
_PREFERRED_ROLES = (CorpusRole.ARCHIVE, CorpusRole.DEMONSTRATION, CorpusRole.NEWS)
# A request that names no kind gets tweets if there are any; chats and notes come last.
_PREFERRED_KINDS = (Kind.TWEETS, Kind.SOCIAL, Kind.PUBLISHED, Kind.LIBRARY, Kind.PERSONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A summary of one thread, without its messages."""

    id: str
    title: str | None
    documents: int
    authors: int
    oldest: datetime | None  # None: none of its documents has a date
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """One document of a thread as it is shown."""

    id: int
    external_id: str
    created_at: datetime | None
    author: str | None
    role: str | None
    text: str
    url: str | None
    reply_to: str | None
    attribution: str | None
    flags: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSummary:
    """What a corpus holds, for a model that is asked about it."""

    years: tuple[int, int] | None  # of its oldest and its newest text; None: nothing has a date
    authors: tuple[str, ...]  # those with most texts, if there are several


def require_zone(moment: datetime) -> datetime:
    """Return `moment` unchanged. Raises ValueError if it has no time zone."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"a time without a zone: {moment.isoformat()}")
    return moment


def iso_moment(moment: datetime | None) -> str | None:
    """Return a moment as JSON has it, in UTC, or None."""
    return None if moment is None else moment.astimezone(UTC).isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a long text: what is searched and embedded, while the whole is what is cited."""

    text: str  # as shown
    search_text: str  # as searched, with the title and the headings
    heading: str | None = None  # the headings above it, outermost first: "Results > Prices"
    page: int | None = None  # first page, from 1
    last_page: int | None = None
    recognised: bool = False  # read in a picture by OCR


def part_id(external_id: str, number: int) -> str:
    """Return the id of a part of a document; no other document has such an id."""
    return f"{external_id}~part{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document, as ingest produces it: searchable itself, or in `parts`.

    A document in parts is an item of a library, or a long article. Its own texts are empty.
    """

    external_id: str
    text: str  # as shown
    search_text: str  # as searched: engine.text.clean.make_searchable(text)
    created_at: datetime | None  # None: nothing tells when it was written
    digest: int  # 64-bit signed hash of the source record; equal digest = unchanged
    dated_by: DateKind | None = None  # what the date tells, if not when it was written
    author: str | None = None
    title: str | None = None
    role: str | None = None
    lang: str | None = None  # ISO 639-1; None = the language of the corpus
    url: str | None = None
    reply_to: str | None = None  # external id of the message this one answers
    platform: str | None = None  # mastodon, slack, markdown, ...; None = that of the corpus
    thread: str | None = None  # conversation, channel or folder
    attribution: str | None = None  # where it comes from: "export/file#id", "linkedin:post/123"
    tags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    engagement: int = 0  # likes plus reposts, or reactions to a message
    flags: Flag = Flag.NONE
    # Where known: device, attachments (names), participants, channel, app, domain, ...
    meta: Mapping[str, object] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    pages: int | None = None
    page_labels: tuple[str, ...] = ()  # of all pages as printed; () = they are their numbers
    unread: str | None = None  # which pages could not be read, and why
    is_language_named: bool = True  # False: `lang` was recognised by the words

    def __post_init__(self) -> None:
        if self.created_at is not None:
            require_zone(self.created_at)


def role_of_new(name: str) -> CorpusRole:
    """Return the role of a new corpus with this name."""
    return _ROLES.get(name, CorpusRole.ARCHIVE)


def holds_archive(corpora: Sequence[Corpus]) -> bool:
    """Return whether there is anything to search but news."""
    return any(corpus.role is not CorpusRole.NEWS for corpus in corpora)


def resolve_corpus(
    corpora: Sequence[Corpus],
    name: str = "",
    *,
    configured: str = "",
    kinds: Sequence[Kind] = (),
    without: Collection[str] = (),
) -> Corpus:
    """Return the corpus for a request.

    `corpora` are the visible ones; `name` is the one requested. Without a name, return the
    `configured` one, which must exist unless the request is limited to `kinds`; otherwise the only
    one that `list_default_corpora` returns. Raises CorpusNotFound, SeveralCorpora, and
    NotAnswerable if the named corpus is of another kind.
    """
    name = name or ("" if kinds else configured)
    if name in without:
        raise CorpusNotFound(Message("Corpus {name} is left out by the query itself.", name=name))
    if name:
        corpus = find_corpus_named(corpora, name)
        if kinds and corpus.kind not in kinds:
            raise NotAnswerable(
                Message(
                    "Corpus {name} is of kind {kind}, not {kinds}.",
                    name=corpus.name,
                    kind=corpus.kind,
                    kinds=" or ".join(kinds),
                ),
                fix=Message("Name another corpus, or another kind."),
            )
        return corpus
    candidates = list_default_corpora(corpora, configured=configured, kinds=kinds, without=without)
    if len(candidates) > 1:
        names = ", ".join(corpus.name for corpus in candidates)
        raise SeveralCorpora(
            Message("There are several corpora: {names}.", names=names),
            fix=for_operators(Message("Name one with --corpus, or set search.corpus.")),
        )
    return candidates[0]


def list_default_corpora(
    corpora: Sequence[Corpus],
    *,
    configured: str = "",
    kinds: Sequence[Kind] = (),
    without: Collection[str] = (),
) -> list[Corpus]:
    """Return the equally good candidates for a request without a name; at least one.

    The configured corpus takes precedence, then archives. The demonstration is used only if there
    is no archive; the news only if `kinds` are requested and no other corpus is of them. Of several
    kinds, the first that has a corpus is used. Raises CorpusNotFound.
    """
    usable = [
        corpus
        for corpus in corpora
        if corpus.name not in without and (not kinds or corpus.kind in kinds)
    ]
    if preset := [corpus for corpus in usable if corpus.name == configured]:
        return preset
    if not kinds:
        usable = [corpus for corpus in usable if corpus.role is not CorpusRole.NEWS]
    if not usable:
        raise _none_of(kinds)
    role = min((corpus.role for corpus in usable), key=_PREFERRED_ROLES.index)
    usable = [corpus for corpus in usable if corpus.role is role]
    kind = min((corpus.kind for corpus in usable), key=(kinds or _PREFERRED_KINDS).index)
    return [corpus for corpus in usable if corpus.kind is kind]


def choose_default_corpus(corpora: Sequence[Corpus], *, configured: str = "") -> Corpus:
    """Return the corpus of chats that were subscribed without naming one: the oldest that fits.

    There was only one then, and their posts go on when others are added. Raises CorpusNotFound.
    """
    return min(list_default_corpora(corpora, configured=configured), key=lambda corpus: corpus.id)


def choose_corpora(
    corpora: Sequence[Corpus], name: str = "", *, configured: str = ""
) -> list[Corpus]:
    """Return the corpora for a request: every archive for "all", or the one of `resolve_corpus`.

    Of the demonstration and the news, "all" means neither while there is an archive. Raises
    CorpusNotFound, SeveralCorpora.
    """
    name = name or configured
    if name != ALL or any(corpus.name == ALL for corpus in corpora):
        return [resolve_corpus(corpora, name)]
    usable = [corpus for corpus in corpora if corpus.role is not CorpusRole.NEWS]
    if not usable:
        raise _none_of(())
    return [corpus for corpus in usable if corpus.role is CorpusRole.ARCHIVE] or usable


def limit_corpora(corpora: Sequence[Corpus]) -> tuple[list[Corpus], Message | None]:
    """Return the largest corpora, as many as one search may cover, in the order given, and a notice
    if others are left out."""
    if len(corpora) <= _MOST_AT_ONCE:
        return list(corpora), None
    largest = sorted(corpora, key=lambda corpus: (-corpus.documents, corpus.name))
    names = {corpus.name for corpus in largest[:_MOST_AT_ONCE]}
    notice = Message(
        "Of {all} archives the {number} largest were searched; name another to search it.",
        all=len(corpora),
        number=_MOST_AT_ONCE,
    )
    return [corpus for corpus in corpora if corpus.name in names], notice


def list_corpora_of_kind(corpora: Sequence[Corpus], kind: Kind) -> list[Corpus]:
    """Return all corpora of a kind; the demonstration only if alone. Raises CorpusNotFound."""
    same_kind = [corpus for corpus in corpora if corpus.kind is kind]
    if not same_kind:
        raise _none_of([kind])
    return [
        corpus for corpus in same_kind if corpus.role is not CorpusRole.DEMONSTRATION
    ] or same_kind


def find_corpus_named(corpora: Sequence[Corpus], name: str) -> Corpus:
    """Return the corpus called `name`. Raises CorpusNotFound, which lists the existing ones."""
    for corpus in corpora:
        if corpus.name == name:
            return corpus
    names = ", ".join(corpus.name for corpus in corpora)
    fix = for_operators(Message("Load one with: presagio ingest FILE"))
    if names:
        fix = Message("There are: {names}.", names=names)
    raise CorpusNotFound(Message("There is no corpus {name!r}.", name=name), fix=fix)


def find_news_corpus(corpora: Sequence[Corpus]) -> Corpus:
    """Return the corpus of feed items. Raises CorpusNotFound if feeds have delivered none yet."""
    for corpus in corpora:
        if corpus.role is CorpusRole.NEWS:
            return corpus
    raise CorpusNotFound(
        Message("There is no corpus of news yet."),
        fix=for_operators(Message("Feeds fill it: presagio feeds")),
    )


def outdated_notice(corpus: Corpus) -> Message | None:
    """Return a notice about answers from a corpus that needs reindexing, or None."""
    if not corpus.is_outdated:
        return None
    return Message(
        "Corpus {name} is not indexed anew yet: some of its texts may be missed.", name=corpus.name
    )


def _none_of(kinds: Sequence[Kind]) -> CorpusNotFound:
    if kinds:
        return CorpusNotFound(
            Message("There is no corpus of the kind {kinds}.", kinds=" or ".join(kinds))
        )
    return no_corpora()


def no_corpora() -> NoCorpora:
    """Return the error that nothing has been loaded yet."""
    return NoCorpora(
        Message("There is no corpus yet."),
        fix=for_operators(Message("Load one with: presagio ingest FILE")),
    )
