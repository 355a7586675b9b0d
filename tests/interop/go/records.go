package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
)

// record is one record; the layout of a file of them is a run of
//
//	[offset int64, only of consumed ones] partition int32, timestamp int64, key, value, header count int32, headers
//
// where key, value, and each header's key and value are a length int32 (-1 for null) and that many bytes.
type record struct {
	offset    int64
	partition int32
	timestamp int64
	key       []byte
	value     []byte
	headers   []header
}

type header struct {
	key   string
	value []byte
}

func readRecords(path string) ([]record, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	source := bytes.NewReader(content)
	var records []record
	for source.Len() > 0 {
		var made record
		var headers int32
		if err := readFixed(source, &made.partition, &made.timestamp); err != nil {
			return nil, err
		}
		if made.key, err = readBytes(source); err != nil {
			return nil, err
		}
		if made.value, err = readBytes(source); err != nil {
			return nil, err
		}
		if err := readFixed(source, &headers); err != nil {
			return nil, err
		}
		for range headers {
			key, err := readBytes(source)
			if err != nil {
				return nil, err
			}
			value, err := readBytes(source)
			if err != nil {
				return nil, err
			}
			made.headers = append(made.headers, header{string(key), value})
		}
		records = append(records, made)
	}
	return records, nil
}

func readFixed(source io.Reader, targets ...any) error {
	for _, target := range targets {
		if err := binary.Read(source, binary.BigEndian, target); err != nil {
			return err
		}
	}
	return nil
}

func readBytes(source io.Reader) ([]byte, error) {
	var length int32
	if err := readFixed(source, &length); err != nil || length < 0 {
		return nil, err
	}
	content := make([]byte, length)
	_, err := io.ReadFull(source, content)
	return content, err
}

func writeConsumed(path string, records []record) error {
	var target []byte
	for _, made := range records {
		target = binary.BigEndian.AppendUint64(target, uint64(made.offset))
		target = binary.BigEndian.AppendUint32(target, uint32(made.partition))
		target = binary.BigEndian.AppendUint64(target, uint64(made.timestamp))
		target = appendBytes(target, made.key)
		target = appendBytes(target, made.value)
		target = binary.BigEndian.AppendUint32(target, uint32(len(made.headers)))
		for _, one := range made.headers {
			target = appendBytes(target, append([]byte{}, one.key...))
			target = appendBytes(target, one.value)
		}
	}
	return os.WriteFile(path, target, 0o600)
}

func appendBytes(target, content []byte) []byte {
	if content == nil {
		return binary.BigEndian.AppendUint32(target, ^uint32(0))
	}
	return append(binary.BigEndian.AppendUint32(target, uint32(len(content))), content...)
}

func writeOffsets(path string, offsets []int64) error {
	var target []byte
	for _, offset := range offsets {
		target = binary.BigEndian.AppendUint64(target, uint64(offset))
	}
	return os.WriteFile(path, target, 0o600)
}
