"""Who gets which partitions, decided by the broker."""
