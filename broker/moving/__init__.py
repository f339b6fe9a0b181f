"""Replicas that move from one log directory of this node to another (AlterReplicaLogDirs, KIP-113, KIP-858)."""
