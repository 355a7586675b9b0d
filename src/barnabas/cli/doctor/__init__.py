"""What `barnabas doctor` knows of damage in data directories, and of mending it.

Looking never writes. It reads formats by itself, as dump-log does, and asks the storage layer only for the
rules of producers and transactions; what a repair makes anew is made by the storage layer's own recovery,
which both brokers' starts rely on anyway.

    findings.py       what is wrong: where, why, what mending it costs
    batches.py        one pass over the batches of a segment, going on behind damage
    restoring.py      headers and single bits that can be told from what is around them
    indexes.py        index entries, compared as the batches go by
    producers.py      transactions and producer snapshots
    partition.py      a partition's directory
    directory.py      a directory of log.dirs, its checkpoints and its metadata log
    repair.py         mending a partition, with a copy of everything that is changed
    root_repair.py    mending checkpoints and names
"""
