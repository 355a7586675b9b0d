"""Running the load generators: each in its own process, its line of JSON as a dict."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.brokers.server import Transport
from benchmarks.programs import UnavailableError, load_has_tls, program

Figures = dict[str, float]
GRACE_S = 90
"""Beyond the time a generator is told to take, before it is ended."""


class LoadError(Exception):
    """A generator failed or found what cannot be measured; the message says what."""


def run_json(command: Sequence[str | Path], timeout_s: float) -> Figures:
    """Run a generator; return the JSON of its last line.

    Raises:
        LoadError: it ended with an error, or not in time.
    """
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        raise LoadError(f"{Path(command[0]).name} did not end within {timeout_s:.0f} s") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or "nothing said").splitlines()
        raise LoadError(
            f"{' '.join(map(str, command[1:4]))}: ended with {done.returncode}: {' '.join(said[-3:])}"
        )
    found: Figures = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def load(
    *,
    port: int,
    frame: bytes,
    folder: Path,
    connections: int,
    seconds: float,
    transport: Transport = Transport.PLAIN,
    answer_bytes_min: int = 1,
    epoch_at: int | None = None,
    fixed_answer_bytes: int | None = None,
    rate: float | None = None,
) -> Figures:
    """Load a server with one request, repeated; return what load.c tells.

    Args:
        answer_bytes_min: shorter answers are errors.
        epoch_at: see load.c, -e.
        fixed_answer_bytes: see load.c, -n.
        rate: requests a second of an open loop; None for a closed one.

    Raises:
        LoadError: the server hung up, or answered something else.
        UnavailableError: the generator could not be built.
    """
    file = folder / f"request-{port}"
    file.write_bytes(frame)
    command: list[str | Path] = [program("load")]
    if transport is Transport.TLS:
        if not load_has_tls():
            raise UnavailableError("the load generator needs OpenSSL's headers (Debian: libssl-dev)")
        command.append("-t")
    if epoch_at is not None:
        command += ["-e", str(epoch_at)]
    if fixed_answer_bytes is not None:
        command += ["-n", str(fixed_answer_bytes)]
    if rate is not None:
        command += ["-r", str(rate)]
    command += ["127.0.0.1", str(port), str(connections), "1", str(seconds), str(len(frame)), file]
    found = run_json(command, seconds + GRACE_S)
    if not found["answers"]:
        raise LoadError(f"no answer within {seconds:g} s")
    if found["shortest"] < answer_bytes_min:
        raise LoadError(f"an answer of {found['shortest']} bytes where {answer_bytes_min} are due")
    if found["not_asked"]:
        raise LoadError(f"{found['not_asked']} requests could not be sent: too many outstanding")
    if rate is not None and found["unanswered"]:
        raise LoadError(f"{found['unanswered']} requests were due and never answered")
    return found


def librdkafka(
    mode: str, bootstrap: str, topic: str, seconds: float, *arguments: object, **settings: object
) -> Figures:
    """Run rdkafka.c; settings are librdkafka's with _ for dots.

    Raises:
        LoadError: librdkafka found an error.
    """
    command: list[str | Path] = [
        program("rdkafka"),
        mode,
        bootstrap,
        topic,
        str(seconds),
        *map(str, arguments),
    ]
    command += [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    return run_json(command, seconds + GRACE_S)
