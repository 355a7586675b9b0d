"""Where settings come from, which wins, and what stops a start."""

import pytest

from barnabas.server.listeners import SecurityProtocol
from barnabas.server.settings import SettingsError, load_settings, variable_to_key


def _load(text="", *, environ=None, overrides=()):
    return load_settings(
        files=["server.properties"], environ=environ or {}, overrides=overrides, read_text=lambda path: text
    )


def test_defaults_are_kafkas():
    settings = load_settings()
    assert settings.integer("num.partitions") == 1
    assert settings.integer("fetch.max.bytes") == 57671680
    assert settings.integer("socket.request.max.bytes") == 104857600
    assert settings.boolean("auto.create.topics.enable") is True
    assert settings.node_id == 1


def test_the_later_source_wins():
    text = "num.partitions=2\nnum.io.threads=2\nbackground.threads=2\n"
    environ = {"KAFKA_NUM_IO_THREADS": "3", "KAFKA_BACKGROUND_THREADS": "3"}
    settings = _load(text, environ=environ, overrides=["background.threads=4"])
    assert settings.integer("num.partitions") == 2
    assert settings.integer("num.io.threads") == 3
    assert settings.integer("background.threads") == 4


def test_every_value_tells_its_source():
    settings = _load("num.partitions=2", environ={"KAFKA_LOG_DIRS": "/a,/b"}, overrides=["node.id=5"])
    sources = {entry.name: (entry.value, entry.source) for entry in settings.entries()}
    assert sources["num.partitions"] == ("2", "server.properties")
    assert sources["log.dirs"] == ("/a,/b", "KAFKA_LOG_DIRS")
    assert sources["node.id"] == ("5", "--override")
    assert sources["fetch.max.bytes"] == ("57671680", "default")


def test_secrets_are_not_printed():
    settings = _load("ssl.keystore.password=hunter2")
    assert {e.name: e.value for e in settings.entries()}["ssl.keystore.password"] is None


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_LISTENER_NAME_A___B_SSL_KEYSTORE", "listener.name.a-b.ssl.keystore"),
        ("KAFKA_A__B_C", "a_b.c"),
    ],
)
def test_variables_name_keys_as_in_kafkas_image(variable, key):
    assert variable_to_key(variable) == key


def test_variables_of_the_launcher_are_no_settings():
    settings = _load(environ={"KAFKA_HEAP_OPTS": "-Xmx1G", "KAFKA_HOME": "/opt", "HOME": "/root"})
    assert not settings.is_set("heap.opts")


def test_a_foreign_variable_is_ignored_with_a_warning(caplog):
    _load(environ={"KAFKA_TEAM_PASSWORD_ROTATION": "weekly"})
    assert "KAFKA_TEAM_PASSWORD_ROTATION is ignored" in caplog.text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": "num.partition=3"}, ["server.properties", "'num.partition'", "num.partitions"]),
        (
            {"text": "num.partition=3\nbroker.id=1\nzookeeper.connect=z:2181"},
            ["'num.partition', 'zookeeper.connect' are no", "keys; is num.partition num.partitions?"],
        ),
        ({"overrides": ["log.dir.s=/x"]}, ["--override", "'log.dir.s'", "log.dirs"]),
        ({"environ": {"KAFKA_NUM_PARTITION": "3"}}, ["KAFKA_NUM_PARTITION", "num.partitions"]),
        ({"overrides": ["num.partitions=many"]}, ["--override", "many", "num.partitions"]),
        ({"text": "num.partitions=0"}, ["server.properties", "num.partitions"]),
        ({"overrides": ["num.partitions"]}, ["num.partitions", "KEY=VALUE"]),
        ({"text": "process.roles=broker"}, ["process.roles"]),
        ({"text": "authorizer.class.name=x.Y"}, ["authorizer.class.name", "not supported"]),
        ({"text": "remote.log.storage.system.enable=true"}, ["remote.log.storage", "not supported"]),
        ({"text": "log.local.retention.ms=5"}, ["log.local.retention.ms", "tiered", "not supported"]),
        ({"text": "log.local.retention.bytes=5"}, ["log.local.retention.bytes", "tiered", "not supported"]),
        ({"text": "controller.quorum.voters=1@a:1,2@b:2"}, ["controller.quorum.voters", "2@b:2"]),
        ({"text": "group.consumer.assignors=com.example.Mine"}, ["neither uniform nor range"]),
        ({"text": "offsets.topic.compression.codec=5"}, ["offsets.topic.compression.codec", "0 to 4"]),
        (
            {"text": "group.consumer.min.session.timeout.ms=70000"},
            ["group.consumer.max.session.timeout.ms must be greater than or equal to"],
        ),
        (
            {"text": "group.consumer.session.timeout.ms=1000"},
            ["group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min."],
        ),
        (
            {"text": "group.consumer.assignment.interval.ms=20000"},
            ["group.consumer.max.assignment.interval.ms must be greater than or equal to"],
        ),
        (
            {"text": "group.consumer.min.session.timeout.ms=1000\ngroup.consumer.session.timeout.ms=5000"},
            ["group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms"],
        ),
    ],
)
def test_what_stops_a_start(given, words):
    given = dict(given)
    with pytest.raises(SettingsError) as raised:
        _load(given.pop("text", ""), **given)
    for word in words:
        assert word in str(raised.value)


def test_a_missing_file_is_one_line():
    with pytest.raises(SettingsError, match=r"cannot read /nowhere/server\.properties: No such file"):
        load_settings(files=["/nowhere/server.properties"])


def test_a_kafka_combined_mode_file_loads():
    settings = _load(
        """process.roles=broker,controller
node.id=3
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
log.dirs=/tmp/one,/tmp/two,/tmp/one
"""
    )
    assert [str(listener) for listener in settings.listeners] == ["PLAINTEXT://:9092"]
    assert [str(listener) for listener in settings.advertised_listeners] == ["PLAINTEXT://localhost:9092"]
    assert str(settings.controller_listener) == "CONTROLLER://:9093"
    assert settings.log_dirs == ["/tmp/one", "/tmp/two"]
    assert settings.listeners[0].security_protocol is SecurityProtocol.PLAINTEXT
