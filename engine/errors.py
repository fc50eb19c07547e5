"""Every error that is shown to a user, in one tree.

    PresagioError
    ├── UsageError               wrong arguments or settings (exit code 2)
    │   ├── NotAnswerable        well-formed, but what is stored does not allow it
    │   └── SettingsError
    ├── InputError               a file or text that cannot be used
    │   ├── UnknownFormat
    │   ├── NothingUsable
    │   └── RecordError          one record of a file; the rest is stored
    ├── ExtraMissing             an optional part of the program is not installed
    ├── ProcessUnstarted         a process beside this one cannot be started
    ├── NotDrawn                 a picture; the process that draws it broke down
    ├── CorpusNotFound
    │   └── SeveralCorpora       no corpus was named, and more than one fits
    ├── CorpusConflict
    ├── StorageError             the database
    │   ├── StorageUnreachable
    │   ├── StorageRights
    │   ├── StorageFull
    │   ├── StorageInterrupted   may be repeated as a whole
    │   ├── StorageOutdated      tables are missing or from another version
    │   └── VectorsUnsupported   the server cannot keep vectors
    ├── FetchError               a web page or feed that cannot be fetched
    │   ├── FetchRefused         the address is private, or not a web address at all
    │   ├── FetchTimeout
    │   ├── FetchFailed          names, network, TLS, broken answers
    │   ├── FetchStatus          4xx, 5xx
    │   ├── FetchWrongType
    │   ├── FetchTooLarge
    │   ├── FetchUntitled        the page has no title
    │   ├── FetchDisallowed      robots.txt does not let programs read the page
    │   ├── PageUnreadable       no text, or reading it takes too long or kills its process
    │   └── FeedUnreadable       the answer is not a readable feed
    ├── WebSearchError           a search provider gave no usable answer
    │   ├── WebSearchUnreachable network, timeouts, 5xx
    │   ├── WebSearchLimited     429
    │   ├── WebSearchSpent       credits or quota are spent
    │   └── WebSearchRefused     bad key, bad request
    └── ModelError               the language model
        ├── ModelUnreachable     network, timeouts, 5xx
        ├── ModelRateLimited     429
        ├── ModelRefused         bad key, unknown model, bad request
        │   └── ModelUnpaid      the credit of the account is spent
        ├── ModelAnswerInvalid   the answer holds nothing usable
        │   ├── ModelAnswerCut   the token limit was reached before the answer began
        │   └── ModelDeclined    the model refuses to answer, or a filter took the answer
        ├── ModelPaused          the breaker is open
        ├── CorpusWithheld       private texts may not be sent there
        ├── TextSetAside         the text breaks a model on this machine
        └── BudgetExhausted
            ├── BudgetHeld       spent only if calls cost what is estimated
            └── BudgetClosed     to whom no model may be asked at all

`str(error)` is one line for the user: what happened, then what to do.
"""

import traceback
from collections.abc import Iterator

from engine.messages import Message, as_message, for_operators, join_messages


class PresagioError(Exception):
    """Base of all errors that are shown to a user.

    `message` says what happened; `fix`, if given, says what to do. Both are messages, so that
    they can be translated; any other text is shown unchanged. `plain` is what people in chats are
    told of errors that only whoever runs the program can mend: what the class says, or the error.
    """

    plain: Message | None = None

    def __init__(
        self, message: str, *, fix: str | None = None, plain: Message | None = None
    ) -> None:
        super().__init__(message)
        self.message = as_message(message)
        self.fix = as_message(fix) if fix else None
        self.plain = plain or self.plain

    def __str__(self) -> str:
        return f"{self.message} {self.fix}" if self.fix else self.message

    @property
    def full_message(self) -> Message:
        """What happened and what to do, as one message."""
        message = join_messages(self.message, self.fix)
        return for_operators(message, self.plain) if self.plain else message


class UsageError(PresagioError):
    """Wrong arguments."""


class NotAnswerable(UsageError):
    """A request that is well-formed, but not of what is stored: not of this kind, no vectors."""


class SettingsError(UsageError):
    """An unusable configuration."""

    plain = Message("I am not set up for this.")


class InputError(PresagioError):
    """A file or text that cannot be used."""


class UnknownFormat(InputError):
    """No reader recognises the file."""


class NothingUsable(InputError):
    """A file was read to its end, but none of its records could be stored."""


class RecordError(InputError):
    """One record of a file cannot be used; the message is the reason alone."""


class ExtraMissing(PresagioError):
    """An optional part of the program is needed but not installed; `extra` installs it."""

    plain = Message("A part of me that this needs is not installed.")

    def __init__(self, message: Message, *, extra: str) -> None:
        from engine.extras import how_to_install  # noqa: PLC0415 - half of what this takes to import

        plain = Message("Whoever runs me can install what is missing.")
        super().__init__(message, fix=for_operators(how_to_install(extra), plain))


class ProcessUnstarted(PresagioError):
    """No process can be started for what is not done in this one."""

    plain = Message("I cannot do this just now. Try again later.")


class NotDrawn(PresagioError):
    """A picture cannot be drawn, because the process that draws it breaks down or cannot start."""

    plain = Message("I cannot draw this picture.")


class CorpusNotFound(PresagioError):
    """The requested corpus does not exist."""


class NoCorpora(CorpusNotFound):
    """Nothing has been loaded yet."""


class SeveralCorpora(CorpusNotFound):
    """No corpus was named, and more than one fits."""


class CorpusConflict(PresagioError):
    """The corpus exists with a kind or language other than the requested one."""


class StorageError(PresagioError):
    """The database failed in a way that no subclass describes."""

    plain = Message("My database does not answer just now. Try again in a few minutes.")
    stored_work: str | None = None  # what of the work is stored all the same; `fix` ends with it


class StorageUnreachable(StorageError):
    """No connection could be made, or the server could not be started."""


class StorageRights(StorageError):
    """The database role lacks a right."""


class StorageFull(StorageError):
    """The server ran out of disk space or memory."""


class StorageInterrupted(StorageError):
    """The connection was lost or the transaction was rolled back; those before it stay."""


class StorageOutdated(StorageError):
    """The tables are missing or belong to another version of the program."""


class VectorsUnsupported(StorageError):
    """The server has no pgvector 0.7 or newer, or the role may not install it."""


class EmbeddedElsewhere(StorageError):
    """Another process has taken over the texts that this one was embedding."""


class FetchError(PresagioError):
    """A web page or feed cannot be fetched. The message names only the host of its URL."""


class FetchRefused(FetchError):
    """The address is not on the public web: private, not HTTP(S), or with credentials in it."""


class FetchTimeout(FetchError):
    """The whole fetch exceeded its time limit."""


class FetchFailed(FetchError):
    """The fetch failed in name resolution, network, TLS, or because of a malformed answer."""


class FetchStatus(FetchError):
    """The server answered 4xx or 5xx. `retry_after` is the unparsed Retry-After header."""

    def __init__(
        self, message: str, *, fix: str | None = None, status: int, retry_after: str | None = None
    ) -> None:
        super().__init__(message, fix=fix)
        self.status = status
        self.retry_after = retry_after


class FetchWrongType(FetchError):
    """The answer has a media type other than the requested ones."""


class FetchTooLarge(FetchError):
    """The answer exceeds the size limit."""


class FetchUntitled(FetchError):
    """The page was read but has no title, or that of a login, a check for robots or an error."""


class FetchDisallowed(FetchError):
    """The site's robots.txt does not let this program read the page."""


class PageUnreadable(FetchError):
    """The page has no text, or reading it took too long, too much memory, or killed its process."""


class FeedUnreadable(FetchError):
    """The answer is not a feed, has forbidden content, or took too long to parse."""


class WebSearchError(PresagioError):
    """A search provider gave no usable answer. `rest`: seconds to leave it alone, 0 = none."""

    plain = Message("I cannot search the web just now.")

    def __init__(self, message: str, *, fix: str | None = None, rest: float = 0.0) -> None:
        super().__init__(message, fix=fix)
        self.rest = rest


class WebSearchUnreachable(WebSearchError):
    """Network failure, timeout, or a server error."""


class WebSearchLimited(WebSearchError):
    """The provider rejects the search because of a rate limit."""


class WebSearchSpent(WebSearchError):
    """The credits or the quota of the account are spent."""


class WebSearchRefused(WebSearchError):
    """The provider will not answer this search: key, rights or parameters."""


class ModelError(PresagioError):
    """The language model gave no usable answer.

    `retryable` tells whether the same request may succeed later.
    """

    plain = Message("I cannot ask my model just now. Try again later.")
    retryable = False


class ModelUnreachable(ModelError):
    """Network failure, timeout, or a server error."""

    retryable = True


class ModelRateLimited(ModelError):
    """The endpoint rejects the request because of a rate limit."""

    retryable = True


class ModelRefused(ModelError):
    """The endpoint will not answer this request: key, credit, model or parameters."""


class ModelUnpaid(ModelRefused):
    """The credit of the account is spent; operators hear of it even if a key was refused before."""


class ModelAnswerInvalid(ModelError):
    """The endpoint answered, but the answer holds nothing usable."""


class ModelAnswerCut(ModelAnswerInvalid):
    """The token limit was reached before the answer began; asking again changes nothing."""


class ModelDeclined(ModelAnswerInvalid):
    """The model refuses to answer, or a filter took the answer; asking again changes nothing."""


class ModelPaused(ModelError):
    """The endpoint is not called for a while after too many failures in a row."""


class CorpusWithheld(ModelError):
    """The corpus is private and may not be sent to the endpoint; nothing was sent."""

    plain = Message("My model may not read this archive.")


class TextSetAside(ModelError):
    """The text ended the process of a model on this machine twice, and is not given to it again."""

    plain = Message("My model cannot read this text.")


class BudgetExhausted(ModelError):
    """The daily budget in tokens or money is spent."""

    plain = Message("My model has done all that it may today. Try again tomorrow.")


class BudgetHeld(BudgetExhausted):
    """The rest of the budget is held for calls by an estimate of what they cost, and not spent."""

    plain = Message("What my model may still do today may not be enough for this.")


class BudgetClosed(BudgetExhausted):
    """No model is asked for whoever asks, on any day."""


def explain_error(error: BaseException) -> str:
    """Return the types and code locations of an error and its causes, in one line.

    Subclasses of StorageError are given with their message, which comes from the server and not
    from the value of a parameter.
    """
    if isinstance(error, StorageError) and type(error) is not StorageError:
        came_from = [type(cause).__name__ for cause in _list_causes(error)][1:]
        return ", from ".join([f"{type(error).__name__}: {error}", *came_from])
    explained = []
    for cause in _list_causes(error):
        calls = " > ".join(  # that led to it, outermost first
            f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(cause.__traceback__)
        )
        explained.append(f"{type(cause).__name__} ({calls})")
    return ", from ".join(explained)


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)
