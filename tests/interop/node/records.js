// The files that records travel in; the layout is told in ../go/records.go.
'use strict';

const fs = require('node:fs');

function readRecords(path) {
  const content = fs.readFileSync(path);
  const records = [];
  let position = 0;
  const int32 = () => content.readInt32BE((position += 4) - 4);
  const bytes = () => {
    const length = int32();
    if (length < 0) return null;
    position += length;
    return content.subarray(position - length, position);
  };
  while (position < content.length) {
    const partition = int32();
    const timestamp = content.readBigInt64BE((position += 8) - 8).toString();
    const record = { partition, timestamp, key: bytes(), value: bytes(), headers: [] };
    for (let left = int32(); left > 0; left -= 1) {
      const key = bytes().toString();
      record.headers.push([key, bytes()]);
    }
    records.push(record);
  }
  return records;
}

function writeOffsets(path, offsets) {
  const written = Buffer.alloc(offsets.length * 8);
  offsets.forEach((offset, i) => written.writeBigInt64BE(BigInt(offset), i * 8));
  fs.writeFileSync(path, written);
}

function writeConsumed(path, records) {
  const pieces = [];
  const int32 = (number) => {
    const piece = Buffer.alloc(4);
    piece.writeInt32BE(number);
    pieces.push(piece);
  };
  const int64 = (number) => {
    const piece = Buffer.alloc(8);
    piece.writeBigInt64BE(BigInt(number));
    pieces.push(piece);
  };
  const bytes = (content) => {
    if (content === null) return int32(-1);
    int32(content.length);
    return pieces.push(content);
  };
  for (const record of records) {
    int64(record.offset);
    int32(record.partition);
    int64(record.timestamp);
    bytes(record.key);
    bytes(record.value);
    int32(record.headers.length);
    for (const [key, value] of record.headers) {
      bytes(Buffer.from(key));
      bytes(value);
    }
  }
  fs.writeFileSync(path, Buffer.concat(pieces));
}

module.exports = { readRecords, writeConsumed, writeOffsets };
