"""`presagio eval compose`: writes for each case and prints three figures that are never mixed."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.demo import bundled
from bot.console.output import Output, progress_bar
from bot.queries.ask import corpora_for
from bot.queries.compose import compose_parts
from engine.compose.compose import Composer
from engine.compose.types import ComposeRequest, StepName
from engine.errors import ModelError
from engine.evaluate.citations import Supported, supported
from engine.evaluate.compositions import (
    ComposeCase,
    Traced,
    measure_guard,
    read_cases,
    read_labelled,
    traced,
)
from engine.messages import Message
from engine.types import Corpus

if TYPE_CHECKING:
    from bot.app import App

GUARDED = "guarded.jsonl"


async def measure_compositions(
    app: "App",
    cases: Path,
    corpora: Sequence[str],
    *,
    web: bool,
    json: bool,
    now: datetime,
    output: Output,
) -> None:
    """Write for every case and print the figures. Raises InputError, ModelError, storage errors."""
    guard = measure_guard(read_labelled(bundled(GUARDED)))
    chosen, asked = await corpora_for(app, corpora), read_cases(cases)
    parts = compose_parts(app)
    if parts.models is None:
        raise ModelError(
            Message("No language model is set up, and without one nothing is written.")
        )
    shown, support, rows = Traced(), Supported(), list[dict[str, object]]()
    with progress_bar(output.remarks, "prompts", len(asked)) as tell:
        for case in asked:
            composition = await Composer(parts).compose(_request(case, chosen, web), now=now)
            async with parts.models.reserved([StepName.CHECK] * 2, now=now) as models:
                length = parts.settings.passage_length
                judged = await supported(
                    models[StepName.CHECK], composition, length=length, now=now
                )
            here = traced(composition)
            shown, support = shown + here, support + judged
            rows.append(
                {
                    "id": case.id,
                    "variants": len(composition.variants),
                    "removed": len(composition.removed),
                    "traceability": here.share,
                    "support": judged.share,
                    "precision": judged.precision,
                    "notice": str(composition.notice or ""),
                }
            )
            tell(len(rows), "")
    report: dict[str, object] = {
        "traceability": shown.share,
        "statements": shown.statements,
        "untraced": list(shown.faults),
        "guard": asdict(guard),
        "support": support.share,
        "citation_precision": support.precision,
        "judged_sentences": support.sentences,
        "judged_citations": support.citations,
        "not_judged": support.failed,
    }
    if json:
        output.json({**report, "rows": rows})
        return
    output.measures(report, rows)


def _request(case: ComposeCase, corpora: Sequence[Corpus], web: bool) -> ComposeRequest:
    return ComposeRequest(
        prompt=case.prompt,
        corpora=tuple(corpora),
        language=case.language,
        thread=case.thread,
        web=web,
    )
