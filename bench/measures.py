"""Reads judged headlines, and measures answers against them. Nothing is searched here.

A label l has a gain of 2^l - 1 (Burges et al. 2005) and counts as relevant from 4 up. Hits that
nobody has judged count as irrelevant; their number is reported, because they lower every figure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import ir_measures
import orjson
from ir_measures.measures import Measure

from engine.errors import InputError

HIGHEST_LABEL = 6
# No good answer to these headlines is known; they show what a search that finds nothing looks like.
NO_MATCH = "nomatch"
TOP = 3
RIGHT = 4
DEPTHS = (80, 150, 240)  # recall is also reported among this many first candidates
Qrels = Mapping[str, Mapping[str, int]]
_GAINS = {label: 2**label - 1 for label in range(2, HIGHEST_LABEL + 1)}


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
    for where, text in read_lines(path):
        headline = _parse_headline(where, text)
        if headline.qid in headlines:
            raise InputError(f"{where}: the qid {headline.qid!r} is there twice.")
        headlines[headline.qid] = headline
    if not headlines:
        raise InputError(f"{path} holds no headline.")
    return list(headlines.values())


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgments as qid -> external id -> label. Raises InputError, naming file and line."""
    qrels: dict[str, dict[str, int]] = {}
    for where, text in read_lines(path):
        qid, identity, label = _parse_judgment(where, text)
        labels = qrels.setdefault(qid, {})
        if identity in labels:
            raise InputError(f"{where}: id {identity} of {qid!r} is judged twice.")
        labels[identity] = label
    if not qrels:
        raise InputError(f"{path} holds no judgment.")
    return qrels


def require_judgments(
    headlines: Sequence[JudgedHeadline], qrels: Mapping[str, Mapping[str, int]]
) -> None:
    """Raise InputError if a headline that should find something has no judgment at all."""
    for headline in headlines:
        if headline.matchable and not qrels.get(headline.qid):
            raise InputError(
                f"{headline.line}: there is no judgment for qid {headline.qid!r}.",
                fix=f'Add some to the qrels, or give the headline "kind": "{NO_MATCH}".',
            )


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield ("file, line n", text) for each line that is not blank."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield f"{path}, line {number}", text.rstrip("\r\n")
    except OSError as exc:
        raise InputError(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"{path} is not UTF-8 text.") from exc


def _parse_headline(where: str, text: str) -> JudgedHeadline:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise InputError(f"{where}: not valid JSON: {exc.msg}.") from exc
    if not isinstance(found, dict):
        raise InputError(f"{where}: not a JSON object.")
    for name in ("qid", "headline"):
        if not isinstance(found.get(name), str) or not found[name].strip():
            raise InputError(f"{where}: {name!r} must be a text that is not empty.")
    kind = found.get("kind")
    if kind is not None and not isinstance(kind, str):
        raise InputError(f"{where}: 'kind' must be a text.")
    return JudgedHeadline(
        qid=found["qid"],
        headline=found["headline"],
        kind=kind,
        date=_read_date(where, found.get("date")),
        line=where,
    )


def _read_date(where: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as exc:
        raise InputError(f"{where}: {value!r} is not an ISO date.") from exc
    if moment.tzinfo:
        return moment
    if "T" in str(value) or ":" in str(value):
        raise InputError(f"{where}: the time {value!r} has no zone.")
    return moment.replace(tzinfo=UTC)


def _parse_judgment(where: str, text: str) -> tuple[str, str, int]:
    columns = [column.strip() for column in text.split("\t")]
    if len(columns) != 3 or not all(columns):
        raise InputError(f"{where}: expected qid, id and label with tabs between them.")
    qid, identity, label = columns
    if not label.isdecimal() or int(label) > HIGHEST_LABEL:
        raise InputError(f"{where}: the label {label!r} is not 0 to {HIGHEST_LABEL}.")
    return qid, identity, int(label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a search answered for one headline."""

    ids: tuple[str, ...]  # external ids of the hits, best first
    candidates: tuple[str, ...]  # external ids that retrieval proposed, best first
    coverage: float  # highest share of the headline that one candidate covers, 0..1
    score: float | None  # of the first hit; None when nothing was found

    def as_json(self, qid: str) -> dict[str, object]:
        """Return one line of a run file."""
        return {"qid": qid, "ids": list(self.ids), "candidates": list(self.candidates)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The measures of one headline, each 0..1 except the mean label, which is 0..6."""

    qid: str
    ndcg: float
    precision: float
    recall: float | None  # among all candidates; None if no document is relevant
    recall_at: Mapping[int, float | None]  # by the number of first candidates considered
    best: float  # the precision of a judge who is always right, with these candidates
    judged: float
    mean_label: float
    unjudged: int  # hits among the first three that nobody has judged

    def as_json(self) -> dict[str, object]:
        """Return the row under the names that the report uses."""
        return {
            "qid": self.qid,
            f"nDCG@{TOP}": self.ndcg,
            f"P@{TOP}": self.precision,
            f"best P@{TOP}": self.best,
            "recall": self.recall,
            **{f"recall@{depth}": part for depth, part in self.recall_at.items()},
            f"judged@{TOP}": self.judged,
            f"mean_label@{TOP}": self.mean_label,
            f"unjudged@{TOP}": self.unjudged,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How confident the first hits look, on average over some headlines."""

    headlines: int
    coverage: float | None
    score: float | None

    def as_json(self) -> dict[str, object]:
        """Return the figures by name."""
        return {
            "headlines": self.headlines,
            "mean_coverage": self.coverage,
            "mean_score": self.score,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Means over the headlines that should find something, with notes for the reader."""

    rows: tuple[Row, ...]
    match: Separation
    nomatch: Separation
    notes: tuple[str, ...]  # sentences for a person

    def as_json(self) -> dict[str, object]:
        """Return means by name (None if no headline defines one), then the rows."""
        return {
            "headlines": len(self.rows),
            f"nDCG@{TOP}": _measure_mean(row.ndcg for row in self.rows),
            f"P@{TOP}": _measure_mean(row.precision for row in self.rows),
            f"best P@{TOP}": _measure_mean(row.best for row in self.rows),
            "recall": _measure_mean(row.recall for row in self.rows),
            **{
                f"recall@{depth}": _measure_mean(row.recall_at[depth] for row in self.rows)
                for depth in DEPTHS
            },
            f"judged@{TOP}": _measure_mean(row.judged for row in self.rows),
            f"mean_label@{TOP}": _measure_mean(row.mean_label for row in self.rows),
            f"unjudged@{TOP}": sum(row.unjudged for row in self.rows),
            "match": self.match.as_json(),
            "nomatch": self.nomatch.as_json(),
            "notes": list(self.notes),
            "rows": [row.as_json() for row in self.rows],
        }


def evaluate(headlines: Sequence[JudgedHeadline], qrels: Qrels, runs: Mapping[str, Run]) -> Report:
    """Measure `runs`, which holds one run for the qid of every headline.

    Raises InputError if a headline has no judgments.
    """
    require_judgments(headlines, qrels)
    matchable = [headline.qid for headline in headlines if headline.matchable]
    others = [headline.qid for headline in headlines if not headline.matchable]
    labels = {qid: qrels[qid] for qid in matchable}
    rows = _build_rows(labels, {qid: runs[qid] for qid in matchable})
    return Report(
        rows=tuple(rows),
        match=_measure_separation([runs[qid] for qid in matchable]),
        nomatch=_measure_separation([runs[qid] for qid in others]),
        notes=tuple(_list_notes(rows, set(qrels) - set(matchable) - set(others))),
    )


def _build_rows(labels: Qrels, runs: Mapping[str, Run]) -> list[Row]:
    ndcg = ir_measures.nDCG(gains=_GAINS) @ TOP
    precision = ir_measures.P(rel=RIGHT) @ TOP
    judged = ir_measures.Judged @ TOP
    recall = ir_measures.R(rel=RIGHT) @ max(1, *(len(run.candidates) for run in runs.values()), 1)
    hits = _measure_queries(
        [ndcg, precision, judged], labels, {q: run.ids for q, run in runs.items()}
    )
    found = _measure_queries([recall], labels, {q: run.candidates for q, run in runs.items()})
    return [
        Row(
            qid=qid,
            ndcg=hits[ndcg, qid],
            precision=hits[precision, qid],
            recall=found[recall, qid] if max(known.values()) >= RIGHT else None,
            recall_at={depth: _measure_recall(runs[qid], known, depth) for depth in DEPTHS},
            best=min(TOP, len(_list_right_ids(known) & set(runs[qid].candidates))) / TOP,
            judged=hits[judged, qid],
            mean_label=sum(known.get(document_id, 0) for document_id in runs[qid].ids[:TOP]) / TOP,
            unjudged=sum(document_id not in known for document_id in runs[qid].ids[:TOP]),
        )
        for qid, known in labels.items()
    ]


def _list_right_ids(labels: Mapping[str, int]) -> set[str]:
    return {document_id for document_id, label in labels.items() if label >= RIGHT}


def _measure_recall(run: Run, labels: Mapping[str, int], depth: int) -> float | None:
    right = _list_right_ids(labels)
    return len(right & set(run.candidates[:depth])) / len(right) if right else None


def _measure_queries(
    measures: Sequence[Measure],
    labels: Qrels,
    ranked: Mapping[str, Sequence[str]],
) -> dict[tuple[object, str], float]:
    """Return each measure of each qid. Empty lists are left out, as the library expects."""
    scored = {
        qid: {document_id: float(-rank) for rank, document_id in enumerate(ids)}
        for qid, ids in ranked.items()
        if ids
    }
    return {
        (metric.measure, metric.query_id): metric.value
        for metric in ir_measures.iter_calc(measures, labels, scored)
    }


def _measure_separation(runs: Sequence[Run]) -> Separation:
    return Separation(
        headlines=len(runs),
        coverage=_measure_mean(run.coverage for run in runs),
        score=_measure_mean(run.score for run in runs),
    )


def _measure_mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _list_notes(rows: Sequence[Row], strangers: set[str]) -> list[str]:
    notes = []
    without = [row.qid for row in rows if row.recall is None]
    if without:
        notes.append(f"No label of {RIGHT} or more, left out of recall: {', '.join(without)}.")
    unjudged = sum(row.unjudged for row in rows)
    if unjudged:
        notes.append(f"{unjudged} of the first {TOP} hits nobody has judged; they count as 0.")
    if strangers:
        notes.append(f"Judgments of headlines that are not in the file: {len(strangers)}, unused.")
    return notes
