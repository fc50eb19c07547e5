"""What `deploy`, `Dockerfile` and `compose.yaml` say agrees with the program and their tools."""

import json
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.cli.main import COMMANDS
from bot.settings import load_settings
from bot.settings.sources import section_fields
from tests.bot.web.stage import web_stage
from tests.programs import require_program

ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "presagio.json"
OPERATING = ROOT / "docs" / "operating.md"
_METRIC = re.compile(r"\b((?:presagio|process)_\w+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)=~?\"")
_ADDED = {"instance", "job", "le"}  # by Prometheus, and of histograms


def assert_runs(*command: str | Path) -> str:
    """Run a program in the root of the project, and return what it wrote."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    return list(group["rules"])


def expressions() -> list[str]:
    """Every expression of the alerts and of the dashboard."""
    board = json.loads(DASHBOARD.read_text())
    drawn = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    variables = [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    return [*(rule["expr"] for rule in rules()), *drawn, *variables]


class TestFigures:
    @pytest.fixture
    async def labels(self, demo: str) -> dict[str, set[str]]:
        """The labels of each figure that `/metrics` shows, by the names of its samples."""
        environ = {"DATABASE_URL": demo, "PRESAGIO_LLM__BASE_URL": "http://127.0.0.1:1/v1"}
        async with web_stage(environ) as web:
            web.shared.metrics.job_ages = lambda: {"poll": 1.0}
            await web.json("/api/prophecy", headline="Container ship", corpus="demo")
            text = (await web.get("/metrics")).text
        named: dict[str, set[str]] = {}
        for kind, name in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M):
            named[kind] = set()
            if name == "histogram":
                named |= {f"{kind}_{part}": set() for part in ("bucket", "sum", "count")}
        for name, given in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.M):
            named.setdefault(name, set()).update(_LABEL.findall(given))
        return named

    async def test_metrics_in_alerts_and_dashboard_exist(self, labels: dict[str, set[str]]) -> None:
        used = {match for expression in expressions() for match in _METRIC.findall(expression)}
        assert len({name for name, _ in used}) > 15
        for name, given in used:
            assert name in labels, name
            asked = set(_LABEL.findall(given)) - _ADDED
            if labels[name]:  # nothing has happened to the others yet
                assert asked <= labels[name], name

    async def test_dashboard_draws_every_metric(self, labels: dict[str, set[str]]) -> None:
        drawn = DASHBOARD.read_text()
        bases = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in labels}
        assert [name for name in bases if name.startswith("presagio_") and name not in drawn] == []

    def test_panels_lie_beside_each_other(self) -> None:
        cells: set[tuple[int, int]] = set()
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            place = panel["gridPos"]
            own = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not own & cells, panel["title"]
            assert max(x for x, _ in own) < 24
            cells |= own


class TestAlerts:
    def test_alert_rules_are_valid_and_pass_their_tests(self) -> None:
        promtool = require_program("promtool")
        assert_runs(promtool, "check", "rules", ALERTS)
        assert_runs(promtool, "test", "rules", ALERTS.with_name("alerts.test.yml"))
        assert_runs(
            promtool, "check", "config", "--syntax-only", ALERTS.with_name("prometheus.yml")
        )

    def test_operating_page_explains_every_alert(self) -> None:
        documented = re.findall(r"^\| `(Presagio\w+)` \|", OPERATING.read_text(), re.M)
        assert documented == [rule["alert"] for rule in rules()]


class TestPage:
    TEXT = OPERATING.read_text()

    def test_operating_page_names_existing_commands(self) -> None:
        named = set(re.findall(r"(?:`|bot |^|bot presagio )presagio ([a-z-]+)", self.TEXT, re.M))
        named |= set(re.findall(r"run --rm .* bot ([a-z-]+)", self.TEXT))
        assert {"serve", "doctor", "ingest", "backup", "restore"} <= named
        assert named <= {entry.name for entry in COMMANDS}

    def test_operating_page_names_existing_settings(self) -> None:
        environ = dict(re.findall(r"echo '(PRESAGIO_\w+)=(\S+)'", self.TEXT))
        settings = load_settings(environ=environ)
        assert settings.web.judge
        assert settings.has_model()
        there = {f"{section}.{key}" for section, key, _ in section_fields()}
        assert set(re.findall(r"`((?:web|llm)\.\w+)`", self.TEXT)) <= there

    def test_operating_page_links_to_existing_files(self) -> None:
        for target in re.findall(r"\]\((\S+?)(?:#\S*)?\)", self.TEXT):
            assert (OPERATING.parent / target).exists(), target
        for target in re.findall(r"`(deploy/\S+)`", self.TEXT):
            assert (ROOT / target).exists(), target


class TestUnit:
    TEXT = (ROOT / "deploy" / "presagio.service").read_text()
    GUIDE = OPERATING.read_text().partition("## Without containers")[2].partition("\n## ")[0]

    def test_systemd_unit_uses_paths_of_the_guide(self) -> None:
        user = re.findall(r"^User=(.+)$", self.TEXT, re.M)
        named = re.findall(r"^(?:ExecStart|Environment|EnvironmentFile)=(.+)$", self.TEXT, re.M)
        paths = re.findall(r"/[\w./]+", " ".join(named))
        assert len(paths) == 4
        assert user == ["presagio"]
        assert all(path in self.GUIDE for path in paths)
        assert "useradd --system --home-dir /var/lib/presagio presagio" in self.GUIDE

    def test_guide_installs_existing_requirements_files(self) -> None:
        named = re.findall(r"(?<=--requirement )\S+", self.GUIDE)
        assert named == ["requirements/build.txt", "requirements/service.txt"]
        assert all((ROOT / one).exists() for one in named)

    def test_systemd_unit_has_low_exposure(self) -> None:
        closed = {"NoNewPrivileges": "yes", "UMask": "0077", "CapabilityBoundingSet": ""}
        assert closed.items() <= dict(re.findall(r"^(\w+)=(.*)$", self.TEXT, re.M)).items()
        unit = ROOT / "deploy" / "presagio.service"
        said = assert_runs(
            require_program("systemd-analyze"), "security", "--offline=true", "--no-pager", unit
        )
        exposure = re.search(r"Overall exposure level for presagio.service: ([\d.]+)", said)
        assert exposure, said
        assert float(exposure[1]) < 3


class TestImage:
    TEXT = (ROOT / "Dockerfile").read_text()

    def test_passes_a_linter(self) -> None:
        assert_runs(require_program("hadolint"), "Dockerfile")

    def test_copied_files_are_allowed_by_dockerignore(self) -> None:
        shown = [
            line[1:]
            for line in (ROOT / ".dockerignore").read_text().splitlines()
            if line[:1] == "!"
        ]
        copied = set()
        for line in re.findall(r"^COPY (?!--from)(.+)$", self.TEXT, re.M):
            copied |= set(line.split()[:-1])
        assert copied == set(shown)
        assert [name for name in copied if not (ROOT / name).exists()] == []

    def test_dockerignore_excludes_secrets(self) -> None:
        hidden = (ROOT / ".dockerignore").read_text().splitlines()
        assert next(line for line in hidden if not line.startswith("#")) == "*"
        for path in ("presagio.env", ".env", "config.toml", ".git", ".venv"):
            assert not any(fnmatch(path, line[1:]) for line in hidden if line.startswith("!"))

    def test_dockerfile_sets_existing_settings(self) -> None:
        environ = dict(re.findall(r"\b((?:PRESAGIO)_\w+)=(\S+)", self.TEXT))
        settings = load_settings(environ=environ)
        assert settings.web.enabled
        assert settings.web.host == "0.0.0.0"
        assert f"EXPOSE {settings.web.port}" in self.TEXT
        assert f"127.0.0.1:{settings.web.port}/readyz" in self.TEXT


class TestCompose:
    SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]

    def test_is_valid(self, tmp_path: Path) -> None:
        compose = require_program("docker-compose")
        (tmp_path / ".env").write_text("POSTGRES_PASSWORD=secret\n")
        shutil.copy(ROOT / "compose.yaml", tmp_path)
        files = ("--project-directory", tmp_path, "--file", tmp_path / "compose.yaml")
        said = assert_runs(compose, *files, "--profile", "metrics", "config")
        bot = yaml.safe_load(said)["services"]["bot"]
        address = "postgresql://presagio:secret@database:5432/presagio"
        assert bot["environment"]["DATABASE_URL"] == address

    def test_ports_are_bound_to_localhost(self) -> None:
        for service in self.SERVICES.values():
            for port in service.get("ports", ()):
                assert port.startswith("127.0.0.1:")

    def test_services_run_without_extra_privileges(self) -> None:
        assert set(self.SERVICES) == {"database", "bot", "prometheus", "grafana"}
        for name, service in self.SERVICES.items():
            assert service["cap_drop"] == ["ALL"]
            assert bool(service.get("cap_add")) is (name == "database")
            assert service["read_only"]
            assert "/tmp" in service["tmpfs"]
            assert service["security_opt"] == ["no-new-privileges:true"]

    def test_log_size_of_services_is_limited(self) -> None:
        for service in self.SERVICES.values():
            assert {"max-size", "max-file"} <= set(service["logging"]["options"])

    def test_mounted_folders_exist(self) -> None:
        mounted = [
            mount.split(":")[0]
            for service in self.SERVICES.values()
            for mount in service["volumes"]
        ]
        folders = [name for name in mounted if name.startswith("./") and name != "./config"]
        assert len(folders) == 3
        assert [name for name in folders if not (ROOT / name).is_dir()] == []

    async def test_prometheus_scrapes_the_bot(self, demo: str) -> None:
        config = yaml.safe_load(ALERTS.with_name("prometheus.yml").read_text())
        (scraped,) = config["scrape_configs"]
        (target,) = scraped["static_configs"][0]["targets"]
        name, _, port = target.partition(":")
        assert self.SERVICES[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
        # By that name, where the port is open to other containers.
        written = self.SERVICES[name]["environment"]["PRESAGIO_WEB__HOSTS"]
        hosts = written.removeprefix("${PRESAGIO_WEB__HOSTS:-").removesuffix("}")
        async with web_stage(demo, host="0.0.0.0", hosts=hosts) as web:
            for host, status in ((target, 200), ("evil.example", 400)):
                answered = await web.client.get("/metrics", headers={"host": host})
                assert answered.status_code == status
        assert f'up{{job="{scraped["job_name"]}"}}' in rules()[0]["expr"]
