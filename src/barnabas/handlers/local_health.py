"""The command `health`: whether the broker can do its work, as far as it can tell itself.

That an answer comes at all is the liveness: the loop that gives it is the one that serves clients.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.handlers.local_commands import LocalServices


def health(local: LocalServices, _: Mapping[str, Any]) -> dict[str, object]:
    """Return {"ready": bool, "problems": [text], ...}; not ready while it stops or has lost a directory."""
    services = local.services
    problems = [
        f"log directory {directory.path} is offline"
        for directory in services.logs.directories
        if not directory.online
    ]
    state = local.reactor.state.name.lower()
    if state != "running":
        problems.append(f"the broker is {state}")
    return {
        "ready": not problems,
        "problems": problems,
        "state": state,
        "cluster_id": services.cluster_id,
        "node_id": services.node_id,
    }
