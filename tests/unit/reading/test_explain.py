"""`ibi explain` and `ibi url`, run in this process."""

from __future__ import annotations

import json

import pytest

from ibi.command import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_explains_both_forms_as_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    labels = "8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
    code, out, err = run(capsys, "explain", "--json", *labels)
    ibip, rep = map(json.loads, out.splitlines())
    assert (code, err) == (0, "")
    assert ibip == {
        "form": "ibip",
        "label": "8JMKD3MGP8W/34PGRBS",
        "prefix": "8JMKD3MGP8W",
        "suffix": "34PGRBS",
        "host": None,
        "ip": "150.163.34.243",
        "port": 800,
        "instant": "2009-02-16T17:46:00Z",
        "is_global": True,
        "other_suffix": "2009/02.16.17.46",
    }
    assert rep == ibip | {
        "form": "rep",
        "label": "sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
        "prefix": "sid.inpe.br/mtc-m18@80",
        "suffix": "2009/02.16.17.46",
        "host": "mtc-m18.sid.inpe.br",
        "ip": None,
        "port": 80,
        "other_suffix": "34PGRBS",
    }


def test_good_labels_are_printed_although_one_is_bad(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", "nonsense", "LK47B6W/362SFKH", "a.b/c/2009/02.30.00.00")
    assert code == 1
    assert out.startswith("LK47B6W/362SFKH\n")
    assert "127.0.0.1" in out
    assert len(err.splitlines()) == 2
    assert "30 February does not exist" in err


def test_a_link_is_explained_by_the_label_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "http://urlib.net/ibi/8JMKD3MGP8W/35MMLL8!:(oai_dc)")
    assert code == 0
    assert out.startswith("8JMKD3MGP8W/35MMLL8\n")


def test_a_name_older_than_any_ibip_has_no_other_suffix(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "--json", "inpe.br/www/1994/01.02.03.04")
    assert (code, json.loads(out)["other_suffix"]) == (0, None)


def test_takes_a_persistent_url_apart(capsys: pytest.CaptureFixture[str]) -> None:
    url = (
        "http://urlib.net/8JMKD3MGP8W/35MMLL8!:(OAI_DC)/a%20b?x=1&ibiurl.requireditemstatus=original&ibiurl.language=pt"
    )
    code, out, _ = run(capsys, "url", "--json", url)
    assert code == 0
    assert json.loads(out) == {
        "label": "8JMKD3MGP8W/35MMLL8",
        "modifier": "!:(oai_dc)",
        "verbs": ["GetLastEdition", "GetMetadata(oai_dc)"],
        "qualifier": ".lastedition.metadata(oai_dc)",
        "file_path": "/a b",
        "file_list": False,
        "required_original": True,
        "language": "pt",
        "query": [["x", "1"]],
    }


def test_a_list_of_files_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "url", "LK47B6W/362SFKH?ibiurl.verblist=GetFileList")
    assert code == 0
    assert "the list of files" in out


def test_a_bad_url_is_one_line_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "url", "LK47B6W/362SFKH!!")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["explain"], ["--nonsense"], ["nonsense"], ["explain", "--nonsense", "x"]])
def test_wrong_usage_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("ibi: ")
    assert len(err.splitlines()) == 1


def test_alone_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert "explain" in out


def test_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    from ibi import __version__

    assert run(capsys, "--version") == (0, f"ibi {__version__}\n", "")
