"""What the Bot API answers when it refuses, in its own words."""

from collections.abc import Mapping


class Refusal(Exception):
    """An answer with `ok: false`; `parameters` is the ResponseParameters object."""

    def __init__(
        self, code: int, description: str, parameters: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = dict(parameters or {})

    def payload(self) -> dict[str, object]:
        body: dict[str, object] = {
            "ok": False,
            "error_code": self.code,
            "description": self.description,
        }
        return body | ({"parameters": self.parameters} if self.parameters else {})


def bad_request(what: str) -> Refusal:
    return Refusal(400, f"Bad Request: {what}")


def forbidden(what: str) -> Refusal:
    return Refusal(403, f"Forbidden: {what}")


def conflict(what: str) -> Refusal:
    return Refusal(409, f"Conflict: {what}")


def too_many_requests(retry_after: int) -> Refusal:
    text = f"Too Many Requests: retry after {retry_after}"
    return Refusal(429, text, {"retry_after": retry_after})


def upgraded(new_chat_id: int) -> Refusal:
    text = "Bad Request: group chat was upgraded to a supergroup chat"
    return Refusal(400, text, {"migrate_to_chat_id": new_chat_id})
