"""Schema catalogue, message codecs, frames and record batches. Pure: bytes in, values out."""
