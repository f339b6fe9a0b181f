"""Users who log in with a password (SCRAM)."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from odradek.cluster.passwords import MAX_BYTES
from odradek.cluster.scram_users import delete_user, list_users, mechanisms_of, set_password
from odradek.console.pages.asking import told
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.protocol.scram import MECHANISM_BY_NAME, ScramMechanism
from odradek.terminal.errors import CommandError, WrongUsageError

PATH: Final = "/security/users"
ITERATIONS: Final = 8192
MOST_SHOWN: Final = 500


def show_users(visit: Visit) -> Response:
    """Show the users, and by which mechanisms each may log in."""
    with visit.cluster() as cluster:
        found = told(lambda: list_users(cluster))
    users = found.value or []
    return visit.page(
        "security_users.html",
        problem=found.problem,
        users=users[:MOST_SHOWN],
        found=len(users),
        mechanisms=list(reversed(MECHANISM_BY_NAME)),
    )


def set_user(visit: Visit) -> Response:
    """Make a user, or give one a new password; only a hash of it leaves this process."""
    name, password = visit.field("name").strip(), visit.field("password")
    mechanism = MECHANISM_BY_NAME.get(visit.field("mechanism"))
    if not name or mechanism is None:
        raise WrongUsageError(f"say who, and by which of {', '.join(MECHANISM_BY_NAME)} he is to log in")
    if not password or len(password.encode()) > MAX_BYTES:
        raise WrongUsageError(f"a password has 1 to {MAX_BYTES} bytes")
    if password != visit.field("again"):
        raise WrongUsageError("the two passwords are not the same; nothing was changed")
    with visit.cluster() as cluster:
        set_password(cluster, name, password, [mechanism], ITERATIONS)
    return visit.go(PATH, f"user {name} may log in by {mechanism.sasl_name}; who is connected stays connected")


def remove_user(visit: Visit) -> Response:
    """Delete a user whose name was typed."""
    name = visit.field("name")
    if not name or visit.field("typed") != name:
        raise WrongUsageError(f"the name was not typed as it is; user {name} is still there")
    with visit.cluster() as cluster:
        has = mechanisms_of(cluster, name)
        if not has:
            raise CommandError(f"there is no user {name} (any more)")
        mechanisms: list[ScramMechanism] = [MECHANISM_BY_NAME[one] for one in has if one in MECHANISM_BY_NAME]
        delete_user(cluster, name, mechanisms)
    return visit.go(PATH, f"user {name} is deleted; who is connected stays connected")


ROUTES: Final = (
    view(PATH, show_users),
    action(f"{PATH}/set", set_user),
    action(f"{PATH}/delete", remove_user),
)
