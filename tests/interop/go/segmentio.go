package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
)

// segmentio is github.com/segmentio/kafka-go. It has no idempotent producer.
type segmentio struct{}

// byPartition sends a record to the partition its message names: the library has no such balancer.
type byPartition struct{}

func (byPartition) Balance(message kafka.Message, _ ...int) int {
	return message.WriterData.(sentRecord).partition
}

type sentRecord struct{ index, partition int }

func (segmentio) produce(
	ctx context.Context, bootstrap, topic string, records []record, how settings,
) ([]int64, error) {
	codecs := map[string]kafka.Compression{
		"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	}
	offsets := make([]int64, len(records))
	writer := &kafka.Writer{
		Addr: kafka.TCP(bootstrap), Topic: topic, Balancer: byPartition{}, BatchSize: 500, MaxAttempts: 1,
		BatchTimeout: 5 * time.Millisecond, Compression: codecs[how.codec],
		RequiredAcks: kafka.RequiredAcks(how.acks),
		// The default transport remembers for seconds that a topic was not there.
		Transport: &kafka.Transport{},
		Completion: func(messages []kafka.Message, _ error) {
			for _, message := range messages {
				offsets[message.WriterData.(sentRecord).index] = message.Offset
			}
		},
	}
	messages := make([]kafka.Message, len(records))
	for i, made := range records {
		messages[i] = kafka.Message{
			Key: made.key, Value: made.value, Time: time.UnixMilli(made.timestamp),
			WriterData: sentRecord{i, int(made.partition)},
		}
		for _, one := range made.headers {
			messages[i].Headers = append(messages[i].Headers, kafka.Header{Key: one.key, Value: one.value})
		}
	}
	if err := writer.WriteMessages(ctx, messages...); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	if how.acks == 0 {
		for i := range offsets {
			offsets[i] = -1
		}
	}
	return offsets, nil
}

func (segmentio) consume(
	ctx context.Context, bootstrap, topic string, count int, start map[int32]int64,
) ([]record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		message kafka.Message
		err     error
	}
	seen := make(chan outcome, 1000)
	for partition, offset := range start {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{bootstrap}, Topic: topic, Partition: int(partition), MaxWait: 200 * time.Millisecond,
		})
		defer reader.Close()
		if err := reader.SetOffset(offset); err != nil {
			return nil, err
		}
		go func() {
			for ctx.Err() == nil {
				message, err := reader.ReadMessage(ctx)
				seen <- outcome{message, err}
			}
		}()
	}
	var found []record
	for len(found) < count {
		got := <-seen
		if got.err != nil {
			return nil, got.err
		}
		message := got.message
		made := record{
			offset: message.Offset, partition: int32(message.Partition), timestamp: message.Time.UnixMilli(),
			key: message.Key, value: message.Value,
		}
		for _, one := range message.Headers {
			made.headers = append(made.headers, header{one.Key, one.Value})
		}
		found = append(found, made)
	}
	return found, nil
}

func (segmentio) offsetForTime(
	ctx context.Context, bootstrap, topic string, partition int32, timestamp int64,
) (int64, error) {
	leader, err := kafka.DialLeader(ctx, "tcp", bootstrap, topic, int(partition))
	if err != nil {
		return 0, err
	}
	defer leader.Close()
	return leader.ReadOffset(time.UnixMilli(timestamp))
}

func (segmentio) offsetRange(ctx context.Context, bootstrap, topic string, partition int32) (offsetRange, error) {
	leader, err := kafka.DialLeader(ctx, "tcp", bootstrap, topic, int(partition))
	if err != nil {
		return offsetRange{}, err
	}
	defer leader.Close()
	first, end, err := leader.ReadOffsets()
	return offsetRange{first, end}, err
}
