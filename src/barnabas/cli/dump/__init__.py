"""What `barnabas dump-log` knows of files in a log directory.

It reads formats with its own few lines instead of the storage layer's code: a fault there would otherwise
read back what it wrote and find it good. Only the record batch codec is shared.

    command.py           the command line, and what a person is shown
    findings.py          rows and problems, what every reader yields
    batches.py           .log and .checkpoint files: batches and records
    indexes.py           .index, .timeindex, .txnindex, also against their log
    state_files.py       .snapshot, checkpoints, properties, quorum-state
    decoded_records.py   metadata, group and transaction records as JSON
    directory.py         which reader a file gets
"""
