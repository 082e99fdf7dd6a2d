"""Every error that a page can show is translated: its sentence, and the clauses in it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ibi.web.pages
from ibi.archive.life_cycle import REFUSALS, Act
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.search import CollectionSearch, InvalidCollection, ItemCollection
from ibi.web.pages.error_words import CLAUSES, ERROR_WORDS
from ibi.web.pages.people_admin import _PROBLEMS
from ibi.web.pages.reader import PAGE_LANGUAGES, translations
from tests.support.raised_errors import error_classes

TRANSLATED = PAGE_LANGUAGES[1:]

BY_CODE = frozenset(_PROBLEMS) | {
    *("bad-sign-in", "too-many-guesses", "weak-password", "person-exists", "code-needed"),
    *("provider-away", "provider-busy", "provider-refused", "unknown-identity", "identity-taken"),
    *("too-many-tokens", "too-many-tokens-made", "invalid-token-name", "invalid-scope", "beyond-role"),
}
"""Pages have words of their own for these, by their code."""
WITHOUT_WORDS = {
    "invalid-field",
    "invalid-request",
    "invalid-comment",
    "invalid-input",
    "act-refused",
    "harvest-refused",
}
"""Their sentence is made of what it is given."""
FOR_PROGRAMS = {
    # members, headers and parameters of requests that forms do not send
    *("invalid-member", "invalid-parameter", "member-missing", "unknown-member", "malformed-body", "invalid-digest"),
    *("invalid-idempotency-key", "idempotency-conflict", "invalid-count", "invalid-granularity", "invalid-pairs"),
    *("relations-of-item", "epoch-ended", "checksum-mismatch", "tus-version", "digest-mismatch", "upload-offset"),
    *("upload-too-long", "invalid-expiry", "token-exists", "unknown-account"),
    # the protocol between Archives and resolvers, with its keys, feeds and notifications
    *("invalid-message", "missing-pair", "missing-subject", "repeated-pair", "unknown-subject", "invalid-notification"),
    *("invalid-provenance", "invalid-key", "invalid-statement", "signature-missing", "signature-refused"),
    *("key-refused", "too-many-attempts", "hashing-busy", "register-missing", "register-refused", "unknown-stage"),
    *("too-many-offers", "inbox-full", "item-not-claimable", "notification-conflict", "sandbox-claim"),
    *(
        "peer-refused-token",
        "too-many-notifications",
        "not-lost",
        "original-not-given",
        "source-away",
        "source-unusable",
        "feed-begun-again",
    ),
    # what became of single items of a job, which its page shows as it was noted
    *("copies-too-large", "copy-has-too-many-files", "copy-too-large", "not-the-original", "original-deleted"),
    *("sandbox-item", "wrong-object", "wrong-digest", "source-cut", "source-gone"),
    # follows and webhooks, which pages list and do not change
    *("invalid-follow", "invalid-webhook", "follows-itself", "insecure-source", "too-many-webhooks"),
    *("unknown-at-source", "unknown-follow", "unknown-webhook", "unusable-source-token"),
}


def template_of(kind: type[IbiError]) -> str:
    return " ".join((kind.__doc__ or kind.code).split())


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_error_that_a_page_can_show_is_translated(language: str) -> None:
    gettext = translations(language).gettext
    skipped = BY_CODE | WITHOUT_WORDS | FOR_PROGRAMS | {"error"}
    missing = {
        kind.code: template_of(kind)
        for kind in error_classes()
        if kind.code not in skipped and kind.kind.is_told and gettext(template_of(kind)) == template_of(kind)
    }
    assert missing == {}


def test_every_sentence_that_is_marked_is_that_of_an_error() -> None:
    assert set(ERROR_WORDS) - {template_of(kind) for kind in error_classes()} == set()


def test_codes_for_programs_are_codes_of_errors() -> None:
    known = {kind.code for kind in error_classes()}
    assert (BY_CODE | WITHOUT_WORDS | FOR_PROGRAMS) - known == set()


def test_every_refusal_of_an_act_is_marked() -> None:
    assert {act.value for act in Act} | {reason for _, reason in REFUSALS.values()} <= set(CLAUSES)


@pytest.mark.parametrize("language", TRANSLATED)
def test_an_act_that_is_refused_is_told_in_one_language(language: str) -> None:
    gettext = translations(language).gettext
    for (_, act), (kind, reason) in REFUSALS.items():
        said = kind(label="a/b", act=act.value, reason=reason).message(gettext)
        assert act.value not in said
        assert reason not in said


WRONG: tuple[dict[str, object], ...] = (
    {"name": "A B"},
    {"name": "new"},
    {"title": " "},
    {"title": "x" * 1000},
    {"description": "a\x00b"},
    {"search": CollectionSearch()},
    {"search": CollectionSearch(text="x" * 2000)},
)


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("wrong", WRONG)
def test_every_fault_of_a_collection_is_translated(language: str, wrong: dict[str, object]) -> None:
    right: dict[str, object] = {"name": "a", "title": "A", "created": Instant(0), "changed": Instant(0)}
    with pytest.raises(InvalidCollection) as refused:
        ItemCollection(**{**right, **wrong})  # type: ignore[arg-type]
    error, gettext = refused.value, translations(language).gettext
    assert error.clause("reason", gettext) != error.clause("reason")
    assert error.clause("reason") not in error.message(gettext)


@pytest.mark.parametrize("module", sorted(Path(ibi.web.pages.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_no_page_shows_an_error_as_it_stands(module: Path) -> None:
    """`str(error)` is English: for logs alone."""
    for call in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and not ast.unparse(call.func).startswith("_LOG."):
            values = [*call.args, *(each.value for each in call.keywords)]
            assert not [each for each in values if "str(error)" in ast.unparse(each)], ast.unparse(call)
