"""What `barnabas doctor` knows of damage in data directories, and of mending it.

Looking never writes. It reads formats by itself, as dump-log does, and asks the storage layer only for the
rules of producers and transactions; what a repair makes anew is made by the storage layer's own recovery,
which both brokers' starts rely on anyway.

    command.py        the command line, and what a person is shown
    examination.py    all of a broker's directories together
    directory.py      a directory of log.dirs and its checkpoints
    metadata_files.py what lies beside the metadata log
    cluster.py        what the metadata say there should be
    partition.py      a partition's directory
    batches.py        one pass over the batches of a segment, going on behind damage
    indexes.py        index entries, compared as the batches go by
    producers.py      transactions and producer snapshots
    epochs.py         leader epochs, of batches and of their checkpoint
    restoring.py      headers and single bits that can be told from what is around them
    findings.py       what is wrong: where, why, what mending it costs
    repair.py         what is mended, and in which order
    mending.py        a segment's file written anew
    backup.py         copies of what is changed
"""
