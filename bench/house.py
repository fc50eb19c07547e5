"""Reports the size and shape of the source: modules, lines, loose files, ambiguous names.

python -m bench.house [ROOT]
"""

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

WINGS = ("bot", "engine", "db")
_LONG = 250
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(root: Path) -> dict[str, list[Path]]:
    """Return the modules of each wing."""
    return {wing: sorted((root / wing).rglob("*.py")) for wing in WINGS}


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
    """Return pairs of subjects (folders and loose files of a wing) that import each other."""
    uses: dict[str, set[str]] = defaultdict(set)
    for wing, paths in found.items():
        imported = re.compile(rf"^ *from ({wing}\.\w+)", re.MULTILINE)
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
    """Yield the wings, their loose modules and their folders, each with its own first line."""
    for wing, paths in modules(root).items():
        yield f"{wing + '/':<24}{_first_line(root / wing / '__init__.py')}"
        for path in paths:
            if path.parent == root / wing and path.stem != "__init__":
                yield f"  {path.name:<22}{_first_line(path)}"
        for path in paths:
            folder = path.parent.relative_to(root / wing)
            if path.stem == "__init__" and folder.parts:
                name = f"{'  ' * len(folder.parts)}{folder.name}/"
                yield f"{name:<24}{_first_line(path)}"


def _first_line(path: Path) -> str:
    said = ast.get_docstring(parse(path)) or ""
    return said.split("\n")[0]


def main(root: Path) -> None:
    """Print the size and shape of the source below ROOT."""
    found = modules(root)
    texts = {path: path.read_text(encoding="utf-8") for paths in found.values() for path in paths}
    trees = {path: parse(path) for path in texts}
    print(f"modules {len(texts)}, lines {sum(len(text.splitlines()) for text in texts.values()):,}")
    for wing, paths in found.items():
        loose = [path for path in paths if path.parent == root / wing]
        print(f"{wing}: {len(paths)} modules, {len(loose)} of them loose")
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, _Function) and node.end_lineno
    )
    print(f"functions: median {lengths[len(lengths) // 2]} lines, 90 % up to", end=" ")
    print(lengths[len(lengths) * 9 // 10])
    long = [str(path.relative_to(root)) for path, text in texts.items() if text.count("\n") > _LONG]
    print(f"longer than {_LONG} lines: {', '.join(long) or 'none'}")
    twice = Counter(name for tree in trees.values() for name in public_names(tree))
    print("defined more than once:", ", ".join(f"{n} {k}" for n, k in twice.items() if k > 1))
    print("subjects in a circle:", circles(found, root) or "none")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m bench.house", description=main.__doc__)
    arguments.add_argument("root", nargs="?", type=Path, default=Path(), metavar="ROOT")
    main(arguments.parse_args().root)
