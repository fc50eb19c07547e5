"""The manual page covers every command, and man(7) reads it without a complaint."""

import re
import shutil
import subprocess

import pytest

from tests.bot.cli.test_main import commands
from tests.bot.conftest import Invoke


def test_every_command_and_option_is_in_it(invoke: Invoke) -> None:
    page = invoke("man").out.replace(r"\-", "-").replace(r"\(dq", '"')
    assert page.startswith(".TH PRESAGIO 1 ")
    for words, help_text in commands():
        first = " ".join(help_text.split("\n\n")[0].split())
        if words:
            assert f'\n.SS "presagio {" ".join(words)}' in page
        assert f"\n{first}\n" in page or f"- {first}\n" in page
    for named in ("DATABASE_URL", "presagio.env", "config.toml", "128 + N"):
        assert named in page


def test_options_are_those_of_the_command(invoke: Invoke) -> None:
    page = invoke("man").out.replace(r"\-", "-")
    about_find = re.split(r"\n\.S[SH] ", page.split('.SS "presagio find', 1)[1])[0]
    assert re.findall(r"^\\fB(-.*?)(?: <.*>)?\\fR$", about_find, re.MULTILINE) == [
        "-c, --corpus", "-n, --limit", "--mode", "--json", "--csv", "-v, --verbose",
    ]  # fmt: skip


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_a_typesetter_has_nothing_to_complain_about(invoke: Invoke) -> None:
    page = invoke("man").out
    set_in_type = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"],
        input=page.encode(),
        capture_output=True,
        check=True,
    )
    assert set_in_type.stderr == b""
    assert b"presagio find" in set_in_type.stdout
