package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// secured lets a client do TLS when the environment names PEM files for it: an authority, and a key with its
// certificate.
func secured() kgo.Opt {
	authority := os.Getenv("BARNABAS_TLS_AUTHORITY")
	if authority == "" {
		return kgo.Dialer((&net.Dialer{Timeout: 10 * time.Second}).DialContext)
	}
	text, err := os.ReadFile(authority)
	if err != nil {
		panic(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	shown := os.Getenv("BARNABAS_TLS_CLIENT")
	own, err := tls.LoadX509KeyPair(shown, shown)
	if err != nil {
		panic(err)
	}
	return kgo.DialTLSConfig(&tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}})
}

// franz is github.com/twmb/franz-go.
type franz struct{}

func (franz) produce(ctx context.Context, bootstrap, topic string, records []record, how settings) ([]int64, error) {
	acks := map[int]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap), secured(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(acks[how.acks]), kgo.ProducerBatchCompression(codecs[how.codec]),
		kgo.ProducerLinger(5 * time.Millisecond),
	}
	if !how.idempotent {
		options = append(options, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	connected, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer connected.Close()
	offsets := make([]int64, len(records))
	failures := make(chan error, len(records))
	for i, made := range records {
		sent := &kgo.Record{
			Topic: topic, Partition: made.partition, Timestamp: time.UnixMilli(made.timestamp),
			Key: made.key, Value: made.value,
		}
		for _, one := range made.headers {
			sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: one.key, Value: one.value})
		}
		connected.Produce(ctx, sent, func(acked *kgo.Record, err error) {
			offsets[i] = acked.Offset
			failures <- err
		})
	}
	for range records {
		if err := <-failures; err != nil {
			return nil, err
		}
	}
	if how.acks == 0 {
		for i := range offsets {
			offsets[i] = -1
		}
	}
	return offsets, nil
}

func (franz) consume(ctx context.Context, bootstrap, topic string, count int, start map[int32]int64) ([]record, error) {
	partitions := map[int32]kgo.Offset{}
	for partition, offset := range start {
		partitions[partition] = kgo.NewOffset().At(offset)
	}
	connected, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap), secured(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: partitions}),
	)
	if err != nil {
		return nil, err
	}
	defer connected.Close()
	var found []record
	for len(found) < count {
		fetches := connected.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(seen *kgo.Record) {
			made := record{
				offset: seen.Offset, partition: seen.Partition, timestamp: seen.Timestamp.UnixMilli(),
				key: seen.Key, value: seen.Value,
			}
			for _, one := range seen.Headers {
				made.headers = append(made.headers, header{one.Key, one.Value})
			}
			found = append(found, made)
		})
	}
	return found, nil
}

func (franz) offsetForTime(
	ctx context.Context, bootstrap, topic string, partition int32, timestamp int64,
) (int64, error) {
	connected, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), secured())
	if err != nil {
		return 0, err
	}
	defer connected.Close()
	listed, err := kadm.NewClient(connected).ListOffsetsAfterMilli(ctx, timestamp, topic)
	if err != nil {
		return 0, err
	}
	found, _ := listed.Lookup(topic, partition)
	// This library answers the end offset where no record is that late; its timestamp tells the two apart.
	if found.Timestamp < 0 {
		return -1, found.Err
	}
	return found.Offset, found.Err
}

func (franz) offsetRange(ctx context.Context, bootstrap, topic string, partition int32) (offsetRange, error) {
	connected, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), secured())
	if err != nil {
		return offsetRange{}, err
	}
	defer connected.Close()
	admin := kadm.NewClient(connected)
	first, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return offsetRange{}, err
	}
	end, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return offsetRange{}, err
	}
	from, _ := first.Lookup(topic, partition)
	to, _ := end.Lookup(topic, partition)
	return offsetRange{from.Offset, to.Offset}, nil
}
