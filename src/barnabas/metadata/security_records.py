"""ACLs, SCRAM credentials, delegation tokens and quotas, kept as the records say them.

They are held whole from the first day, so that no snapshot ever drops what another release wrote; what
they mean is the business of the security layer.
"""

from __future__ import annotations

from barnabas.base.hints import Any

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, entity name or None for the default) pairs, sorted by type."""


class SecurityRecords:
    """The security part of the metadata image."""

    __slots__ = ("acls", "delegation_tokens", "quotas", "scram_credentials")

    def __init__(self) -> None:
        self.acls: dict[bytes, Any] = {}
        """Id -> AccessControlEntryRecord."""
        self.scram_credentials: dict[tuple[int, str], Any] = {}
        """(mechanism, user) -> UserScramCredentialRecord."""
        self.delegation_tokens: dict[str, Any] = {}
        """Token id -> DelegationTokenRecord."""
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}

    def replay(self, message: Any) -> None:
        """Apply one of the record types this class keeps."""
        match type(message).__name__:
            case "AccessControlEntryRecord":
                self.acls[bytes(message.id)] = message
            case "RemoveAccessControlEntryRecord":
                self.acls.pop(bytes(message.id), None)
            case "UserScramCredentialRecord":
                self.scram_credentials[message.mechanism, message.name] = message
            case "RemoveUserScramCredentialRecord":
                self.scram_credentials.pop((message.mechanism, message.name), None)
            case "DelegationTokenRecord":
                self.delegation_tokens[message.token_id] = message
            case "RemoveDelegationTokenRecord":
                self.delegation_tokens.pop(message.token_id, None)
            case "ClientQuotaRecord":
                self._replay_quota(message)
            case other:
                raise AssertionError(f"{other} is no security record")

    def _replay_quota(self, message: Any) -> None:
        entity: QuotaEntity = tuple(sorted(((e.entity_type, e.entity_name) for e in message.entity), key=str))
        if not message.remove:
            self.quotas.setdefault(entity, {})[message.key] = message.value
            return
        values = self.quotas.get(entity, {})
        values.pop(message.key, None)
        if not values:
            self.quotas.pop(entity, None)
