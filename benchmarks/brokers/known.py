"""All servers by the names that the command line takes."""

from benchmarks.brokers.barnabas import BarnabasServer, CompiledServer
from benchmarks.brokers.floors import FloorServer, NginxServer
from benchmarks.brokers.kafka import KafkaServer
from benchmarks.brokers.others import MockServer, NoidaServer, TansuServer
from benchmarks.brokers.server import Server

SERVERS: dict[str, type[Server]] = {
    "barnabas": BarnabasServer,
    "compiled": CompiledServer,
    "kafka": KafkaServer,
    "tansu": TansuServer,
    "noida": NoidaServer,
    "mock": MockServer,
    "sendfile": FloorServer,
    "nginx": NginxServer,
}
