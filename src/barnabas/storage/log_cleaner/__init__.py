"""When and which logs are cleaned; the cleaning itself is in compaction/."""
