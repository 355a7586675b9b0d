"""Where new logs are made, and how logs move between log directories (KIP-113)."""
