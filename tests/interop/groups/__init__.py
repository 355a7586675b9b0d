"""Consumer groups of real clients: programs that are members, their processes, and a judge."""
