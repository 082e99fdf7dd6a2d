"""The pages that have an address of their own, and what they are made of."""

from __future__ import annotations

from starlette.routing import Route

from ibi.web.pages.language_choice import choose_language
from ibi.web.pages.static import static_file

__all__ = ["common_routes"]


def common_routes() -> list[Route]:
    """What every page needs, whichever services there are."""
    return [
        Route("/static/{name}", static_file),
        Route("/language/{tag}", choose_language),
    ]
