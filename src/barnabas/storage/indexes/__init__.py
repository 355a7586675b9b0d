"""The sparse indexes of a segment: from offsets and times to places, and what was aborted."""
