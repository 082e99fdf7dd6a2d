"""Operations that take a token, in the API's description: what is common to them, and how they may be refused."""

from __future__ import annotations

from typing import Any, Final

from ibi.web.openapi_parts import TEXT, refusal

_JSON: Final = "application/json"
_TOKEN: Final[list[dict[str, list[str]]]] = [{"token": []}]

BODY = {
    "400": refusal("The body cannot be understood; `field` names the member that is wrong."),
    "408": refusal("The body did not arrive in time."),
    "413": refusal("The body is too large."),
    "415": refusal("The body is not JSON as it stands."),
}
_CHALLENGE = {"description": "The scheme to authenticate with: Bearer.", "required": True, "schema": TEXT}
ALWAYS = {
    "401": refusal("The token is missing, wrong, expired or revoked.", WWW_Authenticate=_CHALLENGE),
    "403": refusal("The token's scope is too small, or nothing is changed through this server."),
    "500": refusal("Something went wrong here; the problem names the entry of the server's log."),
    "503": refusal("The store cannot be used at the moment, or the server is stopping."),
}
FULL = {"507": refusal("The disk is full. Nothing was changed, and nothing is lost.")}
NEARLY_FULL = {
    "507": refusal(
        "The disk is full, drafts would leave less of it free than the setting archive.disk_reserve, or yours would"
        " take more of it than archive.draft_share: discard drafts, or tell the administrator. Nothing was"
        " changed, and nothing is lost."
    )
}
UNKNOWN = {"404": refusal("There is no such draft, or it is not yours.")}
CONFLICT = {
    "409": refusal("This is not possible now: it is published, is being published, or was changed by somebody else.")
}
MANY = (
    "You have as many drafts as the setting archive.most_drafts lets one depositor have at a time: publish or discard"
    " one of them."
)
CHANGED = {"412": refusal("It is not as If-Match expects it.")}
NO_CONTENT = {"204": {"description": "It is gone."}}


def operation(
    name: str, summary: str, *parameters: dict[str, Any], body: object = None, **parts: dict[str, Any]
) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": name, "summary": summary, "security": _TOKEN}
    if parameters:
        described["parameters"] = list(parameters)
    if body is not None:
        described["requestBody"] = body
    return {**described, "responses": {**parts["answers"], **ALWAYS}}


def json_body(schema: dict[str, Any], *, required: bool, most: int) -> dict[str, Any]:
    return {
        "required": required,
        "description": f"At most {most} bytes.",
        "content": {_JSON: {"schema": schema}},
    }


def query(name: str, description: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "description": description, "schema": schema}
