"""Security headers of deposited files, which decide whether a browser shows a file or saves it.

Each file is confined to an origin of its own, without scripts, forms and plugins (CSP `sandbox`). Browsers must not
guess another type (`nosniff`, which every answer has). A PDF does not open inside a sandbox and needs none: browsers
show it in a program with another origin, and any scripts of the PDF run inside that program. Types that browsers pass
to other programs are for saving.
"""

from __future__ import annotations

import re

from ibi.archive.rules.profile import encoded_path
from ibi.items.model.file import DEFAULT_MEDIA_TYPE, is_media_type
from ibi.web.request import RawHeaders, values

SANDBOX = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " font-src 'self' data:; frame-src 'self'; form-action 'none'; base-uri 'none'"
)
"""Shows an old Web page with its pictures, styles and frames, all from this host, without running any script."""

PDF = "application/pdf"
_FOR_PDF = (
    "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none';"
    " frame-ancestors 'self' {pages}"
)
"""The style is the viewer's own. Only pages of this site may show it in a frame."""
_SHOWN = re.compile(
    r"text/(?:html|xml|plain|csv|css|markdown|x-bibtex)|application/(?:json|xml|xhtml\+xml|ld\+json)"
    r"|[a-z]+/[a-z0-9.-]+\+xml|image/(?:avif|bmp|gif|jpeg|png|tiff|webp)|audio/[a-z0-9.+-]+|video/[a-z0-9.+-]+"
)
_RUN = frozenset({"audioworklet", "paintworklet", "script", "serviceworker", "sharedworker", "worker"})
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._ -]+")


def safety_headers(media_type: str, path: str, *, pages: str) -> dict[str, str]:
    """Return the headers sent with the bytes of a file. `pages` is the origin of this site's pages."""
    kind = media_type.partition(";")[0].strip()
    essence = kind.lower()
    if essence == PDF:
        # No sandbox here, so the type has no parameters that could make a browser choose another type.
        return {"content-type": PDF, "content-security-policy": _FOR_PDF.format(pages=pages)}
    sent = media_type if is_media_type(media_type) else kind
    headers = {"content-type": sent or DEFAULT_MEDIA_TYPE, "content-security-policy": SANDBOX}
    if not _SHOWN.fullmatch(essence):
        headers["content-disposition"] = _attachment(path)
    return headers


def attachment_headers(media_type: str, path: str) -> dict[str, str]:
    """Return the headers of a file that is saved and never shown, for any type."""
    sent = media_type if is_media_type(media_type) else DEFAULT_MEDIA_TYPE
    return {
        "content-type": sent,
        "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
        "content-disposition": _attachment(path),
    }


def is_to_run(headers: RawHeaders) -> bool:
    """Return whether a browser fetches a file to run it, as a page's script or as a service worker.

    No document of this server may have scripts. The pages load scripts from this host, and must never load a
    depositor's.
    """
    wanted = values(headers, b"sec-fetch-dest")
    return bool(values(headers, b"service-worker")) or any(each.strip().lower() in _RUN for each in wanted)


# RFC 6266: filename for old programs, filename* (RFC 8187) for all others
def _attachment(path: str) -> str:
    name = path.rpartition("/")[2]
    plain = name if _PLAIN_NAME.fullmatch(name) else "file"
    encoded = re.sub(r"[^A-Za-z0-9\-._~%]", lambda sign: f"%{ord(sign[0]):02X}", encoded_path(name))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
