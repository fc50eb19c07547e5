"""Reserving the day's budget while model calls are under way, and recording their cost."""

import copy
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from engine.budget import (
    CHARACTERS_PER_TOKEN,
    Budget,
    BudgetSource,
    PlannedCall,
    require_budget,
    require_open,
)
from engine.errors import BudgetExhausted, BudgetHeld, ModelError, ModelPaused
from engine.llm.wire import ChatAnswer
from engine.messages import Message
from engine.ports import UsageLedger
from engine.values import Usage

logger = logging.getLogger("presagio.llm")

_SLOW_SECONDS = 10.0  # a person in a chat has stopped looking by then


class CallOutcome(StrEnum):
    """How a call ended, or why it was not made."""

    ANSWERED = "answered"
    FAILED = "failed"
    PAUSED = "paused"  # after failures, the endpoint is left alone for a while
    OVER_BUDGET = "over budget"


class CallOutcomes:
    """The outcomes of the calls of one process. A call that is cancelled has none."""

    def __init__(self) -> None:
        self._times = Counter(dict.fromkeys(CallOutcome, 0))

    @property
    def times(self) -> Mapping[CallOutcome, int]:
        """How often each outcome occurred so far."""
        return self._times

    @contextmanager
    def count_call(self) -> Iterator[None]:
        """Wrap one call."""
        try:
            yield
        except ModelError as error:
            outcome = CallOutcome.PAUSED if isinstance(error, ModelPaused) else CallOutcome.FAILED
            over = isinstance(error, BudgetExhausted)
            self._times[CallOutcome.OVER_BUDGET if over else outcome] += 1
            raise
        self._times[CallOutcome.ANSWERED] += 1


def log_answer(purpose: str, answer: ChatAnswer, seconds: float) -> None:
    """Log an answer's figures, never its words: as an event if it was slow, else for debugging."""
    slow, usage = seconds >= _SLOW_SECONDS, answer.usage
    fields = {
        "purpose": purpose,
        "model": answer.model,
        "seconds": round(seconds, 1),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "usd": usage.cost_usd,
    }
    logger.log(
        logging.INFO if slow else logging.DEBUG,
        "model slow" if slow else "model answered",
        extra={"fields": fields},
    )


@dataclass(frozen=True, slots=True)
class Account:
    """What calls are paid from: the ledger that records them, and the budget of the day.

    `source` returns the budget source of the current call.
    """

    ledger: UsageLedger
    budget: Budget = Budget()  # noqa: RUF009 - frozen
    source: Callable[[], BudgetSource] = lambda: BudgetSource.CONSOLE

    @asynccontextmanager
    async def hold(self, planned: PlannedCall, *, now: datetime) -> AsyncIterator[None]:
        """Reserve budget while the block makes the call; the block itself must record the usage.

        Raises BudgetExhausted before the block begins, and what the ledger raises.
        """
        require_open(self.budget, planned.source)
        if not self.budget.is_limited:
            yield
            return

        def check(spent: Mapping[BudgetSource, Usage]) -> None:
            require_budget(self.budget, spent, planned.source, now=now)

        place = await _reserve(self.ledger, self.budget, planned, check, now=now)
        try:
            yield
        finally:
            await self.ledger.release(place)


class ChatSpending:
    """What the calls of one chat model cost: estimated before a call, recorded after it."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._price = 0.0  # US dollars per token, from the last answer that reported its cost
        self._reservation: Reservation | None = None

    def within(self, reservation: "Reservation") -> Self:
        """Return spending whose calls use what `reservation` holds, not a share of their own."""
        other = copy.copy(self)
        other._reservation = reservation
        return other

    def reserve(self, tokens: Sequence[int], *, until: datetime, now: datetime) -> "Reservation":
        """Return a reservation for as many calls as `tokens` lists, an estimate of each."""
        source = self._account.source()
        planned = [
            PlannedCall(source=source, tokens=token, cost_usd=token * self._price, until=until)
            for token in tokens
        ]
        return Reservation(self._account, planned, now=now)

    def plan_call(self, characters: int, *, limit_of_answers: int, until: datetime) -> PlannedCall:
        """Return the estimate of a call that sends `characters`."""
        tokens = characters // CHARACTERS_PER_TOKEN + limit_of_answers
        return PlannedCall(
            source=self._account.source(), tokens=tokens, cost_usd=tokens * self._price, until=until
        )

    @asynccontextmanager
    async def reserve_call(
        self,
        planned: PlannedCall,
        bills: Sequence[tuple[str, Usage]],
        *,
        purpose: str,
        now: datetime,
    ) -> AsyncIterator[None]:
        """Reserve budget while the block makes the call, then record what it added to `bills`.

        Bills are pairs of model and usage; those of a failed call are recorded as well. Raises
        what `Account.hold` raises.
        """
        reservation = self._reservation
        allowed = reservation.call(now=now) if reservation else self._account.hold(planned, now=now)
        async with allowed:
            try:
                yield
            finally:
                for model, usage in bills:
                    self._learn_price(usage)
                    await self._account.ledger.record(
                        usage, model=model, purpose=purpose, source=planned.source, now=now
                    )

    def _learn_price(self, usage: Usage) -> None:
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        if usage.cost_usd is not None and tokens:
            self._price = usage.cost_usd / tokens


class Reservation:
    """Budget for several calls that come one after the other; each gives back its part.

        async with client.reserve(...) as reservation:
            await client.within(reservation).complete(...)

    Entering raises BudgetExhausted if the budget does not allow all of them together.
    """

    def __init__(self, account: Account, planned: Sequence[PlannedCall], *, now: datetime) -> None:
        self._budget, self._ledger = account.budget, account.ledger
        self._left = list(planned)
        self._source = planned[0].source
        self._now = now
        self._place: int | None = None

    async def __aenter__(self) -> Self:
        whole = self._sum_plans()
        require_open(self._budget, whole.source)
        if self._budget.is_limited:

            def check(spent: Mapping[BudgetSource, Usage]) -> None:
                more = Usage(prompt_tokens=whole.tokens, cost_usd=whole.cost_usd)
                total = {**spent, whole.source: spent.get(whole.source, Usage()) + more}
                require_budget(self._budget, total, whole.source, now=self._now)

            self._place = await _reserve(self._ledger, self._budget, whole, check, now=self._now)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._left = []
        await self._shrink()

    @asynccontextmanager
    async def call(self, *, now: datetime) -> AsyncIterator[None]:
        """Use the part of the next call. The block itself must record the usage.

        Raises BudgetExhausted if what was really spent has used up the budget meanwhile.
        """
        if self._budget.is_limited:
            spent = await self._ledger.spent(now.astimezone(UTC).date())
            require_budget(self._budget, spent, self._source, now=now)
        try:
            yield
        finally:
            self._left = self._left[1:]
            await self._shrink()

    async def _shrink(self) -> None:
        """Reserve what is left in place of what was reserved: more for a moment, never less."""
        if self._place is None:
            return
        before, self._place = self._place, None
        if self._left:
            self._place = await self._ledger.reserve(
                self._sum_plans(), lambda _: None, now=self._now
            )
        await self._ledger.release(before)

    def _sum_plans(self) -> PlannedCall:
        return replace(
            self._left[0],
            tokens=sum(plan.tokens for plan in self._left),
            cost_usd=sum(plan.cost_usd for plan in self._left),
        )


async def _reserve(
    ledger: UsageLedger,
    budget: Budget,
    planned: PlannedCall,
    check: Callable[[Mapping[BudgetSource, Usage]], None],
    *,
    now: datetime,
) -> int:
    """Reserve budget for calls. Raises BudgetHeld if only estimates of their cost exceed it: these
    are made from the last price, and models become cheaper."""
    try:
        return await ledger.reserve(planned, check, now=now)
    except BudgetExhausted as error:
        spent = await ledger.spent(now.astimezone(UTC).date())
        require_budget(budget, spent, planned.source, now=now)
        raise BudgetHeld(
            Message("The rest of the daily model budget may not be enough for this.")
        ) from error
