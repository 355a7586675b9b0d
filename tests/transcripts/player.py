"""Run the commands of a scenario on a shard, and tell what everybody heard.

    topic six 6 | topic six grows 8 | topic six is deleted      topics; `six` and `three` are there
    config group_max_size=2                                     of the broker
    time 1.5s                                                   time passes
    restart | restart compacted | crash                         the coordinator loads its log again
    appends fail NOT_COORDINATOR | appends work
    group h                                                     commands are about this group from now on
    list [states=Stable] [types=classic] | describe | describe consumers | delete
    delete-offsets six:0
    a joins | syncs a=six:0,1 b=six:2 | beats | leaves          classic members
    a enters | reports | goes | pauses                          consumers (KIP-848)
    a commits six:0=10 | fetches six:0,1 | fetches all

Fields of a request follow as name=value: v (version), member, generation, instance, session, rebalance, type,
protocols, topics, owned, epoch, assignor, metadata, stable, regex. Who is called `-` is no member.
"""

from __future__ import annotations

from barnabas.base.dataclass import replace
from barnabas.base.errors import ErrorCode
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.protocol import messages as m
from tests.group_host import GroupHost, HostConnection
from tests.transcripts.members import Arguments, Members, partitions_of, seconds_ms
from tests.transcripts.rendering import Renderer


class Player:
    """One scenario: a shard with its clock and log, and everybody's connections."""

    def __init__(self) -> None:
        config = GroupConfig(group_initial_rebalance_delay_ms=0, group_consumer_assignment_interval_ms=0)
        self._host = GroupHost({"six": 6, "three": 3}, config)
        self._output: list[str] = []
        self._topic_names = {self._host.topic_id(name): name for name in ("six", "three")}
        self._names: dict[str, str] = {}
        self._renderer = Renderer(self._names, self._topic_names)
        self._members = Members(self._host, self._names)
        self._connections: dict[str, HostConnection] = {}
        self._host.appended = lambda records: self._output.extend(
            f"log: {self._renderer.record(record)}" for record in records
        )

    def run(self, command: str) -> list[str]:
        """Run one command and return what came of it, in order.

        Raises:
            ValueError: a command that nobody knows.
        """
        self._output.clear()
        words = command.split()
        known = getattr(self, f"_{words[0].replace('-', '_')}_", None)
        if known is not None:
            known(words[1:])
        else:
            self._ask(words[0], words[1], words[2:])
        self._host.advance_ms(0)
        self._hear()
        # What was logged before its member heard of its id has the id in it still.
        return [self._named(line) for line in self._output]

    def _ask(self, who: str, verb: str, words: list[str]) -> None:
        request, version = self._members.request(who, verb, Arguments(words))
        self._host.send(self._connection(who), request, version, client_id=who)

    def _connection(self, who: str) -> HostConnection:
        return self._connections.setdefault(who, HostConnection(who))

    def _named(self, line: str) -> str:
        for member_id, name in self._names.items():
            line = line.replace(member_id, name)
        return line

    def _hear(self) -> None:
        for who, connection in self._connections.items():
            while connection.answers:
                api, answer = connection.answers.popleft()
                self._members.heard(who, answer)
                self._output.append(f"{who} <- {self._renderer.answer(api, answer)}")
            if connection.closed is not None:
                self._output.append(f"{who} is hung up on: {connection.closed}")
                connection.closed = None

    # Everything that no member does --------------------------------------------------------------------

    def _topic_(self, words: list[str]) -> None:
        name = words[0]
        if words[1] == "grows":
            self._host.grow_topic(name, int(words[2]))
        elif words[1] == "is":
            self._host.delete_topic(name)
        else:
            self._host.make_topic(name, int(words[1]))
            self._topic_names[self._host.topic_id(name)] = name

    def _config_(self, words: list[str]) -> None:
        changes = {name: int(value) for name, value in (word.split("=") for word in words)}
        self._host.config = replace(self._host.config, **changes)

    def _time_(self, words: list[str]) -> None:
        end_ms = self._host.clock.monotonic_ms() + seconds_ms(words[0])
        while (due_ms := self._host.next_ms()) is not None and due_ms <= end_ms:
            self._host.advance_ms(max(0, due_ms - self._host.clock.monotonic_ms()))
            before = len(self._output)
            self._hear()
            if len(self._output) > before:
                self._output.insert(before, f"at {due_ms / 1000:g}s:")
        self._host.advance_ms(end_ms - self._host.clock.monotonic_ms())

    def _restart_(self, words: list[str]) -> None:
        self._host.restart(compacted=words == ["compacted"])

    def _crash_(self, words: list[str]) -> None:
        for connection in self._connections.values():
            connection.asked.clear()
        self._host.crash(compacted=words == ["compacted"])

    def _appends_(self, words: list[str]) -> None:
        self._host.append_error = None if words == ["work"] else ErrorCode[words[1]]

    def _group_(self, words: list[str]) -> None:
        self._members.group = words[0]

    def _list_(self, words: list[str]) -> None:
        given = Arguments(words)
        request = m.ListGroupsRequest(states_filter=given.names("states"), types_filter=given.names("types"))
        self._host.send(self._connection("admin"), request, 5)

    def _describe_(self, words: list[str]) -> None:
        group = self._members.group
        if words == ["consumers"]:
            self._host.send(self._connection("admin"), m.ConsumerGroupDescribeRequest(group_ids=[group]), 1)
        else:
            self._host.send(self._connection("admin"), m.DescribeGroupsRequest(groups=[group]), 6)

    def _delete_(self, words: list[str]) -> None:
        groups = words or [self._members.group]
        self._host.send(self._connection("admin"), m.DeleteGroupsRequest(groups_names=groups), 2)

    def _delete_offsets_(self, words: list[str]) -> None:
        topics = [
            m.OffsetDeleteRequestOffsetDeleteRequestTopic(
                name=name,
                partitions=[
                    m.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=number)
                    for number in numbers
                ],
            )
            for name, numbers in partitions_of(words).items()
        ]
        request = m.OffsetDeleteRequest(group_id=self._members.group, topics=topics)
        self._host.send(self._connection("admin"), request, 0)
