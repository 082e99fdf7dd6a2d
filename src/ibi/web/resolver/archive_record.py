"""Labels and Archives as JSON, the same in all answers of a resolver."""

from __future__ import annotations

from collections.abc import Iterable

from ibi.messages.label_forms import LabelForms
from ibi.resolver.authority import ArchiveRef


def forms_record(forms: LabelForms) -> dict[str, str | None]:
    rep, ibip = forms.rep, forms.ibip
    return {"rep": None if rep is None else rep.spelling, "ibip": None if ibip is None else ibip.spelling}


def archive_record(archive: ArchiveRef) -> dict[str, object]:
    return {"address": archive.address, "ibi": forms_record(archive.service)}


def archive_records(archives: Iterable[ArchiveRef]) -> list[dict[str, object]]:
    return [archive_record(archive) for archive in archives]
