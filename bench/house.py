"""Reports the size and shape of the source: modules, lines, importers, names.

python -m bench.house [ROOT] [--entered]

`--entered` answers a headline from the demo corpus too, on the command line and on Telegram, and
counts the modules that it goes through.
"""

import argparse
import ast
import asyncio
import inspect
import io
import os
import re
import subprocess
import sys
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple
from unittest.mock import patch

from bench.store import folder
from db.embedded.server import EmbeddedServer
from engine.settings.models import LlmSettings

PACKAGES = ("bot", "engine", "db")
_LONG = 500
_SHORT = 80
_NAMES_FOR_ANYTHING = ("found", "known", "asked", "shown", "kept", "chosen")
_SHARED = 5  # modules that may each have a private function of the same name
_PARTICIPLE = re.compile(
    r"_*([a-z]+ed|found|given|kept|known|left|made|met|said|sent|shown|told)_*"
)
_HEADLINE = "Senators question the president over the border wall"
_WAYS = {"terminal": "the command line", "telegram": "Telegram"}
# Ends of the names of foreign classes whose subclasses only hold values.
_VALUES = (
    "Enum",
    "Flag",
    "NamedTuple",
    "TypedDict",
    "BaseModel",
    "BaseSettings",
    "Error",
    "Exception",
    "str",
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(root: Path) -> dict[str, list[Path]]:
    """Return the modules of each package."""
    return {package: sorted((root / package).rglob("*.py")) for package in PACKAGES}


@cache
def parse(path: Path) -> ast.Module:
    """Return what a module says; it is read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def calls(path: Path) -> list[ast.Call]:
    """Return the calls in a module, also those inside of calls; they are looked for once."""
    nodes: list[ast.AST] = [parse(path)]
    for node in nodes:  # which grow: ast.walk takes four times as long
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [each for each in value if isinstance(each, ast.AST)]
    return [node for node in nodes if isinstance(node, ast.Call)]


def public_names(tree: ast.Module) -> Iterator[str]:
    """Yield the public functions and classes of a module; an overloaded function counts once."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | _Function) or node.name.startswith("_"):
            continue
        if "overload" not in map(ast.unparse, node.decorator_list):
            yield node.name


def circles(found: dict[str, list[Path]], root: Path) -> list[tuple[str, str]]:
    """Return pairs of subjects (folders and loose files of a package) that import each other."""
    uses: dict[str, set[str]] = defaultdict(set)
    for package, paths in found.items():
        imported = re.compile(rf"^ *from ({package}\.\w+)", re.MULTILINE)
        for path in paths:
            subject = ".".join(path.relative_to(root).with_suffix("").parts[:2])
            uses[subject].update(imported.findall(path.read_text(encoding="utf-8")))
    reached = {subject: _reached(subject, uses) for subject in list(uses)}
    return [
        (one, other)
        for one in sorted(reached)
        for other in sorted(reached)
        if one < other and other in reached[one] and one in reached[other]
    ]


def _reached(subject: str, uses: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = [subject]
    while ahead:
        new = uses[ahead.pop()] - seen
        seen |= new
        ahead += new
    return seen - {subject} if subject not in uses[subject] else seen


def listing(root: Path) -> Iterator[str]:
    """Yield the packages, their loose modules and their folders, each with its own first line."""
    for package, paths in modules(root).items():
        yield f"{package + '/':<24}{_first_line(root / package / '__init__.py')}"
        for path in paths:
            if path.parent == root / package and path.stem != "__init__":
                yield f"  {path.name:<22}{_first_line(path)}"
        for path in paths:
            folder = path.parent.relative_to(root / package)
            if path.stem == "__init__" and folder.parts:
                name = f"{'  ' * len(folder.parts)}{folder.name}/"
                yield f"{name:<24}{_first_line(path)}"


def _first_line(path: Path) -> str:
    said = ast.get_docstring(parse(path)) or ""
    return said.split("\n")[0]


def importers(root: Path) -> Mapping[str, set[str]]:
    """Return which modules import a module, for each that marks no package."""
    paths = {str(p.relative_to(root)): p for found in modules(root).values() for p in found}
    users: dict[str, set[str]] = {path: set() for path in paths if not path.endswith("__init__.py")}
    for user, path in paths.items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{item.name}" for item in node.names)):
                    users.get(name.replace(".", "/") + ".py", set()).add(user)
    return users


def list_entered(way: str) -> list[str]:
    """Return the modules whose functions run while a headline is answered from the demo, by words
    alone: on the command line, where a server runs already, or on Telegram, where a bot does.

    What Python runs to import a module does not count.
    """
    with folder() as place, EmbeddedServer(place / "data"):
        environment = {**os.environ, "PRESAGIO_DATA_DIR": str(place / "data")}
        for command in (["-m", "bot", "demo"], ["-m", "bench.house", "--trace", way]):
            answer = subprocess.run(
                [sys.executable, *command], env=environment, capture_output=True, check=True
            )
    return answer.stdout.decode().split()


@contextmanager
def note_modules(entered: set[str]) -> Iterator[None]:
    """Add the files whose functions the block calls."""

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<":
            entered.add(code.co_filename)  # neither the body of a class nor a comprehension

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def search_in_terminal(entered: set[str]) -> None:
    """Answer a headline on the command line."""
    from bot.cli.main import main as presagio  # importing it enters nothing

    sys.argv[1:] = ["search", _HEADLINE, "--no-llm", "--json"]
    with redirect_stdout(io.StringIO()), note_modules(entered):
        presagio()


async def ask_on_telegram(entered: set[str]) -> None:
    """Answer a headline that somebody writes in private, while no background job runs."""
    from bot.jobs.scheduler import Scheduler
    from tests.scenarios.stage import staged

    idle = patch.object(Scheduler, "run", lambda _: asyncio.Event().wait())
    with EmbeddedServer(Path(os.environ["PRESAGIO_DATA_DIR"])) as server, idle:
        async with staged(server.url()) as stage:
            # Without a key this is no model.
            stage.environment["PRESAGIO_LLM__BASE_URL"] = LlmSettings().base_url
            async with stage.serving():
                alice = stage.telegram.user("Alice")
                chat = stage.telegram.private_chat(alice)
                with note_modules(entered):
                    await (await alice.says(chat, _HEADLINE)).answer()


def trace_way(way: str, root: Path) -> None:
    """Print the modules that a headline goes through, one a line."""
    entered: set[str] = set()
    try:
        if way == "terminal":
            search_in_terminal(entered)  # which exits
        else:
            asyncio.run(ask_on_telegram(entered))
    finally:
        ours = [str(path) for paths in modules(root.resolve()).values() for path in paths]
        print(*(path for path in ours if path in entered), sep="\n")


def print_functions(functions: list[_Function]) -> None:
    """Print how long functions are, and which of their names say too little."""
    lengths = sorted((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions)
    print(f"functions: median {lengths[len(lengths) // 2]} lines,", end=" ")
    print(f"90 % up to {lengths[len(lengths) * 9 // 10]}")
    names = [node.name for node in functions]
    participles = sum(bool(_PARTICIPLE.fullmatch(name)) for name in names)
    print(f"bare participles: {participles / len(names):.1%} of {len(names):,} names")
    private = Counter(name for name in names if re.match("_[a-z]", name))
    often = (f"{name} {number}" for name, number in private.items() if number > _SHARED)
    print(f"private names defined more than {_SHARED} times:", _enumerate(often))


def count_names_for_anything(texts: Iterable[str]) -> Mapping[str, int]:
    """Return how often each word that may mean anything names something."""
    named = Counter(
        token.string
        for text in texts
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME
    )
    return {name: named[name] for name in _NAMES_FOR_ANYTHING}


class Wiring(NamedTuple):
    """What hands the parts of the program to one another.

    A bundle is a dataclass of which two fields at least, and half of all, hold services: callables,
    Protocols, other bundles, and classes that are neither values nor errors. `lines` are those of
    bundles without their methods, of Protocols, and of the calls that build a bundle. `single`
    names the Protocols that at most one class of the source fulfils.
    """

    lines: int
    bundles: list[str]
    single: list[str]


def measure_wiring(trees: Iterable[ast.Module]) -> Wiring:
    """Return the wiring of these modules."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    protocols = {name for name in classes if "Protocol" in _list_names(*classes[name].bases)}
    values = {name for name in classes if _is_value(name, classes)} - protocols
    bundles = set[str]()
    services = classes.keys() - values | {"Callable"}
    while more := {name for name in values - bundles if _is_bundle(classes[name], services)}:
        bundles |= more
        services |= more
    built = [node for node in nodes if isinstance(node, ast.Call)]
    built = [node for node in built if bundles & set(_list_names(node.func))]
    return Wiring(
        sum(_count_lines(classes[name]) for name in protocols)
        + sum(_count_lines(classes[name], *_methods(classes[name])) for name in bundles)
        + sum(map(_count_lines, built)),
        sorted(bundles),
        sorted(name for name in protocols if _count_fulfilling(name, classes) <= 1),
    )


def _list_names(*nodes: ast.AST) -> list[str]:
    """Return the names in these expressions, also those in quoted annotations."""
    inner = [node for outer in nodes for node in ast.walk(outer)]
    texts = [str(node.value) for node in inner if isinstance(node, ast.Constant)]
    return [node.id for node in inner if isinstance(node, ast.Name)] + [
        word for text in texts for word in re.findall(r"\w+", text)
    ]


def _is_value(name: str, classes: Mapping[str, ast.ClassDef]) -> bool:
    """Return whether a class is a dataclass, or one of a kind that only holds values."""
    if name not in classes:
        return name.endswith(_VALUES)
    node = classes[name]
    if "dataclass" in _list_names(*node.decorator_list):
        return True
    return any(_is_value(base, classes) for base in _list_names(*node.bases) if base != name)


def _is_bundle(node: ast.ClassDef, services: Set[str]) -> bool:
    fields = [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]
    held = sum(bool(services & set(_list_names(field))) for field in fields)
    return held >= 2 and 2 * held >= len(fields)


def _methods(node: ast.ClassDef) -> list[_Function]:
    return [each for each in node.body if isinstance(each, _Function)]


def _count_fulfilling(protocol: str, classes: Mapping[str, ast.ClassDef]) -> int:
    """Return how many classes have the members of a Protocol."""
    needed = _list_members(protocol, classes)
    return sum(
        needed <= _list_members(name, classes)
        for name, node in classes.items()
        if "Protocol" not in _list_names(*node.bases)
    )


def _list_members(name: str, classes: Mapping[str, ast.ClassDef]) -> set[str]:
    """Return the methods and attributes of a class, inherited ones too."""
    if name not in classes:
        return set()
    members = set[str]()
    for node in ast.walk(classes[name]):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                members.add(node.name)
            case ast.Attribute(attr=attribute, ctx=ast.Store()):
                members.add(attribute)
            case ast.Name(id=attribute, ctx=ast.Store()):
                members.add(attribute)
    bases = set(_list_names(*classes[name].bases)) - {name}
    return members.union(*(_list_members(base, classes) for base in bases))


def _count_lines(node: ast.stmt | ast.expr, *without: ast.stmt) -> int:
    """Return the lines of a piece of source, without those of some of its parts."""
    return (node.end_lineno or node.lineno) - node.lineno + 1 - sum(map(_count_lines, without))


def _enumerate(items: Iterable[str]) -> str:
    return ", ".join(sorted(items)) or "none"


def main(root: Path, *, entered: bool = False) -> None:
    """Print the size and shape of the source below ROOT."""
    found = modules(root)
    texts = {path: path.read_text(encoding="utf-8") for paths in found.values() for path in paths}
    lengths = {str(path.relative_to(root)): text.count("\n") for path, text in texts.items()}
    markers = sum(path.endswith("__init__.py") for path in lengths)
    print(f"modules: {len(texts) - markers}, and {markers} that mark packages")
    print(f"lines: {sum(lengths.values()):,}")
    for package, paths in found.items():
        loose = [path for path in paths if path.parent == root / package]
        print(f"{package}: {len(paths)} modules, {len(loose)} of them loose")
    print(f"longer than {_LONG} lines:", _enumerate(p for p, n in lengths.items() if n > _LONG))
    lonely = (p for p, n in importers(root).items() if len(n) == 1 and lengths[p] < _SHORT)
    print(f"below {_SHORT} lines, with one importer:", _enumerate(lonely))
    nodes = [node for path in texts for node in ast.walk(parse(path))]
    print_functions([node for node in nodes if isinstance(node, _Function)])
    thousands = sum(lengths.values()) / 1_000
    counts = count_names_for_anything(texts.values()).items()
    rates = (f"{name} {count / thousands:.1f}" for name, count in counts)
    print("names for anything, in 1,000 lines:", ", ".join(rates))
    public = Counter(name for path in texts for name in public_names(parse(path)))
    often = (f"{name} {number}" for name, number in public.items() if number > 1)
    print("public names defined more than once:", _enumerate(often))
    print("subjects in a circle:", circles(found, root) or "none")
    wiring = measure_wiring(map(parse, texts))
    print(
        f"wiring: {wiring.lines:,} lines, {len(wiring.bundles)} bundles:", ", ".join(wiring.bundles)
    )
    print(f"Protocols that one class fulfils: {len(wiring.single)}:", _enumerate(wiring.single))
    if entered:
        for way, name in _WAYS.items():
            print(f"modules that a headline enters on {name}:", len(list_entered(way)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=main.__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path(), metavar="ROOT")
    parser.add_argument("--entered", action="store_true", help="answer a headline, too")
    parser.add_argument("--trace", choices=_WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.trace:
        trace_way(arguments.trace, arguments.root)
    else:
        main(arguments.root, entered=arguments.entered)
