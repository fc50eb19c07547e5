"""The web face, put together for `presagio serve`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Self

from bot.app import App
from bot.engine_settings import prophecy_settings
from bot.face import Status
from bot.settings import load_settings
from bot.web.desk import Desk, ReadHeadline
from bot.web.metrics import MeasuredIndex, MeasuredJudge, MeasuredProphet, Metrics
from bot.web.service import WebService


@dataclass(frozen=True, slots=True)
class WebFace:
    """An app whose searches are counted, whichever face asks, and the face that tells of them."""

    app: App
    metrics: Metrics

    @classmethod
    def of(cls, app: App) -> Self:
        """Wrap what is to be counted."""
        metrics = Metrics()
        index = MeasuredIndex(app.index, metrics)
        judge = app.judge and MeasuredJudge(app.judge, metrics)
        settings = prophecy_settings(app.settings)
        prophet = MeasuredProphet(metrics, index, judge, settings, app.meaning)
        return cls(replace(app, prophet=prophet, index=index), metrics)

    def service(
        self,
        *,
        now: Callable[[], datetime],
        said: Callable[[str], None],
        read_headline: ReadHeadline,
        faces: Callable[[], Mapping[str, Status]],
    ) -> WebService:
        """Return the service; `said` is told where it listens, `faces` tells how all of them
        are."""
        settings = self.app.settings
        return WebService(
            Desk(
                app=self.app,
                now=now,
                metrics=self.metrics,
                read_headline=read_headline,
                reload_settings=partial(load_settings, settings.config_file),
                faces=faces,
            ),
            said=said,
        )
