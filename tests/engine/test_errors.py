"""The log tells where an error came from, and nothing that people wrote."""

from engine.errors import StorageError, StorageInterrupted, explain_error

SECRET = "what-somebody-wrote"


def caught(raise_it: object) -> BaseException:
    try:
        raise_it()  # type: ignore[operator]  # a function that raises
    except BaseException as error:
        return error
    raise AssertionError


def fails() -> None:
    raise KeyError(SECRET)


def fails_again() -> None:
    try:
        fails()
    except KeyError as error:
        raise RuntimeError(SECRET) from error


def fails_meanwhile() -> None:
    try:
        fails()
    except KeyError:
        raise RuntimeError(SECRET)  # noqa: B904 - the point of the test


def fails_for_another_reason() -> None:
    try:
        fails()
    except KeyError:
        raise RuntimeError(SECRET) from None


def test_reason_names_type_and_locations_in_one_line() -> None:
    said = explain_error(caught(fails))
    assert said.startswith("KeyError (tests.engine.test_errors:")
    assert said.endswith(" fails)")
    assert "\n" not in said


def test_reason_includes_each_cause_once_unless_it_is_suppressed() -> None:
    for function in (fails_again, fails_meanwhile):
        said = explain_error(caught(function))
        assert said.startswith("RuntimeError (")
        assert ", from KeyError (" in said
        assert SECRET not in said
    assert "KeyError" not in explain_error(caught(fails_for_another_reason))
    one, two = RuntimeError(), ValueError()
    one.__cause__, two.__cause__ = two, one
    assert explain_error(one) == "RuntimeError (), from ValueError ()"


def test_storage_errors_show_the_message_but_no_values() -> None:
    lost = StorageInterrupted("The connection was lost.", fix="Run it again.")
    assert explain_error(lost) == "StorageInterrupted: The connection was lost. Run it again."
    assert SECRET not in explain_error(StorageError(f"The database cannot take a value: {SECRET}."))
