"""`odradek partitions reassign`: plan, execute, verify, cancel, list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from odradek.cli.arguments import broker_ids
from odradek.cli.command import group, online
from odradek.cluster.assignment_file import assignment_json, read_assignment, write_assignment
from odradek.cluster.connection import ClusterClients
from odradek.cluster.moving import MoveState, copied
from odradek.cluster.offsets import Partition
from odradek.cluster.placement import Assignment, balanced
from odradek.cluster.reassignments import alter_reassignments
from odradek.cluster.topology import describe_brokers, describe_partitions, list_reassignments
from odradek.commands.reassigning import (
    Move,
    NoWait,
    Throttle,
    begin,
    end_throttles,
    move_of,
    replicas_before,
    states_of,
    wait,
)
from odradek.documents import partitions as documents
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural, size_text
from odradek.terminal.output import CommandOutput

app = group("reassign", "Move partitions to other brokers: plan, execute, verify, cancel, list.")

Plan = Annotated[Path, Argument(metavar="FILE", help="A plan, as `plan --save` and Kafka's own tool write it.")]
KeepThrottles = Annotated[bool, Option("--keep-throttles", help="Leave throttles as they are at the end.")]


@online(
    app,
    "plan",
    document=documents.PLANNED,
    examples="""\
    odradek partitions reassign plan --save plan.json
    odradek partitions reassign plan orders audit --brokers 1,2,4 --save plan.json
    odradek partitions reassign plan orders --replication-factor 3 --json > plan.json""",
)
def plan(
    cluster: ClusterClients,
    output: CommandOutput,
    topics: Annotated[
        list[str] | None, Argument(metavar="[TOPIC...]", help="Topics to spread out; all if none.")
    ] = None,
    brokers: Annotated[
        str | None,
        Option("--brokers", metavar="1,2,3", help="Who is to have them; all that are not fenced if not given."),
    ] = None,
    replication_factor: Annotated[
        int | None, Option("--replication-factor", "-r", min=1, help="Replicas of each; as many as now if not given.")
    ] = None,
    save: Annotated[Path | None, Option("--save", metavar="FILE", help="Write the plan there.")] = None,
    save_current: Annotated[
        Path | None, Option("--save-current", metavar="FILE", help="Write what is so far there, as the way back.")
    ] = None,
) -> None:
    """Plan how partitions are spread evenly over brokers, with as few moves as there can be; changes nothing.

    Every partition is in as many racks as it can be, brokers get the same number of replicas and lead as many
    partitions as far as racks allow. The plan holds what is to change. Its JSON is that of Kafka's own
    kafka-reassign-partitions.
    """
    known = describe_brokers(cluster.requests)
    wanted = known.live.keys() if brokers is None else broker_ids(brokers, "--brokers")
    racks = {number: known.brokers[number].rack for number in sorted(wanted) if number in known.brokers}
    if missing := sorted(set(wanted) - racks.keys()):
        raise CommandError(
            f"there is no broker {', '.join(map(str, missing))}; `odradek cluster status` shows those there are"
        )
    states = describe_partitions(cluster.requests, topics)
    current = {each.key: replicas_before(each) for each in states}
    target = balanced(current, racks, replication_factor)
    changed = {key: replicas for key, replicas in target.items() if replicas != current[key]}
    if save_current is not None:
        write_assignment(save_current, {key: current[key] for key in changed})
    if save is not None:
        write_assignment(save, changed)
    if output.json:
        output.document(assignment_json(changed))
        return
    _show(output, current, changed)
    if not changed:
        output.note("the partitions are spread evenly already")
    elif save is not None:
        output.note(f"`odradek partitions reassign execute {save}` carries it out")


@online(
    app,
    "execute",
    document=documents.EXECUTED,
    examples="""\
    odradek partitions reassign execute plan.json
    odradek partitions reassign execute plan.json --throttle 50000000""",
)
def execute(
    cluster: ClusterClients,
    output: CommandOutput,
    file: Plan,
    throttle: Throttle = None,
    additional: Annotated[
        bool, Option("--additional", help="Also while other partitions move, or these to other brokers.")
    ] = False,
    no_wait: NoWait = False,
    keep_throttles: KeepThrottles = False,
) -> None:
    """Move partitions as a plan says, and wait until they are there.

    A replica for which the plan has a path in "log_dirs" goes to that log directory of its broker. With --throttle the
    brokers get a rate and the topics the replicas that it holds for; both are taken away at the end. The same plan
    again, with another --throttle, changes the rate of a move that runs.
    """
    move = _move(cluster, file)
    if not additional:
        _refuse_others(cluster, move)
    begin(cluster, output, move, throttle)
    cleared = False
    if not no_wait:
        wait(cluster, output, move, f"`odradek partitions reassign verify {file}` looks after it")
        if throttle is not None and not keep_throttles:
            cleared = end_throttles(cluster, move.topics)
    states = states_of(cluster, move)
    if output.json:
        rows = [
            {
                "topic": topic,
                "partition": number,
                "before": list(move.before[topic, number]),
                "replicas": list(replicas),
                "state": states[topic, number].value if (topic, number) in states else None,
            }
            for (topic, number), replicas in sorted(move.target.items())
        ]
        output.document({"partitions": rows, "throttles_cleared": cleared})
    else:
        done = sum(each is MoveState.DONE for each in states.values())
        output.line(f"{done} of {plural(len(move.target), 'partition')} moved")


@online(
    app,
    "verify",
    document=documents.VERIFIED,
    examples="""\
    odradek partitions reassign verify plan.json
    odradek partitions reassign verify plan.json --wait""",
)
def verify(
    cluster: ClusterClients,
    output: CommandOutput,
    file: Plan,
    wait_for_it: Annotated[bool, Option("--wait", help="Until nothing of it moves any more.")] = False,
    keep_throttles: KeepThrottles = False,
) -> None:
    """See whether partitions are where a plan wants them; once nothing moves any more, throttles are taken away.

    Exit code 1 where a partition is still on its way, or has other replicas.
    """
    move = _move(cluster, file)
    if wait_for_it:
        wait(cluster, output, move, "the same command looks after it again")
    states = states_of(cluster, move)
    cleared = False if keep_throttles else end_throttles(cluster, move.topics)
    if output.json:
        rows = [
            {"topic": topic, "partition": number, "state": state.value}
            for (topic, number), state in sorted(states.items())
        ]
        output.document({"partitions": rows, "throttles_cleared": cleared})
    else:
        output.table(["TOPIC", ">PARTITION", "STATE"], [[*key, state.value] for key, state in sorted(states.items())])
        if cleared:
            output.note("throttles are taken away")
        elif not keep_throttles:
            output.note("throttles stay: partitions of the cluster are still on their way")
    if left := sum(each is not MoveState.DONE for each in states.values()):
        raise CommandError(f"{left} of {plural(len(states), 'partition')} not where the plan wants them")


@online(
    app,
    "cancel",
    document=documents.CANCELLED,
    examples="odradek partitions reassign cancel\nodradek partitions reassign cancel plan.json",
)
def cancel(
    cluster: ClusterClients,
    output: CommandOutput,
    file: Annotated[
        Path | None, Argument(metavar="[FILE]", help="A plan; all that is on its way if none.", show_default=False)
    ] = None,
    keep_throttles: KeepThrottles = False,
) -> None:
    """Call off what is on its way: partitions keep the replicas that they had. Throttles are taken away."""
    ongoing = list_reassignments(cluster.requests)
    planned = ongoing.keys() if file is None else read_assignment(file).replicas.keys()
    wanted: list[Partition] = sorted(ongoing.keys() & planned)
    refused = alter_reassignments(cluster.requests, dict.fromkeys(wanted))
    cleared = False if keep_throttles else end_throttles(cluster, sorted({topic for topic, _ in planned}))
    if output.json:
        rows = [
            {"topic": topic, "partition": number, "error": refused.get((topic, number))} for topic, number in wanted
        ]
        output.document({"partitions": rows, "throttles_cleared": cleared})
    elif wanted:
        output.table(["TOPIC", ">PARTITION", "MOVE"], [[*key, refused.get(key, "called off")] for key in wanted])
    else:
        output.note("nothing is on its way")
    if refused:
        raise CommandError(f"{len(refused)} of {plural(len(wanted), 'move')} could not be called off")


@online(app, "list", document=documents.LISTED, examples="odradek partitions reassign list")
def list_ongoing(cluster: ClusterClients, output: CommandOutput) -> None:
    """List the partitions that are on their way to other brokers, and how much of each has been copied."""
    ongoing = list_reassignments(cluster.requests)
    states = describe_partitions(cluster.requests, sorted({topic for topic, _ in ongoing}))
    leaders = {each.key: each.leader for each in states if each.leader is not None}
    addresses = {number: each.address for number, each in describe_brokers(cluster.requests).live.items()}
    far = copied(cluster.requests, addresses, leaders, ongoing)
    rows = [
        {
            "topic": key[0],
            "partition": key[1],
            "replicas": list(each.replicas),
            "adding": list(each.adding),
            "removing": list(each.removing),
            "copied_bytes": far[key].copied,
            "total_bytes": far[key].total,
        }
        for key, each in sorted(ongoing.items())
    ]
    if output.json:
        output.document({"partitions": rows})
    elif rows:
        output.table(
            ["TOPIC", ">PARTITION", "REPLICAS", "ADDING", "REMOVING", ">COPIED", ">OF"],
            [
                [
                    *key,
                    _text(each.replicas),
                    _text(each.adding),
                    _text(each.removing),
                    size_text(far[key].copied),
                    size_text(far[key].total),
                ]
                for key, each in sorted(ongoing.items())
            ],
        )
    else:
        output.note("nothing is on its way")


def _move(cluster: ClusterClients, file: Path) -> Move:
    target, directories = read_assignment(file)
    if not target:
        raise CommandError(f"{file} has no partitions")
    states = describe_partitions(cluster.requests, sorted({topic for topic, _ in target}))
    return move_of(states, target, directories)


def _refuse_others(cluster: ClusterClients, move: Move) -> None:
    others = [key for key, each in list_reassignments(cluster.requests).items() if move.target.get(key) != each.target]
    if others:
        raise CommandError(
            f"{plural(len(others), 'partition')} on the way already, as `odradek partitions reassign list` shows; wait,"
            " call it off with cancel, or give --additional"
        )


def _show(output: CommandOutput, current: Assignment, changed: Assignment) -> None:
    if changed:
        rows = [[*key, _text(current[key]), _text(replicas)] for key, replicas in sorted(changed.items())]
        output.table(["TOPIC", ">PARTITION", "REPLICAS", "PLANNED"], rows)


def _text(brokers: tuple[int, ...]) -> str | None:
    return ",".join(map(str, brokers)) or None
