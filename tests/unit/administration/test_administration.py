"""The settings as administrators see them: each with where it comes from, and no secret."""

from __future__ import annotations

from pathlib import Path

from ibi.administration.opening import shown_settings
from ibi.settings import SETTINGS, load_settings
from ibi.web.admin_shell import ShownSetting


def shown(data: Path, toml: str = "", **variables: str) -> dict[str, ShownSetting]:
    (data / "ibi.toml").write_text(toml, encoding="utf-8")
    settings = load_settings({"data": str(data), "port": "0"}, variables)
    return {each.name: each for each in shown_settings(settings)}


def test_every_setting_of_a_server_is_shown_with_what_it_means(tmp_path: Path) -> None:
    found = shown(tmp_path)
    missing = {one.name for one in SETTINGS} - set(found)
    assert missing == {"server", "token", "registration_key"}
    assert all(each.help for each in found.values())


def test_each_says_where_it_comes_from(tmp_path: Path) -> None:
    found = shown(tmp_path, 'log_level = "error"\n[archive]\nverify_rate = "5 MB"\n', IBI_WORKERS="3")
    assert (found["port"].value, found["port"].source, found["port"].place) == ("0", "flag", "--port")
    assert (found["workers"].value, found["workers"].source, found["workers"].place) == (
        "3",
        "environment",
        "IBI_WORKERS",
    )
    assert (found["log_level"].source, found["log_level"].place) == ("file", str(tmp_path / "ibi.toml"))
    assert found["archive.verify_rate"].value == "5000000"
    assert (found["archive.largest_deposit"].value, found["archive.largest_deposit"].source) == ("100 GB", "default")


def test_no_secret_is_shown_wherever_it_stands(tmp_path: Path) -> None:
    secrets = {"IBI_MAIL_PASSWORD": "hunter22", "IBI_ARCHIVE_REGISTRATION_KEY": "4711471147"}
    found = shown(tmp_path, IBI_TOKEN="ibi_secret", **secrets)
    text = repr(found)
    for secret in (*secrets.values(), "ibi_secret"):
        assert secret not in text
    assert found["mail.password"].is_secret
    assert not shown(tmp_path)["mail.password"].is_secret


def test_names_and_passwords_in_addresses_are_left_out() -> None:
    from ibi.administration.opening import _USER_IN_URL

    assert _USER_IN_URL.sub("…@", "https://ana:pw@r.example/x, http://b.example/") == (
        "https://…@r.example/x, http://b.example/"
    )
