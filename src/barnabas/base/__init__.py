"""Clock, disk, entropy, file regions, errors and limits: what every layer may use."""
