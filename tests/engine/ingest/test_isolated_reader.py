"""Sources are read in a process that may hang, grow and die over a file; the others are read."""

import asyncio
import gzip
import io
import os
import re
import sys
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO

import orjson
import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from engine.corpora import Document
from engine.errors import InputError, UnknownFormat, UsageError
from engine.ingest import isolated_reader
from engine.ingest.isolated_reader import IsolatedSource, SourceReader, StandardInput
from engine.ingest.records import BatchLost, Defaults, Reject
from engine.settings.fetching import IngestSettings
from tests.engine.conftest import workers
from tests.engine.ingest import reading as here
from tests.isolation import forked_workers
from tests.patience import PATIENCE, movable_time, until

LIMITS = IngestSettings(seconds=0.5, seconds_per_megabyte=0.5, memory_mb=400)
pytestmark = pytest.mark.usefixtures("no_process_is_left")
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is counted on Linux alone")
counted = pytest.mark.skipif(sys.platform == "win32", reason="processor time is not counted")


@pytest.fixture(autouse=True)
def _forked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Processes are not started afresh where they do no harm: what they do is the same."""
    with nullcontext() if "deed" in request.fixturenames else forked_workers():
        yield


@pytest.fixture
async def reader() -> AsyncIterator[SourceReader]:
    async with SourceReader(LIMITS) as reader:
        yield reader


@pytest.fixture
def strange_format(monkeypatch: pytest.MonkeyPatch) -> None:
    session = "tests.engine.ingest.strange_worker:StrangeSession"
    monkeypatch.setattr(isolated_reader, "_SESSION", session)


@pytest.fixture
async def strange(strange_format: None) -> AsyncIterator[SourceReader]:
    async with SourceReader(LIMITS) as reader:
        yield reader


def line(identity: str, **more: str) -> bytes:
    when = "2019-05-23T10:00:00Z"
    return orjson.dumps({"id": identity, "text": f"Text {identity}", "created_at": when, **more})


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"\n".join(lines))
    return path


async def open_first(
    reader: SourceReader,
    where: str,
    *,
    form: str = "auto",
    defaults: Defaults | None = None,
    stdin: IO[bytes] | None = None,
) -> IsolatedSource:
    return (await reader.open_all(where, format=form, defaults=defaults, stdin=stdin))[0]


async def everything(
    source: IsolatedSource, *, number: int = 1000
) -> tuple[list[Document], list[Reject]]:
    """Read a source as a loader does."""
    documents, rejects = list[Document](), list[Reject]()
    while True:
        batch = await source.batch(number)
        try:
            found, unusable = await source.documents(list(batch.digests))
        except BatchLost:
            continue
        assert batch.read >= len(batch.rejects) + len(found) + len(unusable)
        documents += found
        rejects += [*batch.rejects, *unusable]
        if batch.damage:
            raise batch.damage
        if batch.last:
            return documents, rejects


def ids(documents: list[Document]) -> list[str]:
    return [document.external_id for document in documents]


async def test_isolated_reading_gives_the_same_documents(
    reader: SourceReader, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(
        "---\ndate: 2019-05-23\ntags: [sea]\n---\n# The port\n\nIt is “closed” ñ &amp; quiet.\n"
    )
    (tmp_path / "notes" / "b.md").write_text("No date: the day of its last change.\n")
    write(tmp_path / "t.jsonl", line("1", lang="es"), b"{broken", line("2", text=" "))
    for name in ("notes", "t.jsonl"):
        defaults = Defaults(author="ana")
        found = await everything(
            await open_first(reader, str(tmp_path / name), defaults=defaults), number=2
        )
        documents, rejects = here.documents(tmp_path / name, defaults=defaults)
        assert found[0] == documents
        assert sorted(found[1], key=str) == sorted(rejects, key=str)


async def test_many_files_are_opened_one_at_a_time_by_one_process(
    reader: SourceReader, tmp_path: Path
) -> None:
    files = [write(tmp_path / f"{n}.jsonl", line(str(n))) for n in range(60)]
    sources = [await open_first(reader, str(file)) for file in files]
    [worker] = workers()
    assert len(worker.open_files()) <= 1
    for number, source in enumerate(sources):
        assert ids((await everything(source))[0]) == [str(number)]
    assert workers() == [worker]


async def test_already_stored_records_are_not_converted_or_sent(
    strange: SourceReader, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.strange", line("1"), line("2", post="fail"))
    source = await open_first(strange, str(file), form="strange")
    batch = await source.batch(10)
    assert list(batch.digests) == ["1", "2"]
    documents, _ = await source.documents(["1"])
    assert ids(list(documents)) == ["1"]


async def test_progress_rises_to_the_file_size(reader: SourceReader, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", *(line(str(n)) for n in range(9)))
    source = await open_first(reader, str(file))
    assert (source.opened.total_bytes, source.bytes_read) == (file.stat().st_size, 0)
    await everything(source)
    assert source.bytes_read == source.opened.total_bytes


async def test_a_reject_names_a_file_with_an_undecodable_name(
    reader: SourceReader, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Words\n")
    (folder / os.fsdecode(b"\xff.md")).write_bytes(b"x" * 5_000_000)
    documents, [reject] = await everything(await open_first(reader, str(folder)))
    assert ids(documents) == ["a.md"]
    assert reject.file == f"{folder}/\udcff.md"


async def test_opening_an_unusable_file_raises_its_error(
    reader: SourceReader, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"none does not exist\. Check the path"):
        await open_first(reader, str(tmp_path / "none"))
    with pytest.raises(UnknownFormat, match="neither text nor"):
        await open_first(reader, str(write(tmp_path / "noise", b"\xee\r\x93\0")))
    file = write(tmp_path / "a.jsonl", line("1", author="ana"))
    with pytest.raises(UsageError, match="no format 'none'"):
        await open_first(reader, str(file), form="none")
    source = await open_first(reader, str(file), defaults=Defaults(only_mine=True))
    with pytest.raises(UsageError, match="does not say whose"):
        await source.batch(9)


HARM = [
    ("loop", r"takes longer to read than 0.5 s and 0.5 s a megabyte"),
    pytest.param("grow", r"takes more than 400 MB of memory to read", marks=linux),
    ("kill", r"was killed, perhaps for want of memory"),
    ("crash", r"broke down \(SIGSEGV\)"),
    ("fail", r"broke down \(ZeroDivisionError in strange_worker\.py:\d+\)"),
]


@counted
@pytest.mark.parametrize("when", ["read", pytest.param("post", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("deed", "reason"), HARM)
async def test_harmful_files_are_rejected_and_the_others_are_read(
    strange: SourceReader, tmp_path: Path, deed: str, reason: str, when: str
) -> None:
    write(tmp_path / "a.strange", line("1"), line("2"))
    write(tmp_path / "b.strange", line("3"), line("4", **{when: deed}), line("5"))
    write(tmp_path / "c.strange", line("6"), line("7", text=" "))
    source = await open_first(strange, str(tmp_path), form="strange")
    documents, [bad, empty] = await everything(source)
    assert ids(documents) == ["1", "2", "6"]
    assert bad.file == f"{tmp_path}/b.strange"
    assert re.search(reason, bad.reason)
    assert empty == Reject(file=f"{tmp_path}/c.strange", line=2, reason="the text is empty")


@counted
async def test_a_reject_tells_how_many_records_were_stored_before_the_crash(
    strange: SourceReader, tmp_path: Path
) -> None:
    write(tmp_path / "a.strange", line("1"), line("2"), line("3"), line("4", read="crash"))
    write(tmp_path / "b.strange", line("5"))
    source = await open_first(strange, str(tmp_path), form="strange")
    documents, [bad] = await everything(source, number=2)
    assert ids(documents) == ["1", "2", "5"]
    assert bad.reason.endswith("; its first 2 records are stored")


@counted
async def test_harmful_files_in_a_zip_are_rejected_and_the_others_are_read(
    strange: SourceReader, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as packed:
        for number in range(6):
            deed = {"read": "fail"} if number % 2 else {}
            packed.writestr(f"{number}.strange", line(str(number), **deed))
    source = await open_first(strange, str(tmp_path / "z.zip"), form="strange")
    documents, rejects = await everything(source)
    assert ids(documents) == ["0", "2", "4"]
    places = [reject.file for reject in rejects]
    assert places == [f"{tmp_path}/z.zip/{number}.strange" for number in (1, 3, 5)]


@counted
@pytest.mark.usefixtures("strange_format")
async def test_a_sleeping_reader_is_killed_by_the_timeout(tmp_path: Path) -> None:
    asleep = tmp_path / "asleep"
    write(tmp_path / "a.strange", line("1", read=f"sleep {asleep}"))
    write(tmp_path / "b.strange", line("2"))
    async with SourceReader(patience=PATIENCE) as reader:
        source = await open_first(reader, str(tmp_path), form="strange")
        with movable_time() as move:
            reading_all = asyncio.create_task(everything(source))
            await until(asleep.exists)
            move(PATIENCE)
            documents, [reject] = await reading_all
    assert ids(documents) == ["2"]
    assert "takes longer to read" in reject.reason


@counted
async def test_a_large_file_gets_time_for_each_piece(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", *(line(str(n), text="x" * 900) for n in range(9_000)))
    # The first seconds do not suffice; those of its eight megabytes do on a slow machine too.
    limits = IngestSettings(seconds=0.1, seconds_per_megabyte=5.0)
    async with SourceReader(limits) as reader:
        documents, rejects = await everything(await open_first(reader, str(file)))
    assert (len(documents), rejects) == (9_000, [])


@counted
async def test_a_process_that_died_idle_costs_nothing(reader: SourceReader, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", line("1"))
    source, other = await open_first(reader, str(file)), await open_first(reader, str(file))
    [worker] = workers()
    worker.kill()
    psutil.wait_procs([worker], timeout=PATIENCE)
    for each in (source, other):
        documents, rejects = await everything(each)
        assert (ids(documents), rejects) == (["1"], [])


@counted
async def test_cancelling_ends_the_process(strange: SourceReader, tmp_path: Path) -> None:
    asleep = tmp_path / "asleep"
    file = write(tmp_path / "a.strange", line("1", read=f"sleep {asleep}"))
    source = await open_first(strange, str(file), form="strange")
    waiting = asyncio.create_task(source.batch(9))
    await until(asleep.exists)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await strange.__aexit__(None, None, None)
    assert workers() == []


# What they may take; a command stops where it is more, and goes on when it is run again


@pytest.mark.usefixtures("strange_format")
async def test_all_files_share_one_total_time_limit(tmp_path: Path) -> None:
    for number in range(30):
        write(tmp_path / f"{number:02}.strange", line(f"{number}", read="loop"))
    limits = IngestSettings(seconds=0.1, total_minutes=0.01, total_seconds_per_megabyte=0)
    async with SourceReader(limits) as reader:
        source = await open_first(reader, str(tmp_path), form="strange")
        batch = await source.batch(1000)
    assert 0 < len(batch.rejects) <= 7  # six of them take 0.6 s
    assert str(batch.damage) == (
        f"Reading stopped before the end of {tmp_path}: all files of a command may take"
        " 0.0 minutes of processor time. What is stored stays, and the same command goes on"
        " with the rest; total_minutes in [ingest] allows more. Files that cannot be read are"
        f" tried again each time: take them out first ({len(batch.rejects)})."
    )


async def test_the_total_time_limit_grows_with_each_megabyte(tmp_path: Path) -> None:
    lines = [line(str(n), text="x" * 1_000) for n in range(3_000)]
    file = write(tmp_path / "a.jsonl", *lines)
    stingy = IngestSettings(total_minutes=0.0001, total_seconds_per_megabyte=0)
    async with SourceReader(stingy) as reader:
        with pytest.raises(InputError, match=r"all files of a command may take 0\.0 minutes"):
            await everything(await open_first(reader, str(file)), number=100)
    fair = IngestSettings(total_minutes=0.0001, total_seconds_per_megabyte=300)
    async with SourceReader(fair) as reader:
        documents, _ = await everything(await open_first(reader, str(file)), number=3_000)
    assert len(documents) == 3_000


async def test_the_size_limit_counts_only_records_not_yet_stored(tmp_path: Path) -> None:
    content = b"\n".join(line(str(n), text="x" * 1_000) for n in range(3_000))
    bomb = tmp_path / "a.jsonl.gz"
    bomb.write_bytes(gzip.compress(content))
    stored, runs = set[str](), 0
    while len(stored) < 3_000:
        async with SourceReader(IngestSettings(total_megabytes=1)) as reader:
            source, damage, last = await open_first(reader, str(bomb)), None, False
            while not damage and not last:
                batch = await source.batch(500)
                damage, last = batch.damage, batch.last
                documents, _ = await source.documents(set(batch.digests) - stored)
                stored |= set(ids(list(documents)))
        runs += 1
        assert last is (damage is not None or len(stored) == 3_000)
        if damage:
            assert "may bring 1 MB that are not stored yet. What is stored" in str(damage)
    assert 2 <= runs <= 3


async def test_deep_nesting_is_a_reject(reader: SourceReader, tmp_path: Path) -> None:
    post = orjson.dumps({"timestamp": 1_500_000_000, "data": [{"post": "a"}]})
    deep = post[:-1] + b',"deep":' + b"[" * 900 + b"]" * 900 + b"}"
    wide = post[:-1] + b',"wide":[' + b"[]," * 900 + b"[]]}"
    file = write(tmp_path / "your_posts_1.json", b"[", post, b",", deep, b",", wide, b"]")
    documents, [reject] = await everything(await open_first(reader, str(file), form="facebook"))
    assert len(documents) == 1  # two that say the same are one
    assert reject.reason == "record 2: nested more than 100 levels deep"


@pytest.mark.parametrize("packed", [False, True])
async def test_standard_input_is_read_from_its_beginning(
    reader: SourceReader, packed: bool
) -> None:
    content = b"\n".join(line(str(n), text="x" * 500) for n in range(6_000))
    content = gzip.compress(content, 0) if packed else content
    source = await open_first(reader, "-", stdin=io.BytesIO(content))
    assert (source.opened.name, source.opened.total_bytes) == ("standard input", None)
    documents, rejects = await everything(source)
    assert (len(documents), rejects) == (6_000, [])


async def test_standard_input_may_be_silent_for_longer_than_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    awaited, read = asyncio.Event(), StandardInput.read

    async def noting(stdin: StandardInput, size: int) -> bytes:
        awaited.set()
        return await read(stdin, size)

    monkeypatch.setattr(StandardInput, "read", noting)
    reading_end, writing_end = os.pipe()
    async with SourceReader(patience=PATIENCE) as reader:
        with os.fdopen(reading_end, "rb", buffering=0) as stdin:
            opening = asyncio.create_task(open_first(reader, "-", stdin=stdin))
            await awaited.wait()
            with movable_time() as move:
                move(2 * PATIENCE)
                await asyncio.sleep(0.1)
                assert not opening.done()
            os.write(writing_end, line("1"))
            os.close(writing_end)
            assert ids((await everything(await opening))[0]) == ["1"]


async def test_a_crash_over_standard_input_gives_a_reject(strange: SourceReader) -> None:
    content = line("1") + b"\n" + line("2", read="crash")
    stdin = io.BytesIO(content)
    source = await open_first(strange, "-", form="strange", stdin=stdin)
    documents, [reject] = await everything(source, number=1)
    assert ids(documents) == ["1"]
    assert reject.file == "standard input"
