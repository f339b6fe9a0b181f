"""Names of profiles for the completion of a shell; a module of its own, since options have to know it."""

from __future__ import annotations

import os
from collections.abc import Sequence


def profile_names(incomplete: str) -> Sequence[str]:
    """Return the profiles that a word may become; none where they cannot be read."""
    from odradek.cluster.profiles import Profiles, configuration_directory  # only where a shell completes

    try:
        return [name for name in Profiles(configuration_directory(os.environ)).names() if name.startswith(incomplete)]
    except OSError:
        return []
