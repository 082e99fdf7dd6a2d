"""A librarian's first days: deposits, editions, translations, a mistake, a deletion; and whether all is whole."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import unicodedata
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import ibi
from tests.support.ibi_command import IbiCommand, Outcome

IDENTITY = {
    "IBI_MINT_HOST": "ibi.localhost",
    "IBI_MINT_IP": "127.0.0.1",
    "IBI_MINT_HOST_PORT": "8765",
    "IBI_MINT_IP_PORT": "8765",
    "IBI_MINT_SANDBOX": "true",
}
VALIDATOR = Path(sys.executable).with_name("ocfl-validate.py")
ROOT = Path(__file__).parents[2]
VALIDATION = """
import runpy, sys
from tests.support.content_samples import prepare_ocfl_py
prepare_ocfl_py()
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


class Librarian:
    """Runs the command, and expects it to work unless told otherwise."""

    def __init__(self, command: IbiCommand) -> None:
        self.command = command

    def __call__(self, *arguments: str, **variables: str) -> Outcome:
        return self.command(*arguments, **IDENTITY, **variables)

    def json(self, *arguments: str, **variables: str) -> dict[str, Any]:
        outcome = self(*arguments, "--json", **variables)
        assert outcome.code == 0, outcome
        found = json.loads(outcome.out)
        assert isinstance(found, dict)
        return found

    def show(self, label: str) -> dict[str, Any]:
        shown = self.json("show", label)
        item, local = shown["item"], shown["local"]
        assert isinstance(item, dict)
        assert isinstance(local, dict)
        return {**local, **item}

    def write(self, **contents: str) -> Path:
        """A folder with files of these names: `data__a` is `data/a.txt`."""
        folder = self.command.home / "folder"
        for name, content in contents.items():
            path = folder / f"{name.replace('__', '/')}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return folder

    def place(self, rep: str) -> Path:
        return self.command.data / "store" / rep

    def dump(self) -> list[str]:
        """Everything that the Archive tells of everything it has."""
        objects = sorted(path.parent for path in (self.command.data / "store").rglob("0=ocfl_object_1.1"))
        reps = [str(place.relative_to(self.command.data / "store")) for place in objects]
        return self("show", *reps, "--json").out.splitlines()


@pytest.fixture
def librarian(tmp_path: Path) -> Librarian:
    return Librarian(IbiCommand(tmp_path))


def validate(place: Path) -> Outcome:
    command = [sys.executable, "-c", VALIDATION, str(VALIDATOR), str(place)]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_a_deposit_gives_both_labels_and_the_links(librarian: Librarian) -> None:
    folder = librarian.write(thesis="text")
    made = librarian.json("deposit", str(folder / "thesis.txt"), "--title", "Uma tese", IBI_RESOLVER="http://urlib.net")
    assert set(made) == {"rep", "ibip", "persistent_url", "url"}
    assert ibi.parse(made["rep"]).instant == ibi.parse(made["ibip"]).instant
    assert made["persistent_url"] == f"http://urlib.net/{made['ibip']}"
    assert made["url"] == f"http://127.0.0.1:8765/col/{made['rep']}/doc/thesis.txt"
    told = librarian("deposit", str(folder), "--title", "Outra", IBI_PUBLIC_URL="https://ibi.example.org").out
    assert told.splitlines()[0] == "Outra"
    assert "https://ibi.example.org/" in told


def test_two_years_of_an_archive(librarian: Librarian) -> None:
    service = librarian.json("archive", "init")
    assert stat.S_IMODE((librarian.command.data / "archive.json").stat().st_mode) == 0o600
    assert librarian.json("archive", "status")["rep"] == service["rep"]
    assert librarian.show(service["rep"])["transferable"] is False
    assert "own service" in librarian("delete", service["rep"], "--reason", "no").err

    folder = librarian.write(a="first", data__b="b", data__c="c")
    described = [
        "--creator",
        "Ana Ávila <0000-0002-1825-0097>",
        "--creator",
        "Inpe",
        "--type",
        "Text",
        "--type",
        "thesis",
    ]
    described += ["--license", "CC-BY-4.0", "--subject", "rain", "--date", "2026", "--description", "About rain."]
    first = librarian.json(
        "deposit", str(folder), "--title", "Rain", "--language", "pt", "--target", "a.txt", *described
    )
    shown = librarian.show(first["ibip"])
    assert [file["path"] for file in shown["files"]] == ["a.txt", "data/b.txt", "data/c.txt"]
    assert shown["metadata"]["creator"] == [{"name": "Ana Ávila", "orcid": "0000-0002-1825-0097"}, {"name": "Inpe"}]
    assert (shown["metadata"]["resource_type"], shown["metadata"]["type"]) == ("Text", [{"value": "thesis"}])
    assert (shown["metadata"]["licence"], shown["language"], shown["target"]) == ("CC-BY-4.0", "pt", "a.txt")

    second = librarian.json("deposit", str(folder), "--title", "Rain, 2nd", "--edition-of", first["ibip"])
    assert librarian.show(first["rep"])["next_edition"]["rep"] == second["rep"]
    assert librarian.show(second["rep"])["edition_of"]["rep"] == first["rep"]
    refused = librarian("deposit", str(folder), "--title", "Rain, 3rd", "--edition-of", first["rep"])
    assert (refused.code, second["rep"] in refused.err, len(refused.err.splitlines())) == (1, True, 1)

    english = librarian.json(
        "deposit", str(folder), "--title", "Rain", "--language", "en", "--translation-of", first["rep"]
    )
    assert librarian.show(first["rep"])["translations"]["en"]["rep"] == english["rep"]

    closed = librarian.json(
        "deposit", str(folder / "a.txt"), "--title", "Secret", "--embargo", "2040-01-31", "--allow", "150.163.0.0/16"
    )
    assert librarian.show(closed["rep"])["visibility"] == {
        "networks": ["150.163.0.0/16"],
        "embargo": "2040-01-31T00:00:00Z",
    }
    librarian.json("update", closed["rep"], "--public")
    assert "visibility" not in librarian.show(closed["rep"])

    web = librarian.json("deposit", "--url", "https://example.org/search", "--title", "A search")
    assert web["url"] == librarian.show(web["rep"])["target_url"] == "https://example.org/search"

    elsewhere = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
    librarian.json("relate", second["rep"], "--next-edition", elsewhere)
    assert librarian.show(second["rep"])["next_edition"] == {"rep": elsewhere}
    librarian.json("relate", second["rep"], "--next-edition", elsewhere, "--undo")
    assert "next_edition" not in librarian.show(second["rep"])
    librarian.json("relate", first["rep"], "--translation", "es", elsewhere)
    assert librarian.show(first["rep"])["translations"]["es"] == {"rep": elsewhere}

    about = librarian.json("deposit", str(folder), "--title", "Of rain", "--metadata-of", first["ibip"])
    assert librarian.show(first["rep"])["metadata_item"]["rep"] == about["rep"]
    assert librarian.show(about["rep"])["describes"]["rep"] == first["rep"]
    lines = [line.split(maxsplit=2) for line in librarian("show", first["rep"]).out.splitlines()]
    assert ["metadata", "item", about["rep"]] in lines
    for refused, told in (
        (librarian("deposit", str(folder), "--title", "x", "--metadata-of", first["rep"]), "has an IBI already"),
        (librarian("deposit", str(folder), "--title", "x", "--metadata-of", about["rep"]), "is itself the metadata of"),
        (librarian("relate", second["rep"], "--metadata", second["rep"]), "cannot be its own metadata"),
        (librarian("relate", second["rep"], "--metadata", first["rep"]), "has a metadata item"),
        (librarian("relate", second["rep"], "--metadata", about["rep"]), "withdraw that first"),
        (librarian("relate", second["rep"], "--metadata", elsewhere, "--undo"), "there is nothing to withdraw"),
    ):
        assert (refused.code, refused.out, told in refused.err) == (1, "", True), refused
        assert len(refused.err.splitlines()) == 1
    librarian.json("relate", second["rep"], "--metadata", elsewhere)
    assert librarian.show(second["rep"])["metadata_item"] == {"rep": elsewhere}
    librarian.json("relate", second["rep"], "--metadata", elsewhere, "--undo")
    assert "metadata_item" not in librarian.show(second["rep"])
    librarian.json("relate", first["rep"], "--metadata", about["rep"], "--undo")
    assert "describes" not in librarian.show(about["rep"])

    (folder / "data" / "c.txt").unlink()
    librarian.json("update", first["rep"], str(folder), "--add")
    assert "data/c.txt" in [file["path"] for file in librarian.show(first["rep"])["files"]]
    said = ("--title", "Rain, corrected", "--message", "a slip")
    updated = librarian("update", first["rep"], str(folder), "--replace", *said)
    assert "data/c.txt" in updated.err
    assert librarian.show(first["rep"])["version"] == 3
    added = librarian.json("update", first["rep"], str(librarian.write(d="d") / "d.txt"), "--remove", "a.txt")
    assert added["removed"] == ["a.txt"]
    assert [file["path"] for file in librarian.show(first["rep"])["files"]] == ["d.txt", "data/b.txt"]

    librarian.json("delete", english["rep"], "--reason", "withdrawn", "--replaced-by", first["rep"])
    gone = librarian.show(english["rep"])
    assert (gone["state"], gone["tombstone"]["why"]) == ("Deleted", "withdrawn")
    librarian.json("delete", closed["rep"], "--reason", "by order", "--purge")
    assert librarian.show(closed["rep"])["tombstone"]["purged"] is True
    assert b"first" not in b"".join(
        path.read_bytes() for path in librarian.place(closed["rep"]).rglob("*") if path.is_file()
    )

    for place in {path.parent for path in (librarian.command.data / "store").rglob("0=ocfl_object_1.1")}:
        outcome = validate(place)
        assert outcome.code == 0, outcome
    assert librarian("verify").out == "7 items read, all whole.\n"

    before = librarian.dump()
    assert len(before) == 7
    for path in librarian.command.data.glob("catalogue.sqlite*"):
        path.unlink()
    assert librarian.json("rebuild") == {"items": 7, "removed": 0, "unreadable": []}
    assert librarian.dump() == before
    assert librarian("rebuild").out == "The catalogue has 7 items.\n"
    assert librarian.dump() == before


def test_a_flipped_byte_is_found(librarian: Librarian) -> None:
    folder = librarian.write(a="content" * 1000)
    made = librarian.json("deposit", str(folder), "--title", "T")
    other = librarian.json("deposit", str(folder), "--title", "U")
    victim = librarian.place(made["rep"]) / "v1" / "content" / "doc" / "a.txt"
    content = bytearray(victim.read_bytes())
    content[3000] ^= 1
    victim.write_bytes(content)
    assert validate(librarian.place(made["rep"])).code != 0
    found = librarian("verify")
    assert (found.code, found.out.splitlines()[-1]) == (1, "2 items read, 1 damaged.")
    assert made["rep"] in found.out
    assert "a.txt" in found.out
    assert librarian("verify", other["ibip"]).code == 0
    lines = [json.loads(line) for line in librarian("verify", made["ibip"], "--json").out.splitlines()]
    assert [line.get("kind") for line in lines] == ["damaged", None]


@pytest.mark.parametrize(
    "name", [b"caf\xe9.txt", b"nul.txt", b"two\nlines", b"a:b", b"A.txt", "right\u202eleft".encode()]
)
def test_a_name_that_cannot_be_kept_is_refused_with_the_file_named(librarian: Librarian, name: bytes) -> None:
    folder = librarian.write(a="a")
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")
    outcome = librarian("deposit", str(folder), "--title", "T")
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (1, "", 1)
    assert ascii(os.fsdecode(name))[1:4] in outcome.err
    assert not (librarian.command.data / "store").exists()


def test_a_link_is_refused_with_the_file_named(librarian: Librarian) -> None:
    folder = librarian.write(a="a")
    (folder / "link.txt").symlink_to("/etc/passwd")
    outcome = librarian("deposit", str(folder), "--title", "T")
    assert (outcome.code, "link.txt" in outcome.err) == (1, True)
    assert librarian("deposit", str(folder / "link.txt"), "--title", "T").code == 1


def test_hidden_files_and_empty_folders_are_left_out_with_a_word(librarian: Librarian) -> None:
    folder = librarian.write(a="a")
    (folder / ".DS_Store").write_text("x")
    (folder / "for later").mkdir()
    outcome = librarian("deposit", str(folder), "--title", "T", "--json")
    assert ".DS_Store" in outcome.err
    assert "because empty" in outcome.err
    assert "for later" in outcome.err
    assert len(librarian.show(json.loads(outcome.out)["rep"])["files"]) == 1
    taken = librarian.json("deposit", str(folder), "--title", "T", "--hidden")
    assert len(librarian.show(taken["rep"])["files"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["deposit", "--title", "T"], 2),
        (["deposit", "folder", "--url", "http://example.org/", "--title", "T"], 2),
        (["deposit", "folder"], 1),
        (["deposit", "nowhere", "--title", "T"], 1),
        (["deposit", "folder", "--title", "T", "--target", "b.txt"], 1),
        (["deposit", "folder", "--title", "T", "--edition-of", "not a label"], 1),
        (["deposit", "folder", "--title", "T", "--embargo", "tomorrow"], 1),
        (["deposit", "folder", "--title", "T", "--allow", "150.163.0.1/16"], 1),
        (["deposit", "folder", "--title", "T", "--language", "xx"], 1),
        (["deposit", "folder", "--title", "T", "--creator", "Ana <0000-0000-0000-0000>"], 1),
        (["deposit", "folder", "--title", "T", "--server", "http://127.0.0.1:1"], 1),
        (["show", "localhost/ibi.8765/2026/01.01.00.00"], 1),
        (["verify"], 1),
        (["rebuild"], 1),
        (["relate", "localhost/ibi.8765/2026/01.01.00.00"], 2),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(librarian: Librarian, arguments: list[str], code: int) -> None:
    librarian.write(a="a")
    outcome = librarian(*arguments)
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (code, "", 1), outcome
    assert "unforeseen" not in outcome.err
    assert not list(librarian.command.data.glob("store/*/*"))


def test_asking_again_with_a_key_gets_the_same_item(librarian: Librarian) -> None:
    folder = librarian.write(a="a")
    one = librarian.json("deposit", str(folder), "--title", "T", "--key", "k")
    assert librarian.json("deposit", str(folder), "--title", "T", "--key", "k") == one


def test_the_command_works_beside_a_running_server(librarian: Librarian) -> None:
    folder = librarian.write(a="a")
    with librarian.command.up(**IDENTITY):
        made = librarian.json("deposit", str(folder), "--title", "T")
        assert librarian.show(made["rep"])["state"] == "Original"


@pytest.mark.parametrize("written", ["2027-13-01", "tomorrow", "2027-01-01 12:00"])
def test_a_date_that_is_none_is_quoted_as_it_was_written(librarian: Librarian, written: str) -> None:
    folder = librarian.write(a="a")
    outcome = librarian("deposit", str(folder), "--title", "T", "--embargo", written)
    assert (outcome.code, f"'{written}' is not a date" in outcome.err) == (1, True)


def test_a_name_is_the_same_in_composed_and_decomposed_letters(librarian: Librarian) -> None:
    folder = librarian.write(**{"a": "a", "b": "b", unicodedata.normalize("NFD", "ação"): "c"})
    name = "ação.txt"
    made = librarian.json("deposit", str(folder), "--title", "T", "--target", name)
    assert librarian.show(made["rep"])["target"] == unicodedata.normalize("NFD", name)
    assert librarian.json("update", made["rep"], "--remove", name)["removed"] == [unicodedata.normalize("NFD", name)]


def test_an_update_that_changes_nothing_is_no_update(librarian: Librarian) -> None:
    made = librarian.json("deposit", str(librarian.write(a="a")), "--title", "T")
    outcome = librarian("update", made["rep"], "--message", "why")
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (2, "", 1)
    assert librarian.show(made["rep"])["version"] == 1


def test_the_status_of_an_archive_that_was_not_begun_begins_none(librarian: Librarian) -> None:
    assert librarian.json("archive", "status")["begun"] is False
    assert "ibi archive init" in librarian("archive", "status").out
    assert not librarian.command.data.exists()


def test_a_rebuild_tells_of_what_is_not_in_the_store_any_more(librarian: Librarian) -> None:
    folder = librarian.write(a="a")
    made, other = (librarian.json("deposit", str(folder), "--title", title) for title in "TU")
    shutil.rmtree(librarian.place(made["rep"]))
    outcome = librarian("rebuild")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "The catalogue has 1 items.")
    assert outcome.out.splitlines()[1].startswith("1 that it had")
    assert librarian("show", other["rep"]).code == 0


def test_a_file_that_lost_bytes_is_not_given_as_if_it_were_whole(librarian: Librarian) -> None:
    made = librarian.json("deposit", str(librarian.write(a="a" * 100)), "--title", "T")
    (librarian.place(made["rep"]) / "v1" / "content" / "doc" / "a.txt").write_text("a" * 40)
    with librarian.command.up(**IDENTITY) as (_, url), pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}/col/{made['rep']}/doc/a.txt", timeout=60)
    with refused.value as answer:
        assert answer.code == 500


def test_the_archives_own_item_leads_to_where_the_archive_is(librarian: Librarian) -> None:
    librarian("archive", "init", IBI_PUBLIC_URL="http://before.example.org")
    service = librarian.json("archive", "status")["rep"]
    assert librarian.json("show", service)["url"] == "http://before.example.org/"
    with librarian.command.up(**IDENTITY, IBI_PUBLIC_URL="https://after.example.org"):
        assert librarian.json("show", service)["url"] == "https://after.example.org/"
    librarian("update", service, "--url", "https://www.example.org/about")
    with librarian.command.up(**IDENTITY, IBI_PUBLIC_URL="http://before.example.org"):
        assert librarian.json("show", service)["url"] == "https://www.example.org/about"


def test_a_strange_name_in_the_store_moves_no_cursor_and_breaks_no_json(librarian: Librarian) -> None:
    made = librarian.json("deposit", str(librarian.write(a="a")), "--title", "T")
    place = os.fsencode(librarian.place(made["rep"]))
    for name in (b"caf\xe9", b"two\nlines", b"red\x1b[31m"):
        Path(os.fsdecode(place + b"/" + name)).touch()
    told = librarian("verify")
    assert (told.code, len(told.out.splitlines()), "\x1b" in told.out) == (1, 4, False)
    lines = [json.loads(line) for line in librarian("verify", "--json").out.splitlines()]
    assert [line["path"] for line in lines[:-1]] == ["caf\udce9", "red\x1b[31m", "two\nlines"]


@pytest.mark.parametrize("creator", ["Ana <0000-0002-1825-0097", "<0000-0002-1825-0097>", "Ana 0000-0002-1825-0097>"])
def test_an_orcid_that_was_mistyped_does_not_become_a_name(librarian: Librarian, creator: str) -> None:
    outcome = librarian("deposit", str(librarian.write(a="a")), "--title", "T", "--creator", creator)
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (1, "", 1)


def test_what_is_described_is_shown(librarian: Librarian) -> None:
    creators = ("--creator", "Ana Ávila <0000-0002-1825-0097>", "--creator", "João")
    named = ("--alternate", "doi:10.1000/182", "--embargo", "2999-01-01", "--embargo-reason", "A patent.")
    made = librarian.json(
        *("deposit", str(librarian.write(a="a")), "--title", "T", *creators, "--type", "dataset", "--type", "mapa"),
        *named,
    )
    shown = librarian("show", made["rep"]).out
    assert "Ana Ávila <0000-0002-1825-0097>; João" in shown
    assert "doi:10.1000/182" in shown
    assert "until 2999-01-01T00:00:00Z: A patent." in shown
    item = librarian.show(made["rep"])["metadata"]
    assert (item["resource_type"], [each["value"] for each in item["type"]]) == ("Dataset", ["mapa"])
