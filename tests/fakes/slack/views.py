"""Modals and home tabs: views.open, views.update, views.publish."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.views import View

from tests.fakes.slack.block_kit import VIEW_BLOCKS, check_blocks, with_ids
from tests.fakes.slack.web_api import Method, WebApi, required
from tests.fakes.slack.wire import APP, TEAM, Json, Refusal
from tests.fakes.slack.workspace import Workspace

TRIGGER_SECONDS = 3.0


@dataclass
class Views:
    """Shows views. A trigger works once, within three seconds of what the person did."""

    workspace: Workspace
    api: WebApi
    opened: dict[str, Json] = field(default_factory=dict)
    homes: dict[str, Json] = field(default_factory=dict)
    _triggers: dict[str, float] = field(default_factory=dict)
    _exchanged: set[str] = field(default_factory=set)

    def methods(self) -> Mapping[str, Method]:
        return {
            "views.open": self.open,
            "views.update": self.update,
            "views.publish": self.publish,
        }

    def trigger(self) -> str:
        trigger_id = self.workspace.fresh_id("")
        self._triggers[trigger_id] = self.workspace.clock()
        return trigger_id

    def open(self, arguments: Json) -> Json:
        (trigger_id,) = required(arguments, "trigger_id")
        view = _checked(arguments, "modal")
        if trigger_id not in self._triggers:
            raise Refusal("invalid_trigger_id")
        if trigger_id in self._exchanged:
            raise Refusal("exchanged_trigger_id")
        if self.workspace.clock() - self._triggers[trigger_id] > TRIGGER_SECONDS:
            raise Refusal("expired_trigger_id")
        self._exchanged.add(trigger_id)
        return {"view": self._keep(self.workspace.fresh_id("V"), view)}

    def update(self, arguments: Json) -> Json:
        (view_id,) = required(arguments, "view_id")
        if view_id not in self.opened:
            raise Refusal("not_found")
        return {"view": self._keep(view_id, _checked(arguments, "modal"))}

    def publish(self, arguments: Json) -> Json:
        (user_id,) = required(arguments, "user_id")
        if user_id not in self.workspace.people:
            raise Refusal("user_not_found")
        if not self.api.app.home:
            raise Refusal("not_enabled")
        view = _checked(arguments, "home")
        named = with_ids(view["blocks"], iter(lambda: self.workspace.fresh_id("b"), None))
        metadata = view.get("private_metadata", "")
        self.homes[user_id] = {**view, "blocks": named, "private_metadata": metadata}
        self.workspace.changes.notify()
        return {"view": self.homes[user_id]}

    def _keep(self, view_id: str, view: Json) -> Json:
        extra = {"id": view_id, "team_id": TEAM, "app_id": APP, "state": {"values": {}}}
        self.opened[view_id] = {**view, **extra, "hash": self.workspace.fresh_id("h")}
        self.workspace.changes.notify()
        return self.opened[view_id]


def _checked(arguments: Json, kind: str) -> Json:
    view = arguments.get("view")
    if not isinstance(view, dict) or view.get("type") != kind:
        raise Refusal("invalid_arguments")
    check_blocks(view.get("blocks"), maximum=VIEW_BLOCKS)
    try:
        View(**view).to_dict()
    except (SlackObjectFormationError, TypeError) as exc:
        messages = [f"[ERROR] {exc}"]
        raise Refusal("invalid_arguments", response_metadata={"messages": messages}) from exc
    return view
