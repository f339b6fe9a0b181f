"""Plays a scenario against one broker and keeps the answers that are to be compared."""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from tests.interop.differential.normalise import Comparable, normalise
from tests.support.wire import ConnectionClosedError, Message, UndecodableError, WireClient

READY_TIMEOUT_S = 60
ANSWER_TIMEOUT_S = 8.0
PAUSE_S = 0.02

STOPPED = "the scenario stopped"
"""Answer that stands for all that could not be asked."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request whose answer is compared under a label that is unique within the scenario."""

    label: str
    api: str
    version: int
    fields: Mapping[str, object] = field(default_factory=dict)
    view: Callable[[Message], Message] = dict
    """What of the answer is compared, where it holds what each broker makes for itself."""

    @property
    def name(self) -> str:
        """What the answer is compared under."""
        return f"{self.label}: {self.api} v{self.version}"


@dataclass(frozen=True, slots=True)
class Until:
    """A request that is repeated until its answer is as wanted; a part of the preparation, not compared."""

    api: str
    version: int
    fields: Mapping[str, object]
    ready: Callable[[Message], bool]


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes sent as one frame; compared is whether and with how many bytes the broker answers."""

    label: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Tell:
    """A request that is not answered."""

    api: str
    version: int
    fields: Mapping[str, object]


Step = Ask | Until | Frame | Tell
Steps = Generator[Step, Message, None]
"""A scenario yields steps and is sent each answer back; an empty one where the broker closed the connection."""
Scenario = Callable[[], Steps]


class NeverReadyError(Exception):
    """A broker did not come to the state that the scenario starts from."""


def play(scenario: Scenario, port: int) -> dict[str, Comparable]:
    """Return the normalised answers of one broker by label."""
    answers: dict[str, Comparable] = {}
    steps = scenario()
    with WireClient(port, ANSWER_TIMEOUT_S) as wire:
        try:
            step = next(steps)
            while True:
                step = steps.send(_carry_out(step, wire, answers))
        except StopIteration:
            return answers
        except NeverReadyError as error:
            answers[STOPPED] = str(error)
            return answers


def _carry_out(step: Step, wire: WireClient, answers: dict[str, Comparable]) -> Message:
    match step:
        case Ask():
            assert step.name not in answers, f"two requests are named {step.name!r}"
            answer, answers[step.name] = _ask(step, wire)
            return answer
        case Until():
            return _wait(step, wire)
        case Frame():
            assert step.label not in answers, f"two frames are named {step.label!r}"
            answers[step.label] = _send(step, wire)
            return {}
        case Tell():
            wire.send(step.api, step.version, **step.fields)
            return {}


def _ask(step: Ask, wire: WireClient) -> tuple[Message, Comparable]:
    try:
        answer = wire.ask(step.api, step.version, **step.fields)
    except ConnectionClosedError:
        return {}, "connection closed"
    except UndecodableError as error:
        wire.close()
        return {}, f"undecodable: {error}"
    return answer, normalise(step.view(answer))


def _send(step: Frame, wire: WireClient) -> Comparable:
    try:
        wire.send_frame(step.data)
        return f"{len(wire.receive_frame())} bytes"
    except ConnectionClosedError:
        return "connection closed"


def _wait(step: Until, wire: WireClient) -> Message:
    deadline = time.monotonic() + READY_TIMEOUT_S
    answer: Message = {}
    while time.monotonic() < deadline:
        try:
            answer = wire.ask(step.api, step.version, **step.fields)
            if step.ready(answer):
                return answer
        except (ConnectionClosedError, UndecodableError):
            wire.close()
        time.sleep(PAUSE_S)
    raise NeverReadyError(f"{step.api} v{step.version} never answered as wanted, last {answer}")
