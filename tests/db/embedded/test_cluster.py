"""What the server's failures are called."""

import pytest

from db.embedded.cluster import failure, telling_line
from engine.errors import StorageError, StorageFull, StorageRights, StorageUnreachable
from engine.messages import as_message

_AT = "2026-11-21 23:00:00.000 UTC [7] "


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            f"{_AT}FATAL:  bogus data in lock file\n{_AT}LOG:  database system is shut down\n",
            "bogus",
        ),
        (
            f"{_AT}PANIC:  could not locate a valid checkpoint record\n{_AT}LOG:  aborting\n",
            "could",
        ),
        ("fixing permissions ...\ninitdb: error: invalid locale name\n", "invalid locale name"),
        ("loader: libicu.so: cannot open shared object file\n\n", "loader: libicu.so"),
        (f"{_AT}FATAL:  first\n{_AT}FATAL:  second\n", "second"),
        ("", "no message"),
        (" \n\n", "no message"),
    ],
)
def test_the_line_that_explains_a_failure(output: str, line: str) -> None:
    assert telling_line(output).startswith(line)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (f'{_AT}FATAL:  could not write "x": No space left on device\n', StorageFull),
        ('initdb: error: could not create "x": Permission denied\n', StorageRights),
        (f"{_AT}FATAL:  database files are incompatible with server\n", StorageUnreachable),
    ],
)
def test_the_class_of_a_failure(output: str, kind: type[StorageError]) -> None:
    error = failure(as_message("It failed"), output)
    assert type(error) is kind
    assert str(error).startswith("It failed: ")
    assert "\n" not in str(error)
