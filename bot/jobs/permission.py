"""Whether the jobs may ask the language model about a story, given the budget of posts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.jobs.troubles import ignore
from bot.settings import Settings
from db.model.judgments import Ledger
from engine.budget import BudgetSource, posts_in_pace, require_budget
from engine.errors import BudgetExhausted, PresagioError
from engine.messages import Message
from engine.prophecy.prophecy import NO_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether the model may be asked: yes, later (`waits`), or no, with a reason (`refusal`)."""

    refusal: Message | None = None
    waits: bool = False

    @property
    def granted(self) -> bool:
        """True when the model may be asked now."""
        return not (self.refusal or self.waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class MayAsk:
    """Tells whether the model may be asked about a story."""

    ledger: Ledger
    settings: Settings
    report: Callable[[PresagioError], None] = ignore  # tells the operators

    async def __call__(self, now: datetime) -> Permission:
        if not self.settings.has_model():
            return Permission(refusal=NO_MODEL)
        budget = self.settings.budget
        spent = await self.ledger.spent(now.astimezone(UTC).date())
        try:
            require_budget(budget, spent, BudgetSource.POSTS, now=now)
        except BudgetExhausted as error:
            self.report(error)
            return Permission(refusal=Message("Not judged: {reason}", reason=error.said))
        return Permission(waits=not posts_in_pace(budget, spent, now=now))
