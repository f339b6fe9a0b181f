"""What can be wrong with a cluster's metadata.

    MetadataError
    ├── CorruptMetadataError      the log or a snapshot contradicts itself or cannot be read
    ├── UnsupportedMetadataError  valid, but not for this version or for a single node: nothing was changed
    └── StaleMetadataError        a proposal was made for an image that is no longer the newest

The first two stop the start of the broker with a sentence that says what to do; they never reach a client.
"""


class MetadataError(Exception):
    """Root of the errors of this package that are not answers to a client."""


class CorruptMetadataError(MetadataError):
    """The metadata log or a snapshot cannot be read to its end, or its records contradict each other."""


class UnsupportedMetadataError(MetadataError):
    """The metadata is whole, but this version of odradek must not serve it."""


class StaleMetadataError(MetadataError):
    """Somebody else changed the metadata after the proposer had looked at it."""
