"""Results to one stream, remarks to the other, nothing harmful to either."""

import io

from bot.console.output import Output


def streams() -> tuple[Output, io.StringIO, io.StringIO]:
    results, remarks = io.StringIO(), io.StringIO()
    return Output(results, remarks), results, remarks


def test_lines_and_remarks_are_harmless() -> None:
    output, results, remarks = streams()
    output.line("a\x1b[31m")
    output.remark("b\u202e")
    assert (results.getvalue(), remarks.getvalue()) == ("a\ufffd[31m\n", "b\ufffd\n")


def test_json_is_one_line_that_says_exactly_what_was_given() -> None:
    output, results, _ = streams()
    output.json({"text": "a\nb\u202e🔥"})
    assert results.getvalue() == '{"text":"a\\nb\u202e🔥"}\n'


def test_json_is_utf_8_on_a_stream_that_is_not() -> None:
    raw = io.BytesIO()
    output = Output(io.TextIOWrapper(raw, encoding="latin-1"), io.StringIO())
    for _ in range(2):
        output.json({"text": "🔥"})
    assert raw.getvalue().decode() == '{"text":"🔥"}\n' * 2


def test_a_table_is_aligned_and_harmless() -> None:
    output, results, _ = streams()
    output.table([{"name": "a", "count": 1000}, {"name": "long\x1b", "count": None}])
    assert results.getvalue() == "name   count\na      1,000\nlong\ufffd  -\n"


def test_an_empty_table_is_nothing() -> None:
    output, results, _ = streams()
    output.table([])
    assert results.getvalue() == ""
