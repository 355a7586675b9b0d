"""The log on disk, in Apache Kafka's format.

What lies here itself is one log and what it is made of: `log_manager.py` has all logs; `log.py`,
`log_reader.py` and `segmented_log.py` are one; `segment.py` is a piece of one. Around that:

    checkpoints       text files in the root of a log directory
    compaction        cleaning a log; runs in a process of its own
    flush             what brings logs to the disk, and how far they are there
    indexes           from offsets and times to places in a segment
    loading           opening logs at a start, also after a crash
    log_cleaner       when which log is cleaned
    log_moves         where new logs go, and moves between log directories
    producer_state    what a log knows of its producers
"""
