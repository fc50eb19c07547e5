"""Reads headlines whose answers people have judged: what `presagio eval` measures against.

Headlines are JSON lines `{qid, headline, kind?, date?}`; judgments ("qrels") are lines
`qid<TAB>id<TAB>label` with labels from 0 to 6, the judge's own scale.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from engine.errors import InputError
from engine.messages import Message

HIGHEST_LABEL = 6
# No good answer to these headlines is known; they show what a search that finds nothing looks like.
NO_MATCH = "nomatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedHeadline:
    """One line of a headlines file."""

    qid: str
    headline: str
    kind: str | None = None
    date: datetime | None = None  # a date without a time means midnight UTC
    line: str = ""  # "file, line n", for messages

    @property
    def matchable(self) -> bool:
        """True if there should be something to find."""
        return self.kind != NO_MATCH


def read_headlines(path: Path) -> list[JudgedHeadline]:
    """Read a headlines file. Raises InputError, naming file and line."""
    headlines: dict[str, JudgedHeadline] = {}
    for where, text in _lines(path):
        headline = _headline(where, text)
        if headline.qid in headlines:
            raise InputError(
                Message("{where}: the qid {qid!r} is there twice.", where=where, qid=headline.qid)
            )
        headlines[headline.qid] = headline
    if not headlines:
        raise InputError(Message("{path} holds no headline.", path=path))
    return list(headlines.values())


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgments as qid -> external id -> label. Raises InputError, naming file and line."""
    qrels: dict[str, dict[str, int]] = {}
    for where, text in _lines(path):
        qid, identity, label = _judgment(where, text)
        labels = qrels.setdefault(qid, {})
        if identity in labels:
            raise InputError(
                Message(
                    "{where}: id {identity} of {qid!r} is judged twice.",
                    where=where,
                    identity=identity,
                    qid=qid,
                )
            )
        labels[identity] = label
    if not qrels:
        raise InputError(Message("{path} holds no judgment.", path=path))
    return qrels


def require_judgments(
    headlines: Sequence[JudgedHeadline], qrels: Mapping[str, Mapping[str, int]]
) -> None:
    """Raise InputError if a headline that should find something has no judgment at all."""
    for headline in headlines:
        if headline.matchable and not qrels.get(headline.qid):
            raise InputError(
                Message(
                    "{line}: there is no judgment for qid {qid!r}.",
                    line=headline.line,
                    qid=headline.qid,
                ),
                fix=Message(
                    'Add some to the qrels, or give the headline "kind": "{no_match}".',
                    no_match=NO_MATCH,
                ),
            )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield ("file, line n", text) for each line that is not blank."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield f"{path}, line {number}", text.rstrip("\r\n")
    except OSError as exc:
        raise InputError(
            Message("{path} cannot be read: {reason}.", path=path, reason=exc.strerror or exc)
        ) from exc
    except UnicodeDecodeError as exc:
        raise InputError(Message("{path} is not UTF-8 text.", path=path)) from exc


def _headline(where: str, text: str) -> JudgedHeadline:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise InputError(
            Message("{where}: not valid JSON: {msg}.", where=where, msg=exc.msg)
        ) from exc
    if not isinstance(found, dict):
        raise InputError(Message("{where}: not a JSON object.", where=where))
    for name in ("qid", "headline"):
        if not isinstance(found.get(name), str) or not found[name].strip():
            raise InputError(
                Message(
                    "{where}: {name!r} must be a text that is not empty.", where=where, name=name
                )
            )
    kind = found.get("kind")
    if kind is not None and not isinstance(kind, str):
        raise InputError(Message("{where}: 'kind' must be a text.", where=where))
    return JudgedHeadline(
        qid=found["qid"],
        headline=found["headline"],
        kind=kind,
        date=_date(where, found.get("date")),
        line=where,
    )


def _date(where: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as exc:
        raise InputError(
            Message("{where}: {value!r} is not an ISO date.", where=where, value=value)
        ) from exc
    if moment.tzinfo:
        return moment
    if "T" in str(value) or ":" in str(value):
        raise InputError(
            Message("{where}: the time {value!r} has no zone.", where=where, value=value)
        )
    return moment.replace(tzinfo=UTC)


def _judgment(where: str, text: str) -> tuple[str, str, int]:
    columns = [column.strip() for column in text.split("\t")]
    if len(columns) != 3 or not all(columns):
        raise InputError(
            Message("{where}: expected qid, id and label with tabs between them.", where=where)
        )
    qid, identity, label = columns
    if not label.isdecimal() or int(label) > HIGHEST_LABEL:
        raise InputError(
            Message(
                "{where}: the label {label!r} is not 0 to {highest_label}.",
                where=where,
                label=label,
                highest_label=HIGHEST_LABEL,
            )
        )
    return qid, identity, int(label)
