"""Settings from flags, variables and files, in that order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ibi.minting.rules.minter import Rules
from ibi.settings import (
    SETTINGS,
    IncompleteIdentity,
    InvalidSetting,
    NamedSetting,
    Secret,
    Settings,
    SettingsConflict,
    SettingsError,
    SettingsFileMalformed,
    SettingsFileUnreadable,
    SettingSource,
    UnknownSetting,
    load_settings,
)
from ibi.standard.clock import Granularity
from ibi.standard.identity import Identity

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Settings of an empty data directory, with what a test adds."""

    def load_with(toml: str | bytes | None = None, environ: dict[str, str] | None = None, **flags: object) -> Settings:
        if toml is not None:
            content = toml.encode() if isinstance(toml, str) else toml
            (tmp_path / "ibi.toml").write_bytes(content)
        return load_settings({"data": tmp_path, **flags}, environ or {})

    return load_with


def read(settings: Settings, name: str) -> object:
    value: object = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_setting_of_the_table_is_an_attribute_and_the_other_way_round() -> None:
    settings = load_settings({}, {})
    for one in SETTINGS:
        read(settings, one.name)
    sections = {one.name.partition(".")[0] for one in SETTINGS if "." in one.name}
    names = {*Settings.__dataclass_fields__} - {*sections, "file", "sources", "hints"}
    for section in sections:
        names |= {f"{section}.{one.name}" for one in fields(getattr(settings, section))}
    assert names == {one.name for one in SETTINGS}


def test_variables_and_flags_follow_the_names() -> None:
    for one in SETTINGS:
        assert one.variable == f"IBI_{one.name.upper().replace('.', '_')}"
        assert one.flag in (None, f"--{one.name.replace('_', '-')}")


def test_each_help_is_one_sentence() -> None:
    for one in SETTINGS:
        assert one.help[0].isupper()
        assert one.help.endswith(".")
        assert ". " not in one.help
        assert one.variable in one.option_help


def test_the_defaults_are_those_promised() -> None:
    settings = load_settings({}, {})
    assert (settings.data, settings.host, settings.port) == (Path("ibi-data"), "127.0.0.1", 8765)
    assert (settings.server, settings.token, settings.config, settings.lock_dir) == (None, None, None, None)
    assert (settings.log_level, settings.log_format, settings.file) == ("info", "console", None)
    assert settings.identity() is None
    assert settings.rules() == Rules()
    assert set(settings.sources.values()) == {SettingSource.DEFAULT}


# --- who wins ---------------------------------------------------------------------------------------------------------


def test_a_flag_overrides_a_variable_overrides_the_file_overrides_the_default(load: Load) -> None:
    file, environ = "port = 1", {"IBI_PORT": "2"}
    assert (load().port, load().sources["port"]) == (8765, SettingSource.DEFAULT)
    assert (load(file).port, load(file).sources["port"]) == (1, SettingSource.FILE)
    assert (load(file, environ).port, load(file, environ).sources["port"]) == (2, SettingSource.ENVIRONMENT)
    assert (load(file, environ, port=3).port, load(file, environ, port="3").sources["port"]) == (3, SettingSource.FLAG)


def test_a_flag_that_is_none_and_an_empty_variable_are_not_given(load: Load) -> None:
    settings = load("port = 1", {"IBI_PORT": "", "IBI_SERVER": ""}, port=None, server=None)
    assert (settings.port, settings.server) == (1, None)


def test_the_data_directory_of_a_variable_is_where_the_file_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "ibi.toml").write_text("port = 7")
    settings = load_settings({}, {"IBI_DATA": str(tmp_path)})
    assert (settings.data, settings.port, settings.file) == (tmp_path, 7, tmp_path / "ibi.toml")


def test_a_named_file_is_read_instead_of_the_one_in_the_data_directory(load: Load, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("host = '::1'")
    settings = load("port = 7", config=other)
    assert (settings.port, settings.host, settings.file, settings.config) == (8765, "::1", other, other)
    assert load("port = 7", {"IBI_CONFIG": str(other)}).host == "::1"


def test_a_named_file_may_say_where_the_data_directory_is(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    named = tmp_path / "etc" / "ibi.toml"
    named.write_text("data = '../var'\nlock_dir = '/locks'")
    settings = load_settings({"config": str(named)}, {})
    assert settings.data == tmp_path / "etc" / ".." / "var"
    assert settings.lock_dir == Path("/locks")
    assert load_settings({"config": str(named)}, {"IBI_DATA": "/elsewhere"}).data == Path("/elsewhere")


def test_the_file_of_a_data_directory_cannot_say_where_that_is(load: Load) -> None:
    with pytest.raises(UnknownSetting, match=r"ibi\.toml: data is not .*: the file lies in the data directory itself"):
        load("data = '/elsewhere'")


def test_home_is_understood_where_no_shell_puts_it_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert load_settings({}, {"IBI_DATA": "~/ibi"}).data == Path("/home/somebody/ibi")


@pytest.mark.parametrize(
    ("environ", "flags", "remote"),
    [
        ({}, {}, False),
        ({}, {"server": "http://a.org"}, True),
        ({"IBI_SERVER": "http://a.org"}, {}, True),
        ({"IBI_SERVER": "http://a.org"}, {"data": "d"}, False),
        ({"IBI_DATA": "d"}, {"server": "http://a.org"}, True),
        ({"IBI_DATA": "d", "IBI_SERVER": "http://a.org"}, {}, True),
    ],
)
def test_a_command_asks_the_server_unless_a_data_directory_is_given_in_a_stronger_way(
    environ: dict[str, str], flags: dict[str, str], remote: bool
) -> None:
    assert load_settings(flags, environ).is_remote is remote


def test_a_data_directory_and_a_server_both_as_flags_are_refused() -> None:
    with pytest.raises(SettingsConflict, match="--data and --server exclude each other"):
        load_settings({"data": "d", "server": "http://a.org"}, {})


# --- identity and rules -----------------------------------------------------------------------------------------------


def test_the_identity_and_the_rules_come_from_the_section_mint(load: Load) -> None:
    settings = load(
        """
        [mint]
        host = "ibi.inpe.br"
        ip = "150.163.34.243"
        host_port = 8080
        granularity = 0.001
        wait_bound = 0.1
        behind_limit = 2.50
        """
    )
    assert settings.identity() == Identity("ibi.inpe.br", "150.163.34.243", 8080, 800)
    assert settings.rules() == Rules(Granularity.parse("0.001"), Fraction(1, 10), Fraction(5, 2))


def test_each_part_of_the_identity_can_be_a_variable(load: Load) -> None:
    environ = {"IBI_MINT_HOST": "ibi.localhost", "IBI_MINT_IP": "::1", "IBI_MINT_SANDBOX": "true"}
    assert load(None, environ).identity() == Identity("ibi.localhost", "::1", sandbox=True)


@pytest.mark.parametrize("line", ["ip = '150.163.34.243'", "host_port = 80", "ip_port = 800", "sandbox = true"])
def test_half_an_identity_is_refused(load: Load, line: str) -> None:
    with pytest.raises(
        IncompleteIdentity, match=rf"mint\.{line.split()[0]} in .*ibi\.toml is given, but mint\.host is not"
    ):
        load(f"[mint]\n{line}")


@pytest.mark.parametrize("text", ["60", "1", "0.1", "0.000000001"])
def test_a_granularity_is_the_same_from_a_file_and_a_variable(load: Load, text: str) -> None:
    expected = Granularity.parse(text)
    assert load(f"[mint]\ngranularity = {text}").mint.granularity == expected
    assert load(f"[mint]\ngranularity = '{text}'").mint.granularity == expected
    assert load("", {"IBI_MINT_GRANULARITY": text}).mint.granularity == expected


def test_auto_is_a_granularity(load: Load) -> None:
    assert load("[mint]\ngranularity = 'auto'").mint.granularity is None


@given(st.decimals(min_value=0, max_value=86_400, places=9))
def test_durations_are_exact(seconds: Decimal) -> None:
    settings = load_settings({}, {"IBI_MINT_WAIT_BOUND": format(seconds, "f")})
    assert settings.mint.wait_bound == Fraction(str(seconds))


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_token_is_never_shown() -> None:
    settings = load_settings({}, {"IBI_TOKEN": "ibi_abc_hunter2"})
    assert settings.token == Secret("ibi_abc_hunter2")
    assert settings.token is not None
    assert settings.token.reveal() == "ibi_abc_hunter2"
    for shown in (repr(settings), str(settings), f"{settings.token}", f"{settings.token!r}", "%s" % settings.token):  # noqa: UP031
        assert "hunter2" not in shown


def test_a_wrong_token_is_refused_without_being_shown() -> None:
    for flags, environ in (({"token": "hunter2 "}, {}), ({}, {"IBI_TOKEN": "hunter2\n"})):
        with pytest.raises(InvalidSetting) as refused:
            load_settings(flags, environ)
        assert "hunter2" not in str(refused.value) + repr(refused.value.parameters)
        assert refused.value.__cause__ is None


def test_a_registration_key_is_never_shown(load: Load) -> None:
    settings = load("[archive]\nregistration_key = '1234567890-1234567890'")
    assert settings.archive.registration_key == Secret("1234567890-1234567890")
    assert "1234567890" not in repr(settings)


@pytest.mark.parametrize("written", ["1234567890", "'123456789'", "'1234567890-'", "'1234567890x'", "[1234567890]"])
def test_a_wrong_registration_key_is_refused_without_being_shown(load: Load, written: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        load(f"[archive]\nregistration_key = {written}")
    assert "12345" not in str(refused.value) + repr(refused.value.parameters)
    with pytest.raises(InvalidSetting) as refused:
        load(environ={"IBI_ARCHIVE_REGISTRATION_KEY": f"{written.strip(chr(39))}x"})
    assert "12345" not in str(refused.value) + repr(refused.value.parameters)


@pytest.mark.parametrize("key", ["token = 'ibi_x_y'", "server = 'http://a.org'", "config = 'x'"])
def test_what_does_not_belong_into_a_file_is_refused_there(load: Load, key: str) -> None:
    with pytest.raises(UnknownSetting) as refused:
        load(key)
    assert "ibi_x_y" not in str(refused.value)


# --- what is wrong ----------------------------------------------------------------------------------------------------

WRONG_TEXTS = {
    "IBI_PORT": ["-1", "65536", "x", "8765 ", " 8765", "8_765", "٣", "1e3", "0x50", "9" * 5000],
    "IBI_HOST": ["a b", "[::1]", "x" * 256, "http://a", "a/b"],
    "IBI_SERVER": [
        "a.org",
        "ftp://a.org",
        "http://",
        "http://u:p@a.org",
        "http://a.org/?x",
        "http://a.org/#x",
        "http://a b",
    ],
    "IBI_TOKEN": ["a b", "a\n", "é", "x" * 1025],
    "IBI_LOG_LEVEL": ["INFO", "trace", "1"],
    "IBI_LOG_FORMAT": ["xml", "JSON"],
    "IBI_DATA": ["a\0b", "~nobody-of-this-name/x"],
    "IBI_MINT_HOST": ["localhost", "a..b", "-a.org", "a_b.org", "a.org:80", "é.org", "x" * 300],
    "IBI_MINT_IP": ["1.2.3", "1.2.3.4.5", "a", "fe80::1%eth0", "1.2.3.4/8", "0.1.2.3"],
    "IBI_MINT_HOST_PORT": ["0", "65536"],
    "IBI_MINT_SANDBOX": ["yes", "1", "True", "TRUE"],
    "IBI_MINT_GRANULARITY": ["0", "2", "0.10", ".1", "AUTO", "-1", "1.0", "1e-3", f"0.{'0' * 50}1"],
    "IBI_MINT_WAIT_BOUND": ["-1", "86401", "nan", "inf", "1e3", ".5", "5.", "1/2", "1s", "9" * 5000],
    "IBI_MINT_BEHIND_LIMIT": ["0", "0.0999", "86400.1"],
}


@pytest.mark.parametrize(("variable", "text"), [(name, text) for name, texts in WRONG_TEXTS.items() for text in texts])
def test_a_wrong_value_is_refused_in_one_line_that_says_where_and_what_is_expected(variable: str, text: str) -> None:
    one = next(one for one in SETTINGS if one.variable == variable)
    with pytest.raises(InvalidSetting) as refused:
        load_settings({}, {variable: text})
    message = str(refused.value)
    assert message.startswith(f"{variable}: ")
    assert one.kind.expected in message
    assert message.isprintable()
    assert len(message) < 300


def test_a_wrong_flag_is_named_as_it_was_typed() -> None:
    with pytest.raises(InvalidSetting) as refused:
        load_settings({"port": "http"}, {})
    assert str(refused.value) == "--port: 'http' is not a whole number from 0 to 65535."


def test_a_wrong_value_is_refused_even_where_another_overrides_it(load: Load) -> None:
    with pytest.raises(InvalidSetting, match="IBI_PORT"):
        load(None, {"IBI_PORT": "x"}, port=1)


WRONG_FILES = {
    "port = '8765'": "port in FILE: '8765' is not a whole number from 0 to 65535: write it without quotes.",
    "port = 65536": "port in FILE: 65536 is not a whole number from 0 to 65535.",
    "port = 80.5": "port in FILE: 80.5 is not a whole number from 0 to 65535.",
    "port = true": "port in FILE: true is not a whole number from 0 to 65535.",
    "port = [1]": "port in FILE: a list is not a whole number from 0 to 65535.",
    "[port]": "port in FILE: a section is not a whole number from 0 to 65535.",
    "[[port]]": "port in FILE: a list is not a whole number from 0 to 65535.",
    "port = 1979-05-27": "port in FILE: 1979-05-27 is not a whole number from 0 to 65535.",
    "log_level = 3": "log_level in FILE: 3 is not one of debug, info, warning, error: write it in quotes.",
    "mint = 3": "mint in FILE: 3 is not a section; its settings stand below a line [mint].",
    "[[mint]]": "mint in FILE: a list is not a section; its settings stand below a line [mint].",
    "mint.sandbox = 'true'": "mint.sandbox in FILE: 'true' is not true or false: write it without quotes.",
    "mint.sandbox = 1": "mint.sandbox in FILE: 1 is not true or false.",
    "mint.wait_bound = 1e3": "mint.wait_bound in FILE: 1e3 is not a number of seconds from 0 to 86400.",
    "mint.wait_bound = inf": "mint.wait_bound in FILE: inf is not a number of seconds from 0 to 86400.",
    "mint.wait_bound = '1'": "mint.wait_bound in FILE: '1' is not a number of seconds from 0 to 86400: write it without"
    " quotes.",
    "mint.host = 'localhost'": "mint.host in FILE: 'localhost' is not a host name like ibi.example.org: a host name has"
    " at least two words, as in www.example.org.",
    "prot = 80": "FILE: prot is not a setting that this file can have (did you mean port?).",
    "[mnt]\nhost = 'a.org'": "FILE: mnt is not a setting that this file can have (did you mean mint?).",
    "mint.hosts = 'a.org'": "FILE: mint.hosts is not a setting that this file can have (did you mean mint.host?).",
    "'mint.host' = 'a.org'": "FILE: 'mint.host' is not a setting that this file can have (write it without quotes).",
    "colour = 'red'": "FILE: colour is not a setting that this file can have.",
    '"a\\u001b" = 1': "FILE: 'a\\x1b' is not a setting that this file can have.",
    "port = 0x" + "f" * 8000: f"port in FILE: 0x{'f' * 118}… is not a whole number from 0 to 65535.",
}


@pytest.mark.parametrize("toml", WRONG_FILES, ids=lambda toml: toml[:40])
def test_a_wrong_file_is_refused_in_one_line_that_names_it(load: Load, tmp_path: Path, toml: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(toml)
    assert str(refused.value) == WRONG_FILES[toml].replace("FILE", str(tmp_path / "ibi.toml"))


MALFORMED = {
    "port": "",
    "port = ": "",
    "port = 1\nport = 2": "",
    "port = " + "9" * 5000: "",
    "x = " + "[" * 100_000: "nested too deeply",
    "\x00": "",
    "[mint": "",
    f"[{'x' * 900_000}]\n[{'x' * 900_000}]"[:990_000]: "",
    f"[{'x' * 400_000}]\n[{'x' * 400_000}]": "",
}


@pytest.mark.parametrize("toml", MALFORMED, ids=lambda toml: repr(toml[:20]))
def test_a_malformed_file_is_refused_in_one_line(load: Load, toml: str) -> None:
    with pytest.raises(SettingsFileMalformed, match=r"ibi\.toml is not a TOML file: ") as refused:
        load(toml)
    assert MALFORMED[toml] in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


def test_bytes_that_are_no_text_are_refused(load: Load) -> None:
    with pytest.raises(SettingsFileMalformed, match="byte 8 is not UTF-8"):
        load(b"host = '\xff'")


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(SettingsFileUnreadable, match="/dev/zero cannot be read: it is longer than"):
        load_settings({"config": "/dev/zero"}, {})


def test_a_named_file_that_is_not_there_is_refused_with_who_named_it(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.toml")
    with pytest.raises(SettingsFileUnreadable, match=r"missing\.toml cannot be read: no such file \(--config\)"):
        load_settings({"config": missing}, {})
    with pytest.raises(SettingsFileUnreadable, match=r"\(IBI_CONFIG\)"):
        load_settings({}, {"IBI_CONFIG": missing})


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsFileUnreadable, match="Is a directory"):
        load_settings({"config": tmp_path}, {})


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsFileUnreadable, match="Not a directory"):
        load_settings({"data": tmp_path / "file"}, {})


def test_a_file_without_permission_is_refused(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SettingsFileUnreadable, match=r"ibi\.toml cannot be read: Permission denied"):
        load()


def test_a_place_that_would_upset_a_terminal_is_quoted(tmp_path: Path) -> None:
    directory = tmp_path / "a\n\x1b[2Jb"
    directory.mkdir()
    (directory / "ibi.toml").write_text("x")
    with pytest.raises(SettingsFileMalformed) as refused:
        load_settings({"data": directory}, {})
    assert str(refused.value).isprintable()


@given(st.text(max_size=300) | st.binary(max_size=300))
@example("a = 1979-05-27T07:32:00Z")
@example(b"\xef\xbb\xbfport = 1")
def test_any_file_gives_settings_or_one_documented_error(
    tmp_path_factory: pytest.TempPathFactory, content: str | bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    try:
        load_settings({"config": file}, {})
    except SettingsError as refused:
        assert str(refused).isprintable()


@given(st.sampled_from(SETTINGS), st.text(st.characters(exclude_characters="\0"), max_size=100))
@example(SETTINGS[0], "\ud800")
def test_any_text_gives_settings_or_one_documented_error(one: NamedSetting, text: str) -> None:
    try:
        load_settings({}, {one.variable: text})
    except SettingsError as refused:
        assert str(refused).isprintable()


# --- variables that are none ------------------------------------------------------------------------------------------


def test_a_variable_that_looks_like_a_setting_is_mentioned_and_passed_over() -> None:
    settings = load_settings({}, {"IBI_PROT": "99", "IBI_MINT_HOTS": "x", "PATH": "y"})
    assert settings.port == 8765
    assert settings.hints == (
        "IBI_MINT_HOTS is not a setting and is passed over; did you mean IBI_MINT_HOST?",
        "IBI_PROT is not a setting and is passed over; did you mean IBI_PORT?",
    )


@pytest.mark.parametrize("name", ["IBI_", "IBI_BRANCH_OF_THE_BUILD", "IBIS_PORT", "MY_IBI_PORT"])
def test_a_variable_of_another_program_is_passed_over_in_silence(name: str) -> None:
    assert load_settings({}, {name: "1"}).hints == ()
