"""Budget reserved for several calls: all or nothing at first, then given back call by call."""

from datetime import UTC, datetime, timedelta

import pytest

from engine.budget import Budget, BudgetSource, PlannedCall
from engine.errors import BudgetExhausted, BudgetHeld
from engine.llm.spending import Account, Reservation
from engine.values import Usage
from tests.fakes.ports import MemoryLedger

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def reservation(ledger: MemoryLedger, budget: Budget, *tokens: int) -> Reservation:
    until = NOW + timedelta(minutes=1)
    planned = [
        PlannedCall(source=BudgetSource.CHATS, tokens=token, until=until) for token in tokens
    ]
    return Reservation(Account(ledger, budget), planned, now=NOW)


async def test_each_call_releases_its_part_of_the_reservation() -> None:
    ledger = MemoryLedger()
    held = []
    async with reservation(ledger, Budget(tokens=100), 40, 30, 20) as whole:
        held.append([one.tokens for one in ledger.under_way.values()])
        for _ in range(2):
            async with whole.call(now=NOW):
                pass
            held.append([one.tokens for one in ledger.under_way.values()])
    assert held == [[90], [50], [20]]
    assert ledger.under_way == {}


async def test_what_is_held_by_an_estimate_is_not_called_spent() -> None:
    """Models become cheaper: calls under way are reserved at the price of the last one."""
    ledger, budget = MemoryLedger(), Budget(tokens=100)
    usage = Usage(prompt_tokens=10, completion_tokens=0)
    await ledger.record(usage, model="m", purpose="p", source=BudgetSource.CHATS, now=NOW)
    async with reservation(ledger, budget, 80):
        with pytest.raises(BudgetHeld):
            await reservation(ledger, budget, 20).__aenter__()
        usage = Usage(prompt_tokens=90, completion_tokens=0)
        await ledger.record(usage, model="m", purpose="p", source=BudgetSource.CHATS, now=NOW)
        with pytest.raises(BudgetExhausted, match="is spent"):
            await reservation(ledger, budget, 20).__aenter__()


async def test_a_call_is_refused_if_more_was_spent_than_planned() -> None:
    ledger = MemoryLedger()
    async with reservation(ledger, Budget(tokens=100), 40, 40) as whole:
        async with whole.call(now=NOW):
            usage = Usage(prompt_tokens=100, completion_tokens=1)
            await ledger.record(usage, model="m", purpose="p", source=BudgetSource.CHATS, now=NOW)
        with pytest.raises(BudgetExhausted):
            async with whole.call(now=NOW):
                pytest.fail("it was allowed")
    assert ledger.under_way == {}


async def test_a_disabled_source_is_refused_and_no_limit_allows_all() -> None:
    ledger = MemoryLedger()
    async with reservation(ledger, Budget(), 40) as whole, whole.call(now=NOW):
        assert ledger.under_way == {}
    closed = Budget(closed=frozenset({BudgetSource.CHATS}))
    with pytest.raises(BudgetExhausted):
        await reservation(ledger, closed, 1).__aenter__()
