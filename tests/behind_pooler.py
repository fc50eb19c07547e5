"""Which tests run through the pooler of PRESAGIO_TEST_POOLER: all that use the run's databases.

What cannot is named here with the reason.
"""

from collections.abc import Mapping

import pytest

# By module and, after "::", class or function.
NOT_BEHIND: Mapping[str, str] = {}


def reason_against(node: str) -> str | None:
    """Return why a test does not run behind a pooler, or None if it does."""
    test = node.partition("[")[0]
    while test:
        if test in NOT_BEHIND:
            return NOT_BEHIND[test]
        test = test.rpartition("::")[0]
    return None


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what uses no database of the run, and have skipped what cannot be run so."""
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        used = "_clones" in getattr(item, "fixturenames", ())
        (chosen if used else left_out).append(item)
        if reason := reason_against(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=reason))
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen
