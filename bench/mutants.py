"""Counts the small faults, put into core modules one at a time, that the tests notice.

`python -m bench.mutants [MODULE ...] [--number N] [--seed N] [--jobs N]`

Each fault is put into a copy of the source, where the tests of that module run until one fails.
Each that goes unnoticed is printed with its line: it wants a test, or it makes no difference. The
exit code is 1 if fewer than nine of ten are noticed. bench/README.md says more.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from bench.store import folder
from bench.timing import Output
from db.embedded.server import EmbeddedServer
from tests.database import CARELESS

ROOT = Path(__file__).resolve().parents[1]
# The tests of modules that no one test mirrors.
TESTS = {
    "bot/cli/checks.py": ("bot/cli/test_machine_checks.py", "bot/cli/test_doctor.py"),
    "bot/cli/corpora.py": (
        "bot/cli/test_corpora.py",
        "bot/cli/test_demo.py",
        "bot/cli/test_voice.py",
    ),
    "bot/cli/corpora_contents.py": (
        "bot/cli/test_corpora.py",
        "bot/cli/test_threads.py",
        "bot/cli/test_export.py",
        "bot/cli/test_demo.py",
    ),
    "bot/cli/glossary.py": (
        "bot/cli/test_glossary_actions.py",
        "bot/cli/test_main.py",
        "bot/test_glossary_guide.py",
    ),
    "bot/cli/ingest.py": ("bot/cli/test_ingest_actions.py",),
    "bot/cli/ingest_sources.py": ("bot/cli/test_ingest_actions.py", "bot/cli/test_export.py"),
    "bot/cli/log.py": ("bot/cli/test_log.py", "bot/cli/test_forget.py"),
    "bot/cli/posts.py": ("bot/cli/test_feeds.py",),
    "bot/cli/search.py": ("bot/cli/test_search.py", "bot/cli/test_doctor.py"),
    "bot/cli/serve.py": (
        "bot/cli/test_main.py",
        "bot/cli/test_mcp.py",
        "scenarios/test_offers.py",
    ),
    "bot/commands/headline_detection.py": (
        "bot/commands/test_headline_detection.py",
        "bot/commands/test_plain_messages.py",
        "bot/commands/test_several.py",
    ),
    "bot/commands/plain_messages.py": (
        "bot/commands/test_plain_messages.py",
        "bot/commands/test_dialogue.py",
        "bot/commands/test_intent_judgment.py",
    ),
    "bot/commands/dialogue_acts.py": (
        "bot/commands/test_dialogue.py",
        "bot/commands/test_plain_messages.py",
    ),
    "bot/commands/offers.py": ("scenarios/test_offers.py",),
    "bot/commands/registry.py": (
        "bot/commands/test_registry.py",
        "bot/commands/test_several.py",
        "bot/commands/test_archives.py",
        "bot/commands/test_permission.py",
        "bot/conversation",
        "bot/telegram/test_channels.py",
    ),
    "bot/commands/rights.py": (
        "bot/conversation/test_admission.py",
        "bot/commands/test_permission.py",
        "bot/test_who_sees.py",
    ),
    "bot/commands/why.py": (
        "bot/commands/test_why.py",
        "bot/commands/test_votes.py",
        "bot/commands/test_upcoming.py",
        "scenarios/slack/test_buttons.py",
    ),
    "bot/conversation/conversation.py": ("bot/conversation", "scenarios/test_adapters.py"),
    "bot/conversation/gates.py": (
        "bot/conversation/test_gates.py",
        "bot/conversation/test_admission.py",
    ),
    "bot/conversation/sending.py": (
        "bot/conversation",
        "bot/commands/test_compose.py",
        "scenarios/test_composing.py",
    ),
    "bot/jobs/content.py": ("scenarios/test_posting.py",),
    "bot/jobs/deliver.py": ("bot/jobs/test_deliver.py", "scenarios/test_posting.py"),
    "bot/jobs/poll.py": ("bot/jobs/test_poll.py", "scenarios/test_posting.py"),
    "bot/jobs/search.py": ("bot/jobs/test_search.py", "scenarios/test_posting.py"),
    "bot/jobs/wiring.py": ("scenarios/test_posting.py", "scenarios/test_events_log.py"),
    "bot/listening.py": ("bot/listening", "bot/web/test_service.py", "bot/web/test_webhooks.py"),
    "bot/replies/buttons.py": ("bot/replies", "bot/commands/test_votes.py"),
    "bot/replies/post.py": ("bot/replies", "bot/commands/test_upcoming.py"),
    "bot/replies/composition.py": ("bot/commands/test_compose.py", "bot/cli/test_compose.py"),
    "bot/replies/dates.py": (
        "bot/replies/test_age.py",
        "bot/commands/test_typed_dates.py",
        "bot/commands/test_subscription_parser.py",
    ),
    "bot/replies/find.py": ("bot/replies", "bot/commands/test_find.py"),
    "bot/replies/receipt.py": ("bot/replies", "bot/commands/test_why.py"),
    "bot/slack/adapter.py": ("bot/slack", "scenarios/slack"),
    "bot/slack/client.py": (
        "bot/slack",
        "bot/adapter/test_adapter_checks.py",
        "scenarios/slack/test_faults.py",
        "scenarios/test_offers.py",
    ),
    "bot/slack/events.py": ("bot/slack", "scenarios/slack", "scenarios/test_offers.py"),
    "bot/slack/platform.py": (
        "bot/adapter/test_adapter_checks.py",
        "scenarios/slack/test_http.py",
        "scenarios/slack/test_faults.py",
    ),
    "bot/slack/render.py": ("bot/slack", "bot/replies/test_post.py", "scenarios/slack"),
    "bot/slack/service.py": ("bot/slack/test_service.py", "scenarios/slack"),
    "bot/telegram/adapter.py": ("bot/telegram", "scenarios/test_adapters.py"),
    "bot/telegram/client.py": (
        "bot/telegram/test_client.py",
        "bot/adapter/test_adapter_checks.py",
        "bot/web/test_service.py",
        "scenarios/test_offers.py",
    ),
    "bot/telegram/events.py": (
        "bot/telegram/test_events.py",
        "scenarios/test_adapters.py",
        "scenarios/test_owner.py",
    ),
    "bot/telegram/platform.py": ("bot/web/test_service.py",),
    "bot/telegram/receiving.py": (
        "bot/telegram",
        "bot/web/test_service.py",
        "scenarios/test_telegram_webhook.py",
    ),
    "bot/telegram/render.py": ("bot/telegram/test_render.py", "bot/replies/test_post.py"),
    "bot/telegram/service.py": (
        "bot/telegram",
        "bot/web/test_service.py",
        "scenarios/test_telegram_groups.py",
    ),
    "bot/web/addresses.py": ("bot/web/test_strangers.py",),
    "bot/web/browsing.py": ("bot/web/test_browsing.py", "bot/web/test_archive.py"),
    "bot/web/failures.py": ("bot/web/test_contract.py", "bot/web/test_api.py"),
    "bot/web/pages.py": ("bot/web/test_pages.py", "bot/web/test_streaming.py"),
    "bot/web/rendering.py": ("bot/web/test_rendering.py", "bot/web/test_access.py"),
    "bot/web/searching.py": ("bot/web/test_searching.py", "bot/web/test_pages.py"),
    "bot/web/sharing.py": ("bot/web/test_sharing.py", "bot/web/test_pages.py"),
    "bot/web/streaming.py": ("bot/web/test_streaming.py", "bot/web/test_composing.py"),
    "bot/web/visitor.py": ("bot/web/test_visitor.py", "bot/web/test_pages.py"),
    "engine/feeds/stories.py": ("engine/feeds/test_stories.py", "engine/feeds/test_headlines.py"),
    "engine/posting/choose.py": (
        "engine/posting/test_choose.py",
        "engine/posting/test_retold.py",
        "engine/posting/test_overheard.py",
    ),
}
# The core, and the tests of each of its modules.
CORE = {
    "engine/prophecy/score.py": ("engine/prophecy/test_score.py",),
    "engine/ranking.py": ("engine/ranking", "engine/prophecy/test_merge.py"),
    "engine/query/parser.py": ("engine/query",),
    "engine/query/query.py": ("engine/query",),
    "engine/query/filters.py": ("engine/query",),
    "engine/compose/guard.py": ("engine/compose",),
    "db/lease.py": ("db/test_lease.py",),
    "db/posting/outbox.py": ("db/posting",),
    "db/posting/subscriptions.py": ("db/posting",),
    "bot/jobs/scheduler.py": ("bot/jobs",),
    "bot/jobs/digest.py": ("bot/jobs",),
}
RIGHT = 0.9
_MIN_SECONDS = 60.0  # for the tests of a fault; else five times what they take without one
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one fault."""

    tree: ast.Module
    node: ast.expr | ast.stmt
    faulty: ast.expr | ast.stmt

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def fault(self) -> str:
        before, after = (ast.unparse(node).splitlines()[0] for node in (self.node, self.faulty))
        return f"{before} -> {after}"

    @property
    def source(self) -> str:
        """The source of the module with the fault; a few of hundreds are asked for theirs."""
        exchange = _Exchange(self.node, self.faulty)
        return ast.unparse(exchange.visit(copy.deepcopy(self.tree)))


def list_mutants(source: str) -> list[Mutant]:
    """Return a mutant for each fault that can be put into a module."""
    tree = ast.parse(source)
    return [
        Mutant(tree, node, faulty) for node in _list_executed(tree) for faulty in _list_faults(node)
    ]


def _list_executed(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield what decides something: no annotations, no decorators, nothing that is logged.

    Nor are a number that has a name, for one more of it is another tuning, which benches measure,
    and `strict=True`, which only guards.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not _is_left_out(node):
                if isinstance(node, ast.expr | ast.stmt):
                    yield node
                yield from _list_executed(node)


def _is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.Expr():
            return ast.unparse(node).startswith(("logger.", "_log."))
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return ast.unparse(target).isupper()
        case ast.keyword(arg="strict"):
            return True
    return False


def _list_faults(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _SWAPPED:
            yield _change(node, ops=[_SWAPPED[type(operator)]()])
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BoolOp(op=operator):
            yield _change(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            yield _change(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield ast.Pass()


def _change(node: Node, **fields: object) -> Node:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


class _Exchange(ast.NodeTransformer):
    """Puts one node in the place of another, which is told by its position and its text."""

    def __init__(self, node: ast.expr | ast.stmt, faulty: ast.expr | ast.stmt) -> None:
        self._place, self._faulty = self._locate(node), faulty

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr | ast.stmt) and self._locate(node) == self._place:
            return ast.copy_location(self._faulty, node)
        return self.generic_visit(node)

    def _locate(self, node: ast.expr | ast.stmt) -> tuple[object, ...]:
        return type(node), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class Copies:
    """Copies of the source in which tests run, as many at a time as there are copies."""

    def __init__(self, parent: Path, number: int, database_url: str) -> None:
        self._idle: SimpleQueue[Path] = SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._environment = {**os.environ, "PRESAGIO_TEST_DATABASE_URL": database_url}
        for each in range(number):
            place = parent / f"copy-{each}"
            shutil.copytree(ROOT, place, ignore=_LEFT_OUT)
            self._idle.put(place)

    def is_noticed(self, module: str, source: str, tests: Sequence[str], seconds: float) -> bool:
        """Return whether a test fails, or hangs, with this source of a module."""
        place = self._idle.get()
        original = (place / module).read_bytes()
        (place / module).write_text(source, encoding="utf-8")
        try:
            return self._run(place, tests, seconds) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            (place / module).write_bytes(original)
            self._idle.put(place)

    def _run(self, place: Path, tests: Sequence[str], seconds: float) -> int:
        paths = [f"tests/{path}" for path in tests]
        options = ("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider")
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *paths],
            cwd=place,
            env={**self._environment, "PYTHONPATH": str(place)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        ) as running:
            self._running.add(running)
            try:
                return running.wait(seconds)
            finally:
                self._running.discard(running)
                _kill_group(running)

    def end(self) -> None:
        """End the tests that run."""
        for running in tuple(self._running):
            _kill_group(running)


def _kill_group(running: "subprocess.Popen[bytes]") -> None:
    """End a process that leads a group, and all that it started."""
    if running.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)


def list_tests(module: str) -> tuple[str, ...]:
    """Return the tests of a module: as the tables above name them, else those that mirror it."""
    path = Path(module)
    mirror = path.with_name(f"test_{path.name}")
    named = CORE.get(module) or TESTS.get(module)
    return named or (str(mirror if (ROOT / "tests" / mirror).exists() else path.parent),)


def try_module(
    module: str, copies: Copies, pool: ThreadPoolExecutor, arguments: argparse.Namespace
) -> tuple[int, list[Mutant]]:
    """Return how many faults of a module were tried, and those that no test noticed."""
    source, tests = (ROOT / module).read_text(encoding="utf-8"), list_tests(module)
    begun = time.monotonic()
    if copies.is_noticed(module, ast.unparse(ast.parse(source)), tests, 600):
        raise RuntimeError(f"the tests of {module} fail without a fault")
    seconds = max(_MIN_SECONDS, 5 * (time.monotonic() - begun))
    faults = list_mutants(source)
    chance = random.Random(f"{arguments.seed} {module}")
    chosen = chance.sample(faults, min(arguments.number, len(faults)))
    noticed = pool.map(lambda one: copies.is_noticed(module, one.source, tests, seconds), chosen)
    return len(chosen), [mutant for mutant, seen in zip(chosen, noticed, strict=True) if not seen]


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, try the faults, print what was noticed; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=[*CORE], metavar="MODULE")
    parser.add_argument("--number", type=int, default=5, help="faults for each module (5)")
    parser.add_argument("--seed", type=int, default=0, help="of which faults are tried (0)")
    parser.add_argument("--jobs", type=int, default=2, help="faults tried at a time (2)")
    arguments = parser.parse_args(argv)
    output, tried, survived = Output("mutants"), 0, 0
    with folder() as place, ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(place, extra=CARELESS))
        copies = Copies(place, arguments.jobs, server.url("postgres"))
        pool = stack.enter_context(ThreadPoolExecutor(arguments.jobs))
        stack.callback(copies.end)
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for module in arguments.modules:
            number, survivors = try_module(module, copies, pool, arguments)
            tried, survived = tried + number, survived + len(survivors)
            output.row(module=module, faults=number, noticed=number - len(survivors))
            for mutant in survivors:
                output.row(module=module, line=mutant.line, unnoticed=mutant.fault)
    output.row(module="all", faults=tried, noticed=tried - survived, at_least=RIGHT)
    output.table()
    return 0 if tried - survived >= RIGHT * tried else 1


if __name__ == "__main__":
    sys.exit(main())
