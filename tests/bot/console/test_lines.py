"""Lines of a descriptor arrive in order and whole, however they were written."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from bot.console.adapter import read_lines
from tests.patience import PATIENCE


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def lines_of(pipe: tuple[int, int], *chunks: bytes) -> list[str]:
    reading, writing = pipe

    def write() -> None:
        for chunk in chunks:
            os.write(writing, chunk)
        os.close(writing)

    threading.Thread(target=write).start()
    async with asyncio.timeout(PATIENCE):
        return [line async for line in read_lines(reading)]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"one\ntwo"], ["one", "two"]),
        ([b"o", b"ne\nt", b"wo\n"], ["one", "two"]),
        ([b"\n\n"], ["", ""]),
        ([b"caf\xc3", b"\xa9\n"], ["café"]),
        ([b"caf\xe9\n"], ["caf\ufffd"]),
        ([b"one\r\n"], ["one\r"]),
    ],
)
async def test_chunks_are_split_into_lines(
    pipe: tuple[int, int], chunks: list[bytes], lines: list[str]
) -> None:
    assert await lines_of(pipe, *chunks) == lines


async def test_all_lines_beyond_the_read_ahead_limit_arrive(pipe: tuple[int, int]) -> None:
    expected = [str(number) for number in range(5_000)]
    assert await lines_of(pipe, "\n".join(expected).encode()) == expected


async def test_reading_does_not_run_far_ahead_of_the_asker(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.set_blocking(writing, False)
    lines = read_lines(reading)
    os.write(writing, b"first\n")
    assert await anext(lines) == "first"
    written = 0
    try:
        for _ in range(200):
            written += os.write(writing, b"x\n" * 16_000)
            await asyncio.sleep(0.001)
    except BlockingIOError:
        pass
    os.close(writing)
    assert 0 < written < 200 * 32_000  # the pipe filled up because nobody asked
    async with asyncio.timeout(PATIENCE):
        assert len([line async for line in lines]) >= written // 2


async def test_a_terminal_that_is_gone_ends_the_input(pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    assert [line async for line in read_lines(-1)] == []


def test_a_line_that_comes_after_the_end_of_the_loop_is_dropped(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    before = set(threading.enumerate())

    async def take_one() -> str:
        return await anext(read_lines(reading))

    os.write(writing, b"first\n")
    assert asyncio.run(take_one()) == "first"
    [reader] = set(threading.enumerate()) - before
    os.write(writing, b"too late\n")
    reader.join(PATIENCE)
    assert not reader.is_alive()
    os.close(writing)
