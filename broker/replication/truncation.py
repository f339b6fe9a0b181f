"""Where a follower cuts its log that has gone another way than its leader's. Pure (KIP-101, KIP-279, KIP-595)."""

from collections.abc import Callable

from odradek.storage.checkpoints.leader_epochs import UNDEFINED, EpochEnd


def truncation_point(log_end_offset: int, own_end_of: Callable[[int], EpochEnd], leader: EpochEnd) -> int:
    """Return the offset from which on nothing is to stay, at most the end of the log.

    `leader` is the largest epoch of the leader that is not after the last one here, and where it ends there;
    `own_end_of` says the same of an epoch here. Both logs are equal at most up to there: where this replica does not
    have the leader's epoch, up to the end of the one before it here, and what is then the last epoch is compared again.
    """
    if leader.end_offset == UNDEFINED:
        return log_end_offset
    if leader.epoch == UNDEFINED:
        return min(leader.end_offset, log_end_offset)
    own = own_end_of(leader.epoch)
    if own.end_offset == UNDEFINED:
        return min(leader.end_offset, log_end_offset)
    if own.epoch == leader.epoch:
        return min(own.end_offset, leader.end_offset, log_end_offset)
    return min(own.end_offset, log_end_offset)
