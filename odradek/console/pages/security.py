"""Who may connect, what they may do and how much they may take: ACLs, users, quotas."""

from __future__ import annotations

from starlette.responses import Response

from odradek.console.page import ConsolePage
from odradek.console.pages import security_acls, security_quotas, security_users
from odradek.console.routes import view
from odradek.console.visit import Visit


def begin(visit: Visit) -> Response:
    """Go to the first of them."""
    return visit.go(security_acls.PATH)


PAGE = ConsolePage(
    "Security",
    "/security",
    [view("/security", begin), *security_acls.ROUTES, *security_users.ROUTES, *security_quotas.ROUTES],
)
