"""A classic group under clients that come, go, crash and lie, with appends that fail and take their time.

Clients here often do what a client should do next. At other times they keep to no order: they join, sync, beat, commit
and leave with what they were told last or long ago, under each other's instance ids, while time passes and records are
written late or not at all. Whatever they do, the rules below hold after every step. A failure prints the steps, and the
blob that plays them again.
"""

from __future__ import annotations

from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.broker.coordinator.effects import TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.rebalance import JOIN_TIMER, SESSION, SYNC_TIMER
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    CommitRequest,
    JoinResult,
    LeavingMember,
    SupportedProtocol,
    SyncResult,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import GroupMetadataValue
from tests.property.records_strategies import examples
from tests.unit.broker.groups.classic_world import Request, World

RANGE, STICKY, MINE = (SupportedProtocol(name, name.encode()) for name in ("range", "sticky", "mine"))
CHANGED = SupportedProtocol("range", b"changed")
LIMITS = ClassicGroupLimits(max_size=4, initial_rebalance_delay_ms=3_000)
LONGEST_MS = 700_000
"""After so much time without a word from anybody no session, and no parked request, can be left."""

clients = st.integers(0, 5)
instances = st.sampled_from([None, None, "one", "two"])
choices = st.sampled_from([(RANGE,), (RANGE, STICKY), (STICKY, RANGE), (MINE, RANGE), (CHANGED, STICKY), (STICKY,), ()])
versions = st.sampled_from([0, 3, 4, 8, 9])
timeouts = st.sampled_from([6_000, 10_000, 45_000])


class Client:
    """What a client remembers."""

    def __init__(self) -> None:
        self.member_id = ""
        self.instance: str | None = None
        self.generation = -1
        self.leads = False
        self.synced = False
        self.protocols: tuple[SupportedProtocol, ...] = (RANGE, STICKY)
        self.pending: list[Request] = []


class ClassicGroupMachine(RuleBasedStateMachine):
    """The group, its clients, and what must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(LIMITS)
        self.clients = [Client() for _ in range(6)]
        self.highest_generation = 0
        self.ids: set[str] = set()
        self.leader_told: dict[int, str] = {}

    # What clients do.

    @rule(
        client=clients,
        instance=instances,
        protocols=choices,
        timeout=timeouts,
        version=st.sampled_from([0, 3, 4, 8, 9]),
    )
    def begin(
        self, client: int, instance: str | None, protocols: tuple[SupportedProtocol, ...], timeout: int, version: int
    ) -> None:
        """A client starts (again), without an id."""
        me = self.clients[client] = Client()
        me.instance = instance
        self._join(me, protocols, timeout, version)

    @rule(client=clients, protocols=choices, timeout=timeouts)
    def join_again(self, client: int, protocols: tuple[SupportedProtocol, ...], timeout: int) -> None:
        """A client joins with the id it has."""
        self._join(self.clients[client], protocols, timeout, 9)

    @rule(count=st.integers(1, 6), rounds=st.integers(1, 5), ms=st.sampled_from([0, 3_000]))
    def behave(self, count: int, rounds: int, ms: int) -> None:
        """Some clients do what a good client does next, a few times over."""
        for _ in range(rounds):
            for me in self.clients[:count]:
                self._hear()
                self._next_step(me)
                self.every_request_is_answered_at_most_once()
            self.world.pass_time(ms)
        self._hear()

    def _next_step(self, me: Client) -> None:
        if me.pending:
            return
        if me.generation < 0:
            self._join(me, me.protocols, 45_000, 9)
        elif not me.synced:
            made = {name: f"{me.generation} {name}".encode() for name in self.world.group.members} if me.leads else {}
            me.pending.append(self.world.sync(me.member_id, made, generation=me.generation, instance=me.instance))
        elif self.world.heartbeat(me.member_id, me.generation, me.instance) is not ErrorCode.NONE:
            me.generation = -1

    def _join(self, me: Client, protocols: tuple[SupportedProtocol, ...], timeout: int, version: int) -> None:
        me.protocols = protocols
        request = self.world.join(
            me.member_id,
            instance=me.instance,
            protocols=protocols,
            session_ms=timeout,
            rebalance_ms=2 * timeout,
            version=version,
        )
        me.pending.append(request)

    @rule(client=clients, names=st.integers(0, 6), old=st.booleans())
    def sync(self, client: int, names: int, old: bool) -> None:
        """A client asks for its assignment, and brings one for some of the members, whether it leads or not."""
        me = self.clients[client]
        generation = me.generation - old
        assignments = {
            member_id: f"{generation} {member_id}".encode() for member_id in list(self.world.group.members)[:names]
        }
        state = self.world.state
        request = self.world.sync(me.member_id, assignments, generation=generation, instance=me.instance)
        if generation != self.world.group.generation and state is not ClassicGroupState.EMPTY:
            assert request.synced.error is not ErrorCode.NONE, "an older generation was given an assignment"
        me.pending.append(request)

    @rule(client=clients, old=st.booleans())
    def heartbeat(self, client: int, old: bool) -> None:
        """A client says that it lives; only members of this generation are believed."""
        me, group = self.clients[client], self.world.group
        generation = me.generation - old
        error = self.world.heartbeat(me.member_id, generation, me.instance)
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            assert me.member_id in group.members
            assert generation == group.generation
            assert (error is ErrorCode.NONE) == (group.state is not ClassicGroupState.PREPARING_REBALANCE)

    @rule(client=clients, old=st.booleans(), transactional=st.booleans())
    def commit(self, client: int, old: bool, transactional: bool) -> None:
        """A client commits; only members of this generation, or anybody to an empty group, may."""
        me, group = self.clients[client], self.world.group
        generation = me.generation - old
        error, effects = group.commit(CommitRequest(me.member_id, me.instance, generation, transactional))
        self.world.carry_out(effects)
        if error is ErrorCode.NONE and group.state is not ClassicGroupState.EMPTY and me.member_id:
            assert (me.member_id in group.members, generation) == (True, group.generation)

    @rule(client=clients, other=clients)
    def leave(self, client: int, other: int) -> None:
        """Two clients leave with one request, or one twice."""
        leaving = (
            LeavingMember(self.clients[number].member_id, self.clients[number].instance) for number in (client, other)
        )
        self.world.leave(*leaving)

    @rule(instance=instances)
    def remove_instance(self, instance: str | None) -> None:
        """An administrator removes a static member."""
        self.world.leave(LeavingMember("", instance))

    # What the world does.

    @rule(ms=st.sampled_from([1, 500, 3_000, 5_999, 20_000]))
    def time_passes(self, ms: int) -> None:
        """Nobody says anything for a while."""
        self.world.pass_time(ms)

    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_COORDINATOR]))
    def appends_succeed_or_fail(self, error: ErrorCode) -> None:
        """From now on appends go well, or fail; once the group has a record, lest every run end there."""
        if self.world.log:
            self.world.append_error = error

    @precondition(lambda self: self.world.held is None and bool(self.world.log))
    @rule()
    def appends_become_slow(self) -> None:
        """Records are on their way for a while."""
        self.world.held = []

    @precondition(lambda self: self.world.held is not None)
    @rule()
    def appends_end(self) -> None:
        """What was on its way is written, or is not."""
        self.world.release()

    @precondition(lambda self: self.world.held is None and bool(self.world.log))
    @rule()
    def restart(self) -> None:
        """The broker stops and starts; the log decides what the group is."""
        world = self.world
        world.carry_out(world.group.unload(ErrorCode.NOT_COORDINATOR, world.now))
        assert not world.timers
        self._hear()
        world.group = ClassicGroup.from_record("g", world.last_value, LIMITS)
        world.carry_out(world.group.loaded(world.now))
        # A generation that was not written may come again, with another leader.
        self.highest_generation = world.group.generation
        self.leader_told.clear()

    # What must hold.

    def _hear(self) -> None:
        for me in self.clients:
            for request in [request for request in me.pending if not request.parked]:
                me.pending.remove(request)
                answer = request.answer
                if isinstance(answer, JoinResult):
                    self._hear_join(me, answer)
                elif isinstance(answer, SyncResult):
                    me.synced = answer.error is ErrorCode.NONE
                    me.generation = me.generation if me.synced else -1

    def _hear_join(self, me: Client, answer: JoinResult) -> None:
        if answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            assert answer.member_id not in self.ids, "an id was given out twice"
            self.ids.add(answer.member_id)
            me.member_id = answer.member_id
        elif answer.error is ErrorCode.NONE:
            me.member_id, me.generation, me.synced = answer.member_id, answer.generation, False
            me.leads = answer.leader == answer.member_id and not answer.skip_assignment
            if answer.members:
                assert answer.leader == answer.member_id
                assert answer.member_id in [member.member_id for member in answer.members]
                assert {member.metadata for member in answer.members} != {b""}
                if not answer.skip_assignment:
                    told = self.leader_told.setdefault(answer.generation, answer.member_id)
                    assert told == answer.member_id, "a generation has two leaders"
        else:
            me.member_id, me.generation = (
                "" if answer.error is not ErrorCode.REBALANCE_IN_PROGRESS else me.member_id,
                -1,
            )

    @invariant()
    def every_request_is_answered_at_most_once(self) -> None:
        """Nobody is answered twice, and who is not answered is known to the group, or waits for a record."""
        self._hear()
        membership = self.world.group._data.membership
        parked = [request for request in self.world.requests if request.parked]
        assert all(len(request.answers) <= 1 for request in self.world.requests)
        known = {*membership.joins.values(), *membership.syncs.values()}
        known |= {token for effects in self.world.held or [] for token, _ in effects.answers}
        assert set(parked) == known
        self.world.requests = parked

    @invariant()
    def tables_agree(self) -> None:
        """The tables of the membership say the same of who is there."""
        membership = self.world.group._data.membership
        members = set(membership.members)
        assert (membership.leader in members) if members else membership.leader is None
        assert not members & membership.pending
        assert membership.joins.keys() | membership.syncs.keys() | membership.unsynced <= members
        static = {
            m.group_instance_id: m.member_id for m in membership.members.values() if m.group_instance_id is not None
        }
        assert static == membership.static_ids
        counted: dict[str, int] = defaultdict(int)
        for member in membership.members.values():
            for name in {protocol.name for protocol in member.protocols}:
                counted[name] += 1
        assert counted == membership.speakers

    @invariant()
    def state_and_members_agree(self) -> None:
        """Who waits for what fits the state; a group with a generation has a protocol that all speak."""
        group = self.world.group
        membership = group._data.membership
        if group.state is ClassicGroupState.EMPTY:
            assert not membership.members
        if group.state in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE):
            assert group.protocol_name is not None
            assert membership.all_speak(group.protocol_name)
        if group.state is not ClassicGroupState.COMPLETING_REBALANCE:
            assert not membership.syncs
        if group.state is ClassicGroupState.STABLE and self.world.held is None:
            assert not membership.joins

    @invariant()
    def generation_only_grows(self) -> None:
        """A generation never comes back, unless a restart forgot it."""
        assert self.world.group.generation >= self.highest_generation
        self.highest_generation = self.world.group.generation

    @invariant()
    def group_is_not_too_large(self) -> None:
        """group.max.size holds, for members that can be members at all."""
        assert len(self.world.group.members) <= LIMITS.max_size or self.world.state in (
            ClassicGroupState.PREPARING_REBALANCE,
        )

    @invariant()
    def everybody_is_watched(self) -> None:
        """A member that is not parked has a session, and so has a member-to-be; nobody else has."""
        group = self.world.group
        membership = group._data.membership
        watched = {key.member_id for key in self.world.timers if key.kind == SESSION}
        assert watched <= membership.members.keys() | membership.pending
        silent = (membership.members.keys() | membership.pending) - membership.joins.keys() - membership.syncs.keys()
        assert silent <= watched
        assert (JOIN_TIMER in self.world.timers) == (group.state is ClassicGroupState.PREPARING_REBALANCE)
        assert not self.world.timers.keys() - {JOIN_TIMER, SYNC_TIMER, *(TimerKey(SESSION, name) for name in watched)}
        if membership.unsynced:
            assert SYNC_TIMER in self.world.timers

    @invariant()
    def stable_group_is_what_its_record_says(self) -> None:
        """What a stable group has, every member's assignment included, is what a restart would find."""
        group = self.world.group
        if group.state is not ClassicGroupState.STABLE or self.world.held is not None:
            return
        value = self.world.log[-1].value
        assert isinstance(value, GroupMetadataValue)
        assert (value.generation, value.protocol) == (group.generation, group.protocol_name)
        written = {member.member_id: member.assignment for member in value.members}
        assert written == {member.member_id: member.assignment for member in group.members.values()}

    def teardown(self) -> None:
        """When everybody falls silent, everybody is answered, and the group ends empty with nothing to wait for."""
        self.world.append_error = ErrorCode.NONE
        if self.world.held is not None:
            self.world.release()
        self.world.pass_time(LONGEST_MS)
        assert not [request for request in self.world.requests if request.parked]
        if self.world.log:
            assert self.world.state is ClassicGroupState.EMPTY
        assert not self.world.timers


TestClassicGroup = ClassicGroupMachine.TestCase
TestClassicGroup.settings = settings(examples(60), stateful_step_count=50, print_blob=True)
