"""The samples under deploy/ are what their programs accept, and name only settings, figures and files that exist. The
proxies are tried in tests/scenarios/test_deploy_proxies.py."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import ibi
from ibi.settings import SETTINGS
from tests.docs.figures import server_figures
from tests.docs.tables import ROOT

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "ibi.service"
RULES = DEPLOY / "prometheus" / "ibi.rules.yml"
CONTAINER = DEPLOY / "container"
GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def run(program: str, *arguments: object, **variables: str) -> str:
    """What the program said; the test is skipped where there is none."""
    found = shutil.which(program, path=PLACES)
    if found is None:
        pytest.skip(f"there is no {program} here")
    done = subprocess.run(
        [found, *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_every_sample_is_named_by_the_guide_of_operators() -> None:
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            assert path.relative_to(ROOT).as_posix() in GUIDE, path


def test_the_way_back_to_a_former_version_puts_back_the_one_copy_and_leaves_a_choice_open(tmp_path: Path) -> None:
    (script,) = (each for each in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL) if ".format-" in each)
    for name in ("a.sqlite", "a.sqlite-wal", "a.sqlite.format-5", "b.sqlite", "b.sqlite.format-5", "b.sqlite.format-8"):
        (tmp_path / name).write_text(name)
    said = run("sh", "-ec", script.replace("/var/lib/ibi", shlex.quote(str(tmp_path))))
    assert "choose one of: b.sqlite.format-5 b.sqlite.format-8" in said
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left.pop("a.sqlite") == "a.sqlite.format-5"
    assert left == {name: name for name in ("b.sqlite", "b.sqlite.format-5", "b.sqlite.format-8")}


def test_every_file_that_the_guide_names_under_deploy_exists() -> None:
    named = set(re.findall(r"deploy/[\w./-]+\w", GUIDE))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_setting_that_a_sample_names_exists() -> None:
    known = {setting.variable for setting in SETTINGS}
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            named = set(re.findall(r"\bIBI_[A-Z_]+", path.read_text(encoding="utf-8")))
            assert named <= known, path


# --- systemd ---


def copied_unit(place: Path) -> Path:
    """The unit, with a command that this machine has."""
    text = UNIT.read_text(encoding="utf-8")
    assert text.count("/opt/ibi/bin/ibi up") == 1
    unit = place / "ibi.service"
    interpreter = place / "python"  # whose path has no space, wherever these tests are
    interpreter.symlink_to(sys.executable)
    unit.write_text(text.replace("/opt/ibi/bin/ibi up", f"{interpreter} -m ibi up"), encoding="utf-8")
    return unit


def test_systemd_accepts_the_unit_with_and_without_a_log_of_its_own(tmp_path: Path) -> None:
    unit = copied_unit(tmp_path)
    assert run("systemd-analyze", "verify", unit) == ""
    more = tmp_path / "ibi.service.d"
    more.mkdir()
    shutil.copy(DEPLOY / "systemd" / "log-to-file.conf", more)
    assert run("systemd-analyze", "verify", unit, SYSTEMD_UNIT_PATH=f"{tmp_path}:") == ""


def test_the_unit_leaves_little_to_an_intruder(tmp_path: Path) -> None:
    told = run("systemd-analyze", "security", "--offline=true", "--no-pager", copied_unit(tmp_path))
    level = re.search(r"exposure level for ibi.service: ([\d.]+)", told)
    assert level
    assert float(level[1]) <= 2.0


def test_the_unit_leaves_the_number_of_the_boot_to_be_read() -> None:
    """Without it every start would count as one after a gap, in which labels may have been lost."""
    assert not re.search(r"^ProcSubset=", UNIT.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_directory_of_locks_is_for_all_users(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes directories of root")
    run("systemd-tmpfiles", "--create", f"--root={tmp_path}", DEPLOY / "systemd" / "ibi.tmpfiles.conf")
    assert (tmp_path / "run" / "lock" / "ibi").stat().st_mode & 0o7777 == 0o1777


def test_logrotate_empties_the_file_that_the_server_keeps_open(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    text = (DEPLOY / "logrotate" / "ibi").read_text(encoding="utf-8")
    assert text.count("/var/log/ibi/") == 1
    (tmp_path / "conf").write_text(text.replace("/var/log/ibi/", f"{tmp_path}/"), encoding="utf-8")
    (tmp_path / "conf").chmod(0o644)
    with (tmp_path / "ibi.log").open("a") as log:
        log.write("one\n")
        log.flush()
        run("logrotate", "--force", "--state", tmp_path / "state", tmp_path / "conf")
        log.write("two\n")
    assert (tmp_path / "ibi.log").read_text() == "two\n"
    assert (tmp_path / "ibi.log.1").read_text() == "one\n"


# --- figures ---


def test_promtool_accepts_the_rules_and_the_settings(tmp_path: Path) -> None:
    run("promtool", "check", "rules", RULES)
    text = (DEPLOY / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")
    (tmp_path / "prometheus.yml").write_text(text.replace("/etc/prometheus/ibi.rules.yml", str(RULES)))
    run("promtool", "check", "config", tmp_path / "prometheus.yml")


def test_alerts_are_raised_by_what_they_are_for_and_not_by_a_healthy_server(tmp_path: Path) -> None:
    sick = {
        'up{job="ibi", instance="a"}': ("0x20", "IbiDown"),
        'ibi_items_damaged{instance="a"}': ("2x20", "IbiItemsDamaged"),
        'ibi_clock_refused{instance="a"}': ("1x20", "IbiClockRefused"),
        'ibi_deposits_refused_for_space{instance="a"}': ("1x20", "IbiDepositsRefusedForSpace"),
        'ibi_mint_commit_failures_total{instance="a"}': ("0+1x20", "IbiMintCommitsFail"),
        'ibi_http_requests_total{instance="a", status="500"}': ("0+60x20", "IbiServerErrors"),
        'ibi_job_failures_total{instance="a", job="texts"}': ("0+1x20", "IbiJobFailing"),
        'ibi_standing_in{instance="a"}': ("1x20", "IbiStandingIn"),
    }
    well = {
        'up{job="ibi", instance="b"}': "1x20",
        'ibi_items_damaged{instance="b"}': "0x20",
        'ibi_standing_in{instance="b"}': "1x4 0x16",
        'ibi_job_failures_total{instance="b", job="texts"}': "0x5 2x15",
        'ibi_http_requests_total{instance="b", status="200"}': "0+60x20",
        'ibi_http_requests_total{instance="b", status="404"}': "0+60x20",
    }
    series = [{"series": name, "values": values} for name, (values, _) in sick.items()]
    series += [{"series": name, "values": values} for name, values in well.items()]
    alerts = [alert for _, alert in sick.values()]
    # Which labels and words each has is not told here: only that there is one, and of which server.
    raised = [
        {"expr": f'count by (instance) (ALERTS{{alertname="{alert}", alertstate="firing"}})', "eval_time": "20m",
         "exp_samples": [{"labels": '{instance="a"}', "value": 1}]}
        for alert in alerts
    ]  # fmt: skip
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": raised}],
    }
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests))
    run("promtool", "test", "rules", tmp_path / "tests.yml")


def expressions() -> dict[str, str]:
    """Every query of the rules and of the dashboard, by where it is."""
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    found = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    dashboard = json.loads((DEPLOY / "grafana" / "ibi.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    return found


async def test_rules_and_dashboard_ask_for_figures_that_a_server_tells(tmp_path: Path) -> None:
    known = {series: figure for figure in await server_figures(tmp_path) for series in figure.series()}
    outside = {"job", "instance", "le"}
    asked = expressions()
    assert len(asked) > 40
    for place, query in asked.items():
        for name, selector in re.findall(r"\b(ibi_\w+)(?:\{([^}]*)\})?", query):
            assert name in known, f"{place}: {name}"
            labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
            assert labels <= known[name].labels | outside, f"{place}: {query}"
        grouped = {label for group in re.findall(r"by \(([^)]*)\)", query) for label in re.split(r",\s*", group)}
        names = re.findall(r"\bibi_\w+", query)
        assert all(grouped <= known[name].labels | outside for name in names), f"{place}: {query}"


def test_each_alert_has_a_line_in_the_guide() -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    assert set(re.findall(r"`(Ibi[A-Z]\w+)`", GUIDE)) == alerts


# --- containers ---

INSTRUCTIONS = "FROM RUN CMD EXPOSE ENV COPY ENTRYPOINT VOLUME USER WORKDIR STOPSIGNAL HEALTHCHECK".split()
BUILT = [
    f"dist/ibi-{ibi.__version__}{end}" for end in ("-requirements.txt", "-py3-none-any.whl", ".tar.gz", "-notes.md")
]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile and what follows each, on one line."""
    text = (CONTAINER / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


def test_the_containerfile_is_made_of_instructions_that_exist() -> None:
    found = instructions()
    assert {name for name, _ in found} <= set(INSTRUCTIONS)
    assert found[0][0] == "FROM"
    for name, rest in found:
        if name == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)
        if name in {"CMD", "ENTRYPOINT", "VOLUME"}:
            assert isinstance(json.loads(rest), list)
    assert [rest for name, rest in found if name == "USER"] == ["ibi"]


def test_what_the_containerfile_copies_is_what_make_dist_builds() -> None:
    stages = [rest.split(" AS ")[1] for name, rest in instructions() if name == "FROM" and " AS " in rest]
    for name, rest in instructions():
        if name != "COPY":
            continue
        first, *others = shlex.split(rest)
        if first.startswith("--from="):
            assert first.removeprefix("--from=") in stages
            continue
        for source in [first, *others[:-1]]:
            assert [path for path in BUILT if fnmatch(path, source)], source
            assert len([path for path in BUILT if fnmatch(path, source)]) == 1, source


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CONTAINER / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_the_compose_file_names_files_networks_and_volumes_that_exist() -> None:
    told = compose()
    for service in told["services"].values():
        assert set(service["networks"]) <= set(told["networks"])
        for source in (volume.partition(":")[0] for volume in service["volumes"]):
            assert (CONTAINER / source).is_file() if source.startswith(".") else source in told["volumes"]
        assert set(service.get("depends_on", {})) <= set(told["services"])
    build = told["services"]["ibi"]["build"]
    assert (CONTAINER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()


def test_the_server_in_a_container_believes_the_proxy_beside_it_alone() -> None:
    told = compose()
    trusted = told["services"]["ibi"]["environment"]["IBI_TRUSTED_PROXIES"]
    (inside,) = told["networks"]["inside"]["ipam"]["config"]
    assert ip_network(trusted) == ip_network(inside["subnet"])
    assert "ports" not in told["services"]["ibi"]


def test_the_proxy_in_a_container_is_the_sample_but_for_the_address() -> None:
    sample = (DEPLOY / "caddy" / "Caddyfile").read_text(encoding="utf-8").partition("\n\n")[2]
    inside = (CONTAINER / "Caddyfile").read_text(encoding="utf-8").partition("\n\n")[2]
    assert inside == sample.replace("127.0.0.1:8765", "ibi:8765")
