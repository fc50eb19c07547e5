"""The checks that a request must pass before any work: the rate of its address, its key."""

from collections.abc import AsyncIterator
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from bot.listening.connections import network_of
from bot.query_log import asked_by, asker
from bot.web.failures import Refusal, too_many
from bot.web.shared_state import Right, SharedState
from engine.budget import BudgetSource
from engine.messages import Message

_bearer = HTTPBearer(
    auto_error=False, description="A key of WEB_API_KEYS or WEB_ADMIN_KEYS, where they are set."
)
_ASK_FOR_KEY = {"WWW-Authenticate": "Bearer"}
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


async def credentials_of(request: Request) -> HTTPAuthorizationCredentials | None:
    """Return the key that a request carries, for handlers outside the framework."""
    return await _bearer(request)


async def shared_of(request: Request) -> SharedState:
    """Return the state that the routes share."""
    shared: SharedState = request.app.state.shared
    return shared


SharedOf = Annotated[SharedState, Depends(shared_of)]


async def paced(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often."""
    if wait := shared.limits.requests.wait(network_of(client_address(request)), shared.clock()):
        raise too_many(wait)


async def paced_answers(request: Request, shared: SharedOf) -> None:
    """Refuse addresses that ask too often for expensive answers."""
    if wait := shared.limits.answers.wait(network_of(client_address(request)), shared.clock()):
        raise too_many(wait)


async def may_ask(shared: SharedOf, given: Credentials) -> AsyncIterator[None]:
    """Let through requests that may use the API; those with a key spend the API's budget."""
    if shared.keys.right_of(given.credentials if given else None) < Right.ASK:
        raise _no_key(given)
    with asked_by(replace(asker(), source=BudgetSource.API if given else BudgetSource.WEB)):
        yield


async def require_admin_key(shared: SharedOf, given: Credentials) -> None:
    """Let through requests whose key may change how this process answers."""
    if given is None:
        raise _no_key(given)
    right = shared.keys.right_of(given.credentials)
    if right is Right.NONE:
        raise _no_key(given)
    if right < Right.STEER:
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            Message("This key may ask, but not steer."),
            fix=Message("Use a key of WEB_ADMIN_KEYS."),
        )


def _no_key(given: HTTPAuthorizationCredentials | None) -> Refusal:
    return Refusal(
        HTTPStatus.UNAUTHORIZED,
        Message("A key is needed.") if given is None else Message("There is no such key."),
        fix=Message("Send the header: Authorization: Bearer KEY"),
        headers=_ASK_FOR_KEY,
    )


def client_address(request: Request) -> str:
    """Return the address of the client, as trusted proxies report it."""
    return request.client.host if request.client else ""
