"""The instructions of the project's Dockerfile, read without Docker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, with its lines joined."""

    name: str
    arguments: str

    @property
    def words(self) -> list[str]:
        """The arguments: of a list in JSON, else the words."""
        return json.loads(self.arguments) if self.arguments.startswith("[") else self.arguments.split()


def read_stages(path: Path) -> dict[str, list[Instruction]]:
    """Return all instructions that make each stage, those of the stages that it is built on first."""
    stages: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        name, _, arguments = line.strip().partition(" ")
        if name == "FROM":
            base, _, stage = arguments.partition(" AS ")
            current = stages[stage] = list(stages.get(base, []))
        if name:
            current.append(Instruction(name, " ".join(arguments.split())))
    return stages


def last_of(stage: list[Instruction], name: str) -> Instruction | None:
    """Return the instruction of that name that counts."""
    return next((one for one in reversed(stage) if one.name == name), None)
