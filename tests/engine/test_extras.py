"""How to install what is missing: by the tool that installed the program, and from where."""

import json
import re
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from engine import extras
from engine.extras import Installation, how_to_add, how_to_install, read_installation

ROOT = Path(__file__).parents[2]
REQUIRES = (
    "httpx<0.29,>=0.28.1",
    "mammoth<2,>=1.12; extra == 'documents'",
    'pypdfium2<6,>=5.9 ; extra == "documents"',
    "manimgx-fonts-cjk==2026.9.26.post1; extra == 'cjk'",
    "presagio[pictures]; extra == 'cjk'",
    "typst==0.15.2; extra == 'pictures'",
    "tzdata>=2025.2; sys_platform == 'win32'",
)
PYTHON = "/opt/p/bin/python"


def here(tool: str, **known: object) -> Installation:
    return Installation(python=PYTHON, tool=tool, requires=REQUIRES, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("installed", "extra", "command"),
    [
        (
            here("pip", sources="/src/p", editable=True),
            "documents",
            f"{PYTHON} -m pip install --editable '/src/p[documents]'",
        ),
        (here("pip", sources="/a b"), "cjk", f"{PYTHON} -m pip install '/a b[cjk]'"),
        (
            here("pip"),
            "documents",
            f"{PYTHON} -m pip install 'mammoth<2,>=1.12' 'pypdfium2<6,>=5.9'",
        ),
        (
            here("pip"),
            "cjk",
            f"{PYTHON} -m pip install manimgx-fonts-cjk==2026.9.26.post1 typst==0.15.2",
        ),
        (
            here("uv pip", sources="/src/p", editable=True),
            "cjk",
            f"uv pip install --python {PYTHON} --editable '/src/p[cjk]'",
        ),
        (
            here("pipx", environment="presagio-2", sources="/src/p"),
            "documents",
            "pipx inject presagio-2 'mammoth<2,>=1.12' 'pypdfium2<6,>=5.9'",
        ),
        (
            here("uv tool", sources="/src/p", extras=("pictures",), beside=("cowsay",)),
            "documents",
            "uv tool install --with cowsay '/src/p[documents,pictures]'",
        ),
    ],
)
def test_the_command_is_that_of_the_tool(installed: Installation, extra: str, command: str) -> None:
    assert installed.command(extras=[extra]) == command


@pytest.mark.parametrize(
    ("installed", "command"),
    [
        (here("pip", sources="/src/p"), f"{PYTHON} -m pip install model2vec"),
        (here("uv pip", sources="/src/p"), f"uv pip install --python {PYTHON} model2vec"),
        (here("pipx"), "pipx inject presagio model2vec"),
        (here("uv tool", sources="/p"), "uv tool install --with model2vec /p"),
    ],
)
def test_a_package_goes_into_the_same_environment(installed: Installation, command: str) -> None:
    assert installed.command(packages=["model2vec"]) == command


def metadata_with(monkeypatch: pytest.MonkeyPatch, direct: object) -> None:
    real = Distribution.from_name("presagio")
    texts = {"direct_url.json": None if direct is None else json.dumps(direct)}
    monkeypatch.setattr(type(real), "read_text", lambda _, name: texts.get(name))


def test_the_current_installation_is_detected() -> None:
    read = read_installation()
    assert read.sources == str(ROOT) and read.editable
    assert any(line.startswith("mammoth") for line in read.requires)
    assert how_to_install("documents") == f"Run: {read.command(extras=['documents'])}"
    assert how_to_add("model2vec").endswith(" model2vec")


@pytest.mark.parametrize("direct", [None, [], {"url": "file:///gone", "dir_info": {}}])
def test_absent_sources_are_not_named(monkeypatch: pytest.MonkeyPatch, direct: object) -> None:
    metadata_with(monkeypatch, direct)
    assert read_installation().sources is None


def test_a_strangely_named_folder_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sources = tmp_path / "año #1"
    sources.mkdir()
    metadata_with(monkeypatch, {"url": sources.as_uri(), "dir_info": {"editable": True}})
    read = read_installation()
    assert (read.sources, read.editable) == (str(sources), True)


UV_RECEIPT = """
[tool]
requirements = [
    { name = "presagio", extras = ["glossary"], directory = "/src/p" },
    { name = "cowsay" },
]
"""


def test_metadata_of_uv_and_pipx_is_read(tmp_path: Path) -> None:
    by_pipx, by_uv, damaged = (tmp_path / name for name in ("presagio-2", "presagio", "damaged"))
    for folder in (by_pipx, by_uv, damaged):
        folder.mkdir()
    (by_pipx / "pipx_metadata.json").write_text("{}")
    (by_uv / "uv-receipt.toml").write_text(UV_RECEIPT)
    (damaged / "uv-receipt.toml").write_text("[tool")
    read = read_installation(by_pipx)
    assert (read.tool, read.environment) == ("pipx", "presagio-2")
    read = read_installation(by_uv)
    assert (read.tool, read.extras, read.beside) == ("uv tool", ("glossary",), ("cowsay",))
    assert read_installation(damaged).extras == ()


def test_an_environment_without_pip_has_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for found, tool in ((None, "uv pip"), (object(), "pip")):
        monkeypatch.setattr(extras, "find_spec", lambda _, found=found: found)
        assert read_installation(tmp_path).tool == tool


FROM_THE_INDEX = re.compile(
    r"(?:pip|pipx|uv tool) (?:install|run) [^\n`]*?(?<![\w/.-])presagio(?![\w/-])"
)


def test_no_file_suggests_installing_presagio_from_pypi() -> None:
    """It is nobody's: whoever registers it would run code at all who follow such a hint."""
    folders = ("bot", "engine", "db", "docs", "bench", "deploy", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [path for path in files if path.suffix in {".py", ".md", ".po", ".html", ".service"}]
    assert len(texts) > 1000
    named = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in (*texts, *ROOT.glob("*.md"))
        for found in FROM_THE_INDEX.finditer(path.read_text(encoding="utf-8"))
    ]
    assert named == []
