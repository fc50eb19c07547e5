"""Measures how long `presagio search` takes as a whole process, on a running server.

`python -m bench.startup DATA_DIR [--corpus NAME] [--headline TEXT] [--repeat N]`

DATA_DIR is a data folder (PRESAGIO_DATA_DIR) with a corpus in it; its embedded server is kept
running during the bench. `import` is the time of a process that only imports the command.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.timing import Output, milliseconds
from db.embedded.server import EmbeddedServer

HEADLINE = "Senators question the president over the border wall"
_PRESAGIO = "from bot.cli.main import main; main()"
_COMMANDS = {"python": "pass", "import": "import bot.cli.main"}


def whole_process(
    data: Path, headline: str, corpus: str | None = None, *, repeat: int = 20
) -> dict[str, list[float]]:
    """Return the seconds of each run of each command, leaving out the first run of each."""
    environment = {**os.environ, "PRESAGIO_DATA_DIR": str(data)}
    search = ["search", headline, "--json", "--no-llm"]
    search += ["--corpus", corpus] if corpus else []
    commands = {name: [code] for name, code in _COMMANDS.items()}
    commands["presagio search"] = [_PRESAGIO, *search]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    with EmbeddedServer(data):
        for number in range(repeat + 1):
            for name, command in commands.items():
                elapsed = _run(command, environment)
                if number:
                    seconds[name].append(elapsed)
    return seconds


def _run(command: Sequence[str], environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", *command], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=__doc__)
    parser.add_argument("data", type=Path, help="a data folder with a corpus in it")
    parser.add_argument("--corpus", help="the corpus, where there are several")
    parser.add_argument("--headline", default=HEADLINE, help="what to search")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each command (20)")
    arguments = parser.parse_args(argv)
    output = Output("startup")
    measured = whole_process(
        arguments.data, arguments.headline, arguments.corpus, repeat=arguments.repeat
    )
    for name, seconds in measured.items():
        output.row(system=name, **milliseconds(seconds))
    output.table()


if __name__ == "__main__":
    main()
