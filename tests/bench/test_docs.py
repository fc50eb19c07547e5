"""The docs agree with the code, lead to every page, and name no command that does not exist."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from bench.docs import BUTTONS, ROOT, renew_docs
from bot.cli.main import LazyCommand, app, load
from bot.settings.model import Sections

DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
    ROOT / "bench" / "README.md",
]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_STATUS = re.compile(r"(In force since|Replaced by|Withdrawn by) \S+.*\.")


def path_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(("page", "text"), renew_docs(ROOT).items(), ids=lambda part: str(part)[:9])
def test_generated_parts_of_the_docs_match_the_code(page: Path, text: str) -> None:
    assert page.read_text(encoding="utf-8") == text, "run: make docs"


def test_every_generated_part_has_an_end_comment() -> None:
    for page, text in TEXTS.items():
        names = re.findall(r"^<!-- (/?[\w ]+) -->$", text, re.MULTILINE)
        assert names[1::2] == [f"/{name}" for name in names[::2]], page


def test_buttons_are_named_as_people_see_them() -> None:
    said = (ROOT / "bot" / "i18n" / "locale" / "es.po").read_text(encoding="utf-8")
    for label in re.findall(r"\*\*(\w.*?)\*\*", " ".join(BUTTONS.values())):
        known = re.sub(r"^1\. ", "", label).replace(" 1", " {number}")
        assert f'msgid "{known}"' in said or known[:5] in ("TITLE", "2 … 3"), label


def test_each_settings_section_is_documented_on_exactly_one_page() -> None:
    named = [
        name
        for page in DOCS.glob("*.md")
        for name in re.findall(r"^<!-- settings (\w+) -->$", TEXTS[page], re.MULTILINE)
    ]
    assert sorted(named) == sorted(Sections.model_fields)


def linked_from(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each link that stays in the project."""
    for target in _LINK.findall(TEXTS[page]):
        if "://" not in target and not target.startswith("mailto:"):
            name, _, anchor = target.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


def test_the_index_leads_to_every_page() -> None:
    linked = {file for file, _ in linked_from(DOCS / "README.md")}
    decisions = {file for file, _ in linked_from(DOCS / "decisions" / "README.md")}
    wanted = {page for page in PAGES if page not in DECISIONS} - {DOCS / "README.md"}
    assert {path_of(page) for page in wanted - linked} == set()
    assert {path_of(page) for page in set(DECISIONS) - decisions} == set()


def test_the_readme_leads_to_the_index() -> None:
    assert DOCS / "README.md" in {file for file, _ in linked_from(ROOT / "README.md")}


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as GitHub and GitLab make them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_no_link_is_dead(page: Path) -> None:
    for file, anchor in linked_from(page):
        assert file.exists(), file
        assert not anchor or anchor in anchors(TEXTS[file]), (file, anchor)


def test_decisions_have_a_number_of_their_own_and_tell_their_status() -> None:
    for page in DECISIONS:
        title, blank, status, *_ = TEXTS[page].splitlines()
        assert (title.split(". ")[0], blank) == (f"# {int(page.name[:4])}", ""), page
        assert _STATUS.match(status), (page, status)
    assert len({page.name[:4] for page in DECISIONS}) == len(DECISIONS)


def commands_of(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each command in a block of shell lines, without redirections."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in re.findall(
            r"^(?:[A-Z_]+=\S+ )*presagio (.+)$", block.replace("\\\n", " "), re.MULTILINE
        ):
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            yield list(takewhile(lambda word: word not in {">", "|", "&"}, words))


def resolve(arguments: Sequence[str]) -> Any:
    """Parse a command line as the program does, and return its command without running it."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="presagio")
    _, rest, _ = command.make_parser(context).parse_args(list(arguments))
    while rest and hasattr(command, "commands"):
        name = rest[0]
        command = command.commands[name]
        command = load(command.entry) if isinstance(command, LazyCommand) else command
        context = typer.Context(command, parent=context, info_name=name, **command.context_settings)
        _, rest, _ = command.make_parser(context).parse_args(rest[1:])
    return command


def is_known(arguments: Sequence[str]) -> bool:
    try:
        resolve(arguments)
    except (KeyError, typer.BadParameter, TyperException):
        return False
    return True


def test_commands_and_options_of_pages_exist() -> None:
    named = [(path_of(page), each) for page in PAGES for each in commands_of(TEXTS[page])]
    assert len(named) > 50
    assert [each for each in named if not is_known(each[1])] == []


@pytest.mark.parametrize("wrong", ["serach x", "search x --limti 3", "corpora lits", "--nope demo"])
def test_a_command_or_option_that_does_not_exist_is_noticed(wrong: str) -> None:
    assert not is_known(wrong.split())


@pytest.mark.parametrize("name", ["search", "ask", "compose"])
def test_the_page_of_a_command_lists_its_options(name: str) -> None:
    offered = {option for param in resolve([name]).params for option in param.opts}
    rows = re.findall(r"^\| (`--.+?) \|", TEXTS[DOCS / f"{name}.md"], re.MULTILINE)
    documented = {option for row in rows for option in re.findall(r"`(--[a-z-]+)", row)}
    assert documented == {option for option in offered if option.startswith("--")} - {"--verbose"}
