"""Names that public dashboards of Kafka ask for and that there is nothing to say of here, each with the reason."""

from collections.abc import Mapping
from typing import Final

NOT_THERE: Final[Mapping[str, str]] = {}
"""By name, or by a beginning of names that ends in `*`."""
