package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"
)

// saramaClient is github.com/IBM/sarama.
type saramaClient struct{}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = "interop"
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.Flush.Frequency = 5 * time.Millisecond
	config.Producer.Flush.Bytes = 64 * 1024
	return config
}

func (saramaClient) produce(
	ctx context.Context, bootstrap, topic string, records []record, how settings,
) ([]int64, error) {
	codecs := map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}
	config := saramaConfig()
	config.Producer.Compression = codecs[how.codec]
	config.Producer.RequiredAcks = sarama.RequiredAcks(how.acks)
	config.Producer.Idempotent = how.idempotent
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewAsyncProducer([]string{bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.AsyncClose()
	go func() {
		for i, made := range records {
			message := &sarama.ProducerMessage{
				Topic: topic, Partition: made.partition, Timestamp: time.UnixMilli(made.timestamp), Metadata: i,
			}
			if made.key != nil {
				message.Key = sarama.ByteEncoder(made.key)
			}
			if made.value != nil {
				message.Value = sarama.ByteEncoder(made.value)
			}
			for _, one := range made.headers {
				message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(one.key), Value: one.value})
			}
			producer.Input() <- message
		}
	}()
	offsets := make([]int64, len(records))
	for range records {
		select {
		case sent := <-producer.Successes():
			offsets[sent.Metadata.(int)] = sent.Offset
			if how.acks == 0 {
				offsets[sent.Metadata.(int)] = -1
			}
		case failed := <-producer.Errors():
			return nil, failed.Err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return offsets, nil
}

func (saramaClient) consume(
	ctx context.Context, bootstrap, topic string, count int, start map[int32]int64,
) ([]record, error) {
	consumer, err := sarama.NewConsumer([]string{bootstrap}, saramaConfig())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	seen := make(chan *sarama.ConsumerMessage, 1000)
	for partition, offset := range start {
		part, err := consumer.ConsumePartition(topic, partition, offset)
		if err != nil {
			return nil, err
		}
		defer part.AsyncClose()
		go func() {
			for message := range part.Messages() {
				select {
				case seen <- message:
				case <-ctx.Done():
				}
			}
		}()
	}
	var found []record
	for len(found) < count {
		select {
		case message := <-seen:
			made := record{
				offset: message.Offset, partition: message.Partition, timestamp: message.Timestamp.UnixMilli(),
				key: message.Key, value: message.Value,
			}
			for _, one := range message.Headers {
				made.headers = append(made.headers, header{string(one.Key), one.Value})
			}
			found = append(found, made)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return found, nil
}

func (saramaClient) offsetForTime(
	_ context.Context, bootstrap, topic string, partition int32, timestamp int64,
) (int64, error) {
	connected, err := sarama.NewClient([]string{bootstrap}, saramaConfig())
	if err != nil {
		return 0, err
	}
	defer connected.Close()
	return connected.GetOffset(topic, partition, timestamp)
}

func (saramaClient) offsetRange(_ context.Context, bootstrap, topic string, partition int32) (offsetRange, error) {
	connected, err := sarama.NewClient([]string{bootstrap}, saramaConfig())
	if err != nil {
		return offsetRange{}, err
	}
	defer connected.Close()
	first, err := connected.GetOffset(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return offsetRange{}, err
	}
	end, err := connected.GetOffset(topic, partition, sarama.OffsetNewest)
	return offsetRange{first, end}, err
}
