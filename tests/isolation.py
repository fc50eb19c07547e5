"""Runs isolated functions in this process, where the processes are not what is tested."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from engine.isolation.process import Isolation

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class InThisProcess(Isolation):
    """Starts no process."""

    async def run_isolated(
        self,
        function: Callable[_Given, _Result],
        /,
        *args: _Given.args,
        **kwargs: _Given.kwargs,
    ) -> _Result:
        return function(*args, **kwargs)
