"""The chat client: OpenAI-compatible completions over HTTP, OpenRouter by default."""

import asyncio
import copy
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Self

from engine.errors import ModelError, ModelPaused
from engine.llm.endpoint import Consent, Fault, endpoint_of, status_fault, too_slow
from engine.llm.spending import Account, CallOutcomes, ChatSpending, Reservation, log_answer
from engine.llm.transport import Transport, retry_faults
from engine.llm.wire import (
    ChatAnswer,
    PromptMessage,
    error_in_payload,
    read_choice,
    read_completion,
    read_usage,
    request_body,
)
from engine.messages import Message
from engine.settings.models import LlmSettings
from engine.values import Closable, Usage, add_usage

_CONNECT_SECONDS = 5.0
BREAKER_FAILURES = 5  # in a row, after which the endpoint is left alone
BREAKER_PAUSE = 60.0  # seconds for which it is left alone
logger = logging.getLogger("presagio.llm")
# A call's reservation lasts longer than the call, so that the process can record its usage.
_RECORDING_SECONDS = 60.0
LONGEST_WAIT = 8.0  # seconds between attempts


class Breaker:
    """A circuit breaker over whole calls.

    Closed: every call passes. After `failures` failed calls in a row it opens for `pause`
    seconds and calls raise ModelPaused. Then one call probes while others still raise, and the
    outcome of the probe closes or opens it again. `clock` returns monotonic seconds.

    Only errors that may pass by themselves (ModelError.retryable) count: any other answer,
    including a refusal, shows that the endpoint is alive.
    """

    def __init__(self, *, failures: int, pause: float, clock: Callable[[], float]) -> None:
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probing = False

    def renew(self) -> "Breaker":
        """Return a closed one with the same limits."""
        return Breaker(failures=self._limit, pause=self._pause, clock=self._clock)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Wrap one call. Raises ModelPaused if it may not be made."""
        probe = self._admit_call()
        try:
            yield
        except ModelError as error:
            self._settle_call(failed=error.retryable)
            raise
        else:
            self._settle_call(failed=False)
        finally:  # a cancelled call says nothing about the endpoint, but ends its probe
            if probe:
                self._probing = False

    def _admit_call(self) -> bool:
        if self._failures < self._limit:
            return False
        left = self._open_until - self._clock()
        if left > 0 or self._probing:
            raise ModelPaused(
                Message(
                    "The model failed {failures} times in a row and is left alone.",
                    failures=self._failures,
                ),
                fix=Message("It is tried again in {left:.0f} s.", left=max(left, 1)),
            )
        self._probing = True
        return True

    def _settle_call(self, *, failed: bool) -> None:
        if not failed:
            self._failures = 0
            return
        self._failures += 1
        if self._failures >= self._limit:
            self._open_until = self._clock() + self._pause


@dataclass(slots=True)
class _Call:
    """One question under way, with the usage of its attempts so far."""

    messages: Sequence[PromptMessage]
    schema: Mapping[str, object] | None
    purpose: str
    asked_at: datetime
    started: float  # monotonic seconds
    estimate: Usage  # of one attempt, for an endpoint that does not report its usage
    # What each attempt cost, with its model: for the ledger, estimated where nothing is reported.
    bills: list[tuple[str, Usage]] = field(default_factory=list)
    reported: list[Usage] = field(default_factory=list)  # for the answer: reported alone
    last_fault: Fault | None = None


class ChatClient(Closable):
    """Calls one endpoint with retries, within time limits and a budget.

    The usage of every answer is recorded, of failed ones if they report it; of others what was
    reserved for it. `clock` returns monotonic seconds. The client holds connections: close it, or
    use `async with`. Raises SettingsError for an unusable address or key.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        api_key: str | None = None,
        account: Account,
        clock: Callable[[], float],
        breaker_failures: int = BREAKER_FAILURES,
    ) -> None:
        self._settings = settings
        self._spending = ChatSpending(account)
        self._clock = clock
        self._breaker = Breaker(failures=breaker_failures, pause=BREAKER_PAUSE, clock=clock)
        self._on_error: Callable[[ModelError], object] | None = None
        self.outcomes = CallOutcomes()  # shared with the clients derived from this one
        self._refused_fields: set[str] = set()  # shared with the clients derived from this one
        self._endpoint = endpoint_of(settings, api_key)
        self._transport = Transport(
            self._endpoint,
            "chat/completions",
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=settings.read_timeout,
            headers={"X-OpenRouter-Title": "Presagio"},
        )

    def report_to(self, on_error: Callable[[ModelError], object]) -> None:
        """Call `on_error` with each error that a call raises, except those of small calls."""
        self._on_error = on_error

    @property
    def model(self) -> str:
        """The preferred model; fallbacks may answer in its place."""
        return self._settings.model

    @property
    def consent(self) -> Consent:
        """Which private corpora the endpoint may read."""
        return Consent(
            base_url=self._settings.base_url,
            setting="[llm] private_corpora",
            private_corpora=self._settings.private_corpora,
        )

    def for_small_calls(self, seconds: float, *, longest_answer: int) -> Self:
        """Return a client of the same endpoint for small calls with a short time limit.

        It makes each call once, within `seconds` and at most `longest_answer` tokens, and has its
        own breaker, because an endpoint too slow for it may be fast enough for others. It shares
        the connections of this client, which closes them.
        """
        # Where the settings leave the effort to the model, small calls do so too.
        effort = self._settings.reasoning_effort and "minimal"
        small = self.with_limits(seconds, longest_answer=longest_answer)
        small._on_error = None  # whoever makes small calls can do without the answer
        return small._copy_with_changes(retries=0, reasoning_effort=effort)

    def with_limits(self, seconds: float, *, longest_answer: int, model: str = "") -> Self:
        """Return a client of the same endpoint with another time limit, and maybe another model.

        It has its own breaker and shares the connections of this client, which closes them.
        """
        settings = self._settings
        limited = self._copy_with_changes(
            model=model or settings.model,
            read_timeout=seconds,
            total_timeout=seconds,
            max_completion_tokens=min(longest_answer, settings.max_completion_tokens),
        )
        limited._breaker = self._breaker.renew()
        return limited

    def within(self, reservation: Reservation) -> Self:
        """Return a client whose calls use what `reservation` holds, not a share of their own."""
        reserved = copy.copy(self)
        reserved._spending = self._spending.within(reservation)
        return reserved

    def _copy_with_changes(self, **changes: object) -> Self:
        other = copy.copy(self)
        other._settings = self._settings.model_copy(update=changes)
        return other

    def reserve(self, tokens: Sequence[int], seconds: float, *, now: datetime) -> Reservation:
        """Return a reservation for as many calls as `tokens` lists, to be entered before them.

        Each number is an estimate of one call; `seconds` is the longest time for all of them.
        """
        until = now + timedelta(seconds=seconds + _RECORDING_SECONDS)
        return self._spending.reserve(tokens, until=until, now=now)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: str,
        now: datetime,
        schema: Mapping[str, object] | None = None,
    ) -> ChatAnswer:
        """Return the model's answer; `content` may be empty.

        `purpose` is a label for the ledger and the log. `schema` becomes
        response_format.json_schema; if the server refuses it, or another optional field, the call
        is repeated without it. Raises BudgetExhausted, ModelPaused, ModelRefused, ModelRateLimited,
        ModelUnreachable, ModelAnswerInvalid, ModelAnswerCut, ModelDeclined, and whatever the ledger
        raises.
        """
        try:
            return await self._complete_messages(messages, schema, purpose, now)
        except ModelError as error:
            if self._on_error:
                self._on_error(error)
            raise

    async def _complete_messages(
        self,
        messages: Sequence[PromptMessage],
        schema: Mapping[str, object] | None,
        purpose: str,
        now: datetime,
    ) -> ChatAnswer:
        self._endpoint.require_key()
        longest = self._settings.max_completion_tokens
        planned = self._spending.plan_call(
            sum(len(message.content) for message in messages),
            limit_of_answers=longest,
            until=now + timedelta(seconds=self._settings.total_timeout + _RECORDING_SECONDS),
        )
        estimate = Usage(
            prompt_tokens=planned.tokens - longest,
            completion_tokens=longest,
            cost_usd=planned.cost_usd or None,
        )
        started = self._clock()
        call = _Call(messages, schema, purpose, asked_at=now, started=started, estimate=estimate)
        with self.outcomes.count_call():
            async with self._spending.reserve_call(planned, call.bills, purpose=purpose, now=now):
                with self._breaker.guard():
                    answer = await self._within_total(call)
        log_answer(call.purpose, answer, self._clock() - call.started)
        return replace(answer, usage=add_usage(call.reported) or Usage())

    async def _within_total(self, call: _Call) -> ChatAnswer:
        """Make the call, with retries, within the total timeout. Raises ModelError."""

        def note(fault: Fault) -> None:
            call.last_fault = fault
            logger.warning("%s: %s", call.purpose, fault)

        total = self._settings.total_timeout
        try:
            async with asyncio.timeout(total):
                return await retry_faults(
                    lambda: self._attempt(call),
                    retries=self._settings.retries,
                    longest_wait=LONGEST_WAIT,
                    time_left=lambda: total - (self._clock() - call.started),
                    note=note,
                )
        except TimeoutError as exc:
            if call.last_fault:  # more specific than "too slow"
                raise call.last_fault.error from exc
            raise too_slow(self._endpoint, total, "total_timeout") from exc

    async def _attempt(self, call: _Call) -> ChatAnswer:
        """Make one attempt, repeated without the optional fields that the server refuses."""
        refused = set(self._refused_fields)
        while True:
            try:
                answer = await self._exchange_call(call, refused)
            except Fault as fault:
                sent = self._build_body(call, refused).keys()
                again = {name for name in fault.refused_fields if name in sent}
                if not again:
                    raise
                refused |= again
                call.last_fault = fault
            else:
                self._refused_fields |= refused
                return answer

    def _build_body(self, call: _Call, refused: Collection[str]) -> dict[str, object]:
        openrouter = self._endpoint.is_openrouter
        return request_body(
            self._settings, call.messages, call.schema, openrouter=openrouter, refused=refused
        )

    async def _exchange_call(self, call: _Call, refused: Collection[str]) -> ChatAnswer:
        def read_clock() -> datetime:  # the engine reads no clock of its own
            return call.asked_at + timedelta(seconds=self._clock() - call.started)

        endpoint, body = self._endpoint, self._build_body(call, refused)
        content, headers = await self._transport.post(body, clock=read_clock)
        payload = read_completion(content, endpoint)
        error = error_in_payload(payload)
        self._add_bill(call, payload, is_answered=error is None)
        if error:
            raise status_fault(*error, endpoint, headers=headers, now=read_clock())
        return read_choice(payload, endpoint, self._settings.max_completion_tokens)

    def _add_bill(self, call: _Call, payload: Mapping[str, object], *, is_answered: bool) -> None:
        """Add what an attempt cost: what it reports, and for the rest the estimate.

        A failed attempt that reports nothing cost nothing.
        """
        usage = read_usage(payload)
        if usage:
            call.reported.append(usage)
        if not (usage or is_answered):
            return
        counted, estimate = usage or call.estimate, call.estimate
        if counted.prompt_tokens is None:
            counted = replace(counted, prompt_tokens=estimate.prompt_tokens)
        if counted.completion_tokens is None:
            counted = replace(counted, completion_tokens=estimate.completion_tokens)
        call.bills.append((str(payload.get("model") or self.model), counted))
