"""Bodies of items deposited whole, as a client sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

EDGE = "edge-of-parts"
FORM = {"content-type": f"multipart/form-data; boundary={EDGE}"}
SAID: dict[str, object] = {"metadata": {"title": "Uma tese"}}

Files = Mapping[str, bytes]


def item_part(said: object = None) -> bytes:
    body = json.dumps(SAID if said is None else said).encode()
    return part('form-data; name="item"', body, "Content-Type: application/json")


def file_part(path: str, content: bytes, *headers: str) -> bytes:
    return part(f'form-data; name="file"; filename="{path}"', content, *headers)


def part(disposition: str, content: bytes, *headers: str) -> bytes:
    lines = [f"--{EDGE}", f"Content-Disposition: {disposition}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{EDGE}--\r\n".encode()


def item_form(files: Files, said: object = None) -> bytes:
    return batch_form([(said, files)])


def batch_form(items: Sequence[tuple[object, Files]]) -> bytes:
    parts = []
    for said, files in items:
        parts.append(item_part(said))
        parts += [file_part(path, content) for path, content in files.items()]
    return form(*parts)
