"""Measures how much of real documents is read, how fast, and whether a killed ingest recovers.

`python -m bench.documents [--data ../shared/data/documents] [--files 1000]
[--kill-after 30] [--only extraction]`

The folder holds `pdf` and `docx` files with their texts beside them (`NAME.truth.md`), `html`
pages with a `truth.json` of phrases that belong in or out, `scans`, one of them with its text
(`NAME.txt`), and `damaged` files. Words are
runs of letters and digits. Order is the longest common subsequence of words, as a share of the
words that the text and the truth have in common.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from rapidfuzz.distance import LCSseq

from engine.errors import RecordError
from engine.ingest.formats.documents import DocumentReader
from engine.ingest.record_stream import open_source
from engine.ingest.records import Reject, SourceRecord, SourceRequest
from engine.text.chunks import split_chunks, token_count

_WORD = re.compile(r"\w+")
_MARKUP = re.compile(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?…:;。！？؟][\"'”’»)\]]*$")
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of a file; `text` is None if it was refused."""

    file: str
    text: str | None
    reason: str = ""
    pages: int = 1
    seconds: float = 0.0
    parts: int = 0
    open: int = 0  # parts, but for the last, that end without a mark: in lists, tables, code
    cut: int = 0  # of these, parts that end within a paragraph
    sizes: tuple[int, ...] = ()


def read_folder(folder: str) -> tuple[list[Read], float]:
    """Read all documents of a folder; also return the memory that it took, in MB."""
    with open_source(SourceRequest(folder, format="documents")) as stream:
        found = [_read(one) for one in stream]
    return found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MEGABYTE


def _read(found: SourceRecord | Reject) -> Read:
    if isinstance(found, Reject):
        return Read(found.file, None, found.reason)
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.RUSAGE_CHILDREN
    began = own.ru_utime + resource.getrusage(others).ru_utime
    try:
        post = DocumentReader().post(found.payload)
    except RecordError as exc:
        return Read(found.file, None, str(exc))
    blocks = post.blocks or ()
    ended = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    ended += resource.getrusage(others).ru_utime
    parts = split_chunks(blocks)
    unmarked = [part.text for part in parts[:-1] if not _SENTENCE_END.search(part.text)]
    ends = tuple(line.strip()[-30:] for block in blocks for line in block.text.split("\n"))
    headings = dict.fromkeys(heading for block in blocks for heading in block.headings)
    return Read(
        found.file,
        "\n".join((*headings, *(block.text for block in blocks))),
        pages=post.pages or 1,
        seconds=ended - began,
        parts=len(parts),
        open=len(unmarked),
        cut=sum(not text.endswith(ends) for text in unmarked),
        sizes=tuple(token_count(part.text) for part in parts),
    )


def likeness(text: str, truth: str) -> tuple[float, float, float]:
    """Return recall, precision and order of the words of a text."""
    said = _WORD.findall(text.casefold())
    true = _WORD.findall(_MARKUP.sub(" ", truth).casefold())
    common = (Counter(said) & Counter(true)).total()
    return common / len(true), common / len(said), LCSseq.similarity(said, true) / (common or 1)


def with_truth(reads: Sequence[Read]) -> Iterator[tuple[float, float, float]]:
    """Yield the likeness of each file that has its text beside it."""
    for read in reads:
        for ending in (".truth.md", ".txt"):
            truth = Path(read.file).with_suffix(ending)
            if truth.exists():
                yield likeness(read.text or "", truth.read_text())


def phrases(reads: Sequence[Read], truth: Path) -> tuple[float, float]:
    """Return which shares of the phrases that belong in are read, and of the others left out."""
    known = json.loads(truth.read_text())
    texts = {Path(read.file).name: " ".join((read.text or "").split()) for read in reads}
    wanted = [(name, phrase) for name, each in known.items() for phrase in each["with"]]
    unwanted = [(name, phrase) for name, each in known.items() for phrase in each["without"]]
    kept = sum(phrase in texts.get(name, "") for name, phrase in wanted)
    left = sum(phrase not in texts.get(name, "") for name, phrase in unwanted)
    return kept / len(wanted), left / len(unwanted)


def extraction(data: Path) -> None:
    """Print what is read of each format, and what of damaged files is said."""
    every: list[Read] = []
    for folder in ("pdf", "docx", "html", "scans", "damaged"):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            reads, memory = alone.submit(read_folder, str(data / folder)).result()
        reads = [one for one in reads if not one.file.endswith((".truth.md", "linn.txt"))]
        every += reads
        read = [one for one in reads if one.text is not None]
        pages = sum(one.pages for one in read)
        line = f"{folder}: {len(read)} of {len(reads)} files, {pages} pages"
        if pages:
            seconds = sum(one.seconds for one in read)
            line += f", {1000 * seconds / pages:.0f} ms of processor time a page, {memory:.0f} MB"
        print(line)
        if found := list(with_truth(read)):
            mean = [sum(column) / len(found) for column in zip(*found, strict=True)]
            print("  recall {:.3f}, precision {:.3f}, order {:.3f}".format(*mean))
        if folder == "html":
            shares = phrases(read, data / folder / "truth.json")
            print("  phrases in {:.3f}, phrases out {:.3f}".format(*shares))
        for one in reads:
            if one.text is None:
                print(f"  {Path(one.file).name}: {one.reason}")
    parts, cut = sum(one.parts for one in every), sum(one.cut for one in every)
    unmarked = sum(one.open for one in every)
    ends = sum(max(one.parts - 1, 0) for one in every)
    sizes = sorted(size for one in every for size in one.sizes[:-1])
    print(f"parts: {parts}; {cut} of {ends} ends ({100 * cut / ends:.0f} %) within a paragraph's")
    print(f"  sentence; {unmarked} ({100 * unmarked / ends:.0f} %) without a mark of its end")
    print(
        f"  tokens of all but last ones: {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}"
    )


def resumption(data: Path, files: int, *, kill_after: float) -> None:
    """Ingest many documents, kill the ingest in the middle, and run it again."""
    folder = Path(tempfile.mkdtemp(prefix="presagio-documents-"))
    folder.chmod(0o755)  # the embedded server of root runs as another account
    try:
        _copied(data, folder / "library", files)
        # A server of its own, whose folder is removed with the rest.
        environment = os.environ | {"PRESAGIO_DATA_DIR": str(folder / "data")}
        environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "xdg")}
        _ingested(folder, environment, stop_after=kill_after)
        began = time.perf_counter()
        counts = _ingested(folder, environment)
        again = time.perf_counter()
        print(f"{files} documents: killed after {kill_after:.0f} s, then {counts}")
        print(f"  the rest took {again - began:.0f} s", end="")
        print(f", once more {_ingested(folder, environment)}", end="")
        print(f" in {time.perf_counter() - again:.1f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(data: Path, folder: Path, files: int) -> None:
    """Fill a folder with copies that differ in one byte."""
    real = [
        path
        for kind in ("pdf", "docx", "html")
        for path in sorted((data / kind).iterdir())
        if path.suffix in (".pdf", ".docx", ".html")
    ]
    for number in range(files):
        path = real[number % len(real)]
        target = folder / str(number // 100) / f"{number}{path.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        extra = b"" if path.suffix == ".docx" else f"\n{number}".encode()
        target.write_bytes(path.read_bytes() + extra)


def _ingested(
    folder: Path, environment: dict[str, str], *, stop_after: float | None = None
) -> dict[str, object]:
    """Run an ingest and return its counts; with `stop_after` seconds of storing, kill it."""
    command = [sys.executable, "-m", "bot", "ingest", str(folder / "library"), "--json"]
    process = subprocess.Popen(
        [*command, "--corpus", "library"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if stop_after is None:
        output, said = process.communicate()
        if process.returncode:
            raise SystemExit(said.decode())
        return dict(json.loads(output))
    try:
        process.wait(stop_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    return {}


def main() -> None:
    """Measure with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "documents"
    parser.add_argument("--data", type=Path, default=beside)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--kill-after", type=float, default=30.0, help="seconds")
    parser.add_argument("--only", choices=("extraction", "resumption"))
    asked = parser.parse_args()
    if asked.only != "resumption":
        extraction(asked.data)
    if asked.only != "extraction":
        resumption(asked.data, asked.files, kill_after=asked.kill_after)


if __name__ == "__main__":
    main()
