"""Members of consumer groups in processes of their own, so that a test can end them as it likes."""

from tests.integration.groups.members import (
    BROKER_SETTINGS,
    NOW_MS,
    Command,
    Member,
    MemberSettings,
    Reports,
    python_command,
    settled,
)

__all__ = ["BROKER_SETTINGS", "NOW_MS", "Command", "Member", "MemberSettings", "Reports", "python_command", "settled"]
