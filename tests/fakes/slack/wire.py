"""What all parts of the stand-in share: JSON objects and refusals."""

from typing import Any

Json = dict[str, Any]

TEAM = "T0PRESAGIO"
DOMAIN = "presagio-test"
APP = "A0PRESAGIO"


class Refusal(Exception):
    """Slack says no: becomes {"ok": false, "error": code, ...}."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code = code
        self.details = details

    @property
    def body(self) -> Json:
        return {"ok": False, "error": self.code, **self.details}
