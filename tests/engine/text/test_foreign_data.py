"""YAML and TOML of strangers cost little, whatever stands in them.

Each of these took seconds, gigabytes or the process with a parser as it comes.
"""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.text.foreign_data import read_toml, read_yaml

N = 99_000
BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
# In another process: what overflows the stack of a parser ends it, at the attack after the last
# one that has an answer.
IN_A_PROCESS = """
import json, resource, sys
from engine.text import foreign_data
from engine.errors import InputError
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
for read, text in json.load(sys.stdin):
    try:
        str(getattr(foreign_data, read)(text))
        print("has a value", flush=True)
    except InputError as exc:
        print(" ".join(str(exc.message).split()), flush=True)
"""


def test_expensive_yaml_and_toml_is_rejected_with_a_reason() -> None:
    attacks = [
        ("read_yaml", BOMB, "line 2 has an alias"),
        ("read_yaml", "a: &a [*a]", "line 1 has an alias"),
        ("read_yaml", "a: &a {b: 1}\nc:\n  <<: *a", "line 3 has an alias"),
        ("read_yaml", "a: " + "[" * N, "nested more than 20"),
        ("read_yaml", "- " * (N // 2), "nested more than 20"),
        ("read_yaml", "a: " + "[" * (N // 2) + "]" * (N // 2), "nested more than 20"),
        ("read_yaml", "a: 0x" + "f" * N, "a number is too large"),
        ("read_yaml", "tags: [-0x" + "f" * N + "]", "a number is too large"),
        ("read_yaml", "? 0x" + "f" * 5000 + "\n: a", "a number is too large"),
        ("read_yaml", "a: 1" + ":1" * (N // 2), "a number is too large"),
        ("read_yaml", "a: " + "1" * N, "Exceeds the limit"),
        ("read_yaml", "a: !!bool x", "x"),
        ("read_yaml", "a: !!int x", "invalid literal"),
        ("read_yaml", "a: !!timestamp x", "NoneType"),
        ("read_toml", "a" + ".a" * (N // 2) + " = 1", "more than 200 dots"),
        ("read_toml", "[[a" + ".a" * 150 + "]]", "nested more than 20"),
        ("read_toml", "a = " + "[" * N, "recursion"),
        ("read_toml", "a = " + "[" * 90 + "]" * 90, "nested more than 20"),
        ("read_toml", "a = 0x" + "f" * N, "a number is too large"),
        ("read_toml", "a = " + "1" * N, "Exceeds the limit"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS],
        input=json.dumps([(read, text) for read, text, _ in attacks]),
        capture_output=True,
        text=True,
        check=False,
    )
    answers = done.stdout.splitlines()
    wrong = [
        (read, text[:40], answer)
        for (read, text, reason), answer in zip(attacks, answers, strict=False)
        if reason not in answer
    ]
    ended_at = attacks[len(answers) :][:1]
    assert (wrong, ended_at, done.returncode, done.stderr) == ([], [], 0, "")


def test_ordinary_yaml_and_toml_is_read() -> None:
    written = "title: 'The storm'\nyear: 2019\ntags: [a, b]\nmore: {deep: [1, {er: 2}]}"
    assert read_yaml(written) == {
        "title": "The storm", "year": 2019, "tags": ["a", "b"], "more": {"deep": [1, {"er": 2}]},
    }  # fmt: skip
    assert read_yaml("") is None
    assert read_toml('title = "Dr. A. B."\n[a.b]\nc = 1') == {
        "title": "Dr. A. B.", "a": {"b": {"c": 1}},
    }  # fmt: skip


def test_a_syntax_error_names_its_line() -> None:
    with pytest.raises(InputError, match="in line 4"):
        read_yaml("a: 1\nb: 2\nc: [\n")
    with pytest.raises(InputError, match="line 2"):
        read_toml("a = 1\nb = \n")


@pytest.mark.parametrize("read", [read_yaml, read_toml])
@given(text=st.text() | st.lists(st.sampled_from("a:-[]{}&*!|>?'\"#%,.=1 \n")).map("".join))
def test_any_text_is_read_or_rejected_in_one_line(read: Callable[[str], object], text: str) -> None:
    try:
        str(read(text))
    except InputError as exc:
        assert "\n" not in exc.message
