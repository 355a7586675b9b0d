"""What Apache Kafka 4.4 answered when it was last asked."""

import gzip
import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[2] / "golden" / "first_slice.json.gz"


def load() -> dict[str, dict[str, Any]]:
    """Return plain answers by group and situation."""
    with gzip.open(RECORD) as file:
        recorded: dict[str, dict[str, Any]] = json.loads(file.read())
    return recorded
