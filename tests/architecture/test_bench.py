"""The harness of `make bench` counts operations rightly, and fails when an aim is missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import core, run
from bench.figure import Figure
from bench.measurement import Measurement, Result, measure, over


def test_a_measurement_is_per_operation_and_relative_to_the_reference() -> None:
    now = [0.0]

    def work(text: str) -> None:
        now[0] += 0.001  # what it takes, whatever the machine is busy with

    def twice(text: str) -> None:
        work(text)
        work(text)

    reference = over("once", work, ["some text"] * 50)
    result = measure(reference, [over("twice", twice, ["some text"] * 10)], lambda: now[0])[1]
    assert result.ratio == pytest.approx(2)
    assert result.microseconds == pytest.approx(2000)


def test_the_reference_has_the_ratio_one() -> None:
    assert measure(Measurement("nothing", lambda: None), [])[0].ratio == 1


@pytest.mark.parametrize(("ratio", "status", "word"), [(2.9, 0, "met"), (3.1, 1, "MISSED")])
def test_a_missed_aim_fails_the_run(
    ratio: float,
    status: int,
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = [Result("reference", 1.0, 1.0, None), Result("parse", ratio, ratio, 3.0)]
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "SUITES", {})
    monkeypatch.setattr(run, "measure", lambda reference, measurements: results)
    assert run.main() == status
    assert word in capsys.readouterr().out
    (kept,) = tmp_path.glob("*.json")
    assert json.loads(kept.read_text(encoding="utf-8"))["results"][1]["met"] is (status == 0)


def test_a_missed_figure_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missed = Figure("labels", 3.0, "labels/s", 3.0, "≥ 15×", is_met=False)
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "SUITES", {"labels": lambda: [missed]})
    monkeypatch.setattr(run, "measure", lambda reference, measurements: [Result("reference", 1.0, 1.0, None)])
    assert run.main() == 1
    assert "MISSED" in capsys.readouterr().out


def test_every_measurement_of_the_core_runs() -> None:
    for measurement in core.measurements():
        measurement.call()
