"""getUpdates and the webhook that replaces it."""

from telegram.constants import UpdateType

from tests.fakes.telegram.errors import bad_request, conflict
from tests.fakes.telegram.methods.handler import Handler, Parameters
from tests.fakes.telegram.updates import MAX_AT_ONCE
from tests.fakes.telegram.world import World


async def get_updates(world: World, p: Parameters) -> object:
    if world.webhook.url:
        raise conflict(
            "can't use getUpdates method while webhook is active; "
            "use deleteWebhook to delete the webhook first"
        )
    _choose_kinds(world, p)
    limit = min(max(p.get("limit", MAX_AT_ONCE), 1), MAX_AT_ONCE)
    return await world.updates.poll(p.get("offset", 0), limit, p.get("timeout", 0))


def set_webhook(world: World, p: Parameters) -> object:
    if not p["url"]:
        return delete_webhook(world, p)
    world.webhook.point(p["url"], p.get("secret_token"), p.get("max_connections", 40))
    _choose_kinds(world, p)
    _drop(world, p)
    world.signal.notify()
    return True


def delete_webhook(world: World, p: Parameters) -> object:
    world.webhook.remove()
    _drop(world, p)
    return True


def get_webhook_info(world: World, _: Parameters) -> object:
    return world.webhook.info()


def _choose_kinds(world: World, p: Parameters) -> None:
    """Not given: as before. An empty list: the default kinds."""
    if "allowed_updates" in p:
        unknown = [kind for kind in p["allowed_updates"] if kind not in _KINDS]
        if unknown:
            raise bad_request(f"can't parse allowed updates: unknown {', '.join(unknown)}")
        world.updates.allowed = p["allowed_updates"]


def _drop(world: World, p: Parameters) -> None:
    if p.get("drop_pending_updates"):
        world.updates.drop_pending()


_KINDS = frozenset(kind.value for kind in UpdateType)

HANDLERS: dict[str, Handler] = {
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
}
