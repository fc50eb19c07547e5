"""The bench of polling still runs, and polls what it says."""

import json

import pytest

from bench import feeds

pytestmark = pytest.mark.slow


def test_every_round_reads_every_feed(capsys: pytest.CaptureFixture[str]) -> None:
    feeds.main(["--quick"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    *rounds, share = rows
    assert len(rounds) == 4
    slow = rounds[2]
    assert slow["slow_last_s"] >= 1.0
    assert rounds[1]["megabytes"] == pytest.approx(rounds[2]["megabytes"], rel=0.01)
    assert 0 < share["share"] < 0.1
