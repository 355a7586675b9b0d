"""Every bound on what a peer or a disk can make this process hold, each with its reason.

Bounds that a user sets have Kafka's configuration names and live with the configuration; these are
the ones that nobody needs to set.
"""

READ_CHUNK_BYTES = 64 * 1024
"""What one turn reads from one connection into its shared buffer: large enough that a pipelining
client costs one recv per turn, small enough that it cannot starve the others."""

OUTPUT_QUEUE_BYTES_MAX = 1024 * 1024
"""Heap bytes (file slices do not count) queued on one connection before its requests are left alone: what one
turn sends. A peer that pipelines and does not read holds that much and one answer more."""

REQUEST_OBJECTS_MAX = 2_000_000
"""Structs and array elements one decoded request may hold. A frame of 100 MB could otherwise ask for
10**8 objects; the largest honest request (metadata of 1,000,000 partitions) stays below."""

DECOMPRESSED_BATCH_BYTES_MAX = 128 * 1024 * 1024
"""What one compressed batch may unpack to when it is checked."""

COLD_STREAM_FILES_MAX = 256
"""Files whose sequential readers are remembered for read-ahead, the longest unseen go first: more than one
disk serves at once to consumers that catch up, and half a KiB each."""

COLD_READ_TRIES_MAX = 4
"""How often a request whose look-up met a cold page is tried again before it may wait for the disk on the
loop: once for the index, once for the batch headers, and twice more for what was evicted or cut meanwhile."""

TIME_SEARCH_TRIES_MAX = 64
"""The same of a search by time, which may go through the indexes of many segments, some at each try."""

GROUPS_ANSWER_BYTES_MAX = 100 * 1024 * 1024
"""What one request about groups is answered with, besides what each group is told once; librdkafka reads no
more. A few kilobytes could otherwise ask for all offsets or members of a large group a thousand times."""

FETCH_DAMAGE_REMEMBERED_MAX = 1024
"""Damaged places that were logged and counted once (fetch.verify.crc), the oldest forgotten first."""
