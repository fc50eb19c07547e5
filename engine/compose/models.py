"""The models of the steps: one client each, with the budget of the whole run reserved."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.compose import check, evidence, gaps, write
from engine.compose.asking import StepModel
from engine.compose.types import StepName
from engine.llm.consent import Consent
from engine.settings.composing import ComposeSettings

if TYPE_CHECKING:  # a replayed run needs no HTTP client
    from engine.llm.client import ChatClient

StepModels = Mapping[StepName, StepModel]

_CHARACTERS_A_TOKEN = 4
_INSTRUCTIONS = 600  # tokens of a system prompt


class Models(Protocol):
    """The models that a run may ask."""

    @property
    def consent(self) -> Consent:
        """Which private corpora they may read."""

    def reserved(
        self, steps: Sequence[StepName], *, now: datetime
    ) -> AbstractAsyncContextManager[StepModels]:
        """Return the models for `steps`, in the order of their calls, within a budget for all.

        Entering raises BudgetExhausted.
        """


class ClientModels:
    """The models of the settings, at the endpoint of one client."""

    def __init__(self, client: "ChatClient", settings: ComposeSettings) -> None:
        self._client = client
        self._settings = settings
        chosen = settings
        self._steps = {
            StepName.GAPS: (
                chosen.gaps_model,
                chosen.gaps_temperature,
                chosen.gaps_seconds,
                gaps.MOST_TOKENS,
            ),
            StepName.EVIDENCE: (
                chosen.evidence_model,
                chosen.evidence_temperature,
                chosen.evidence_seconds,
                evidence.MOST_TOKENS,
            ),
            StepName.WRITE: (
                chosen.write_model,
                chosen.write_temperature,
                chosen.write_seconds,
                write.MOST_TOKENS,
            ),
            StepName.CHECK: (
                chosen.check_model,
                chosen.check_temperature,
                chosen.check_seconds,
                check.MOST_TOKENS,
            ),
        }
        self._clients = {
            name: client.varied(
                seconds,
                longest_answer=tokens,
                model=model,
                temperature=temperature if temperature >= 0 else None,
            )
            for name, (model, temperature, seconds, tokens) in self._steps.items()
        }

    @property
    def consent(self) -> Consent:
        """Which private corpora they may read."""
        return self._client.consent

    @asynccontextmanager
    async def reserved(
        self, steps: Sequence[StepName], *, now: datetime
    ) -> AsyncIterator[StepModels]:
        """Reserve the budget for these steps, and return their models."""
        seconds = sum(self._steps[name][2] for name in steps) + self._settings.web_seconds
        tokens = [self._asked(name) + self._steps[name][3] for name in steps]
        async with self._client.reserve(tokens, seconds, now=now) as reservation:
            yield {
                name: StepModel(
                    model=self._clients[name].within(reservation), seconds=self._steps[name][2]
                )
                for name in steps
            }

    def _asked(self, name: StepName) -> int:
        """Return about how many tokens the request of a step has at most."""
        shown = self._settings.passages * self._settings.passage_length
        characters = {
            StepName.GAPS: gaps.SHOWN * (gaps.SHOWN_LENGTH + 200),
            StepName.EVIDENCE: shown,
            StepName.WRITE: evidence.MOST_FACTS * 800,
            StepName.CHECK: shown,
        }
        return characters[name] // _CHARACTERS_A_TOKEN + _INSTRUCTIONS
