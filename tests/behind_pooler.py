"""Which tests run through the pooler of PRESAGIO_TEST_POOLER: all that use the run's databases.

What cannot is named here with the reason.
"""

from collections.abc import Mapping

import pytest

# By module and, after "::", class or function.
_PROGRAMS = "PostgreSQL's own programs do not work through a pooler"
_ROLE = "the role is the pooler's"
_SESSIONS = "the sessions are the pooler's"
_BESIDE = "an index is built in one transaction there"
_INDEX = "tests/db/search/test_vector_index.py::"
NOT_BEHIND: Mapping[str, str] = {
    "tests/bot/cli/test_database.py::test_a_backup_comes_back": _PROGRAMS,
    "tests/bot/cli/test_database.py::test_unusable_backup_file_fails_in_one_line": _PROGRAMS,
    "tests/bot/cli/test_doctor.py::TestRights": _ROLE,
    "tests/bot/cli/test_main.py::TestRoleWithoutRights": _ROLE,
    "tests/db/test_backup.py": _PROGRAMS,
    "tests/db/search/test_embeddings.py"
    "::test_a_server_without_pgvector_says_so_and_is_left_as_it_was": (
        "it changes a setting that only new sessions have"
    ),
    "tests/db/search/test_threads.py::test_a_list_is_planned_for_its_span_of_time": _SESSIONS,
    f"{_INDEX}test_writes_and_searches_continue_while_an_index_is_built": _BESIDE,
    f"{_INDEX}test_the_build_of_a_killed_process_is_waited_for": _BESIDE,
    f"{_INDEX}test_an_interrupted_index_build_is_repeated": _BESIDE,
    "tests/db/test_many_corpora.py::test_a_session_that_touched_many_corpora_is_replaced": (
        _SESSIONS
    ),
    "tests/db/test_pool.py::test_connections_are_set_up_alike": "the role sets them up",
    "tests/db/test_upgrade.py": _PROGRAMS,
    "tests/scenarios/test_backup.py": _PROGRAMS,
    "tests/test_database.py::test_a_database_is_handed_on_as_good_as_new": _SESSIONS,
}


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
