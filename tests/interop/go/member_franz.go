package main

import (
	"context"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func franzMember(settings memberSettings, commands <-chan []string) {
	told := func(event string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			sayPartitions(event, partitions[settings.topic])
		}
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(settings.bootstrap), kgo.ConsumerGroup(settings.group), kgo.ConsumeTopics(settings.topic),
		kgo.SessionTimeout(settings.session), kgo.HeartbeatInterval(settings.heartbeat),
		kgo.RebalanceTimeout(settings.maxPoll), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(told("assigned")), kgo.OnPartitionsRevoked(told("revoked")),
		kgo.OnPartitionsLost(told("lost")),
	}
	if settings.instance != "" {
		options = append(options, kgo.InstanceID(settings.instance))
	}
	say("started")
	client, err := kgo.NewClient(options...)
	if err != nil {
		fail(err)
	}
	positions := map[int32]int64{}
	for {
		select {
		case words := <-commands:
			switch words[0] {
			case "close":
				say("closing")
				client.CloseAllowingRebalance()
				say("closed")
				os.Exit(0)
			case "commit":
				franzCommit(client, settings.topic, positions)
			case "pause":
				sleepAsTold(words[1])
			}
		default:
		}
		franzTake(client, settings.topic, positions)
	}
}

func franzTake(client *kgo.Client, topic string, positions map[int32]int64) {
	ctx, cancel := context.WithTimeout(context.Background(), pollEvery)
	defer cancel()
	defer client.AllowRebalance()
	fetches := client.PollRecords(ctx, 500)
	batch := map[int32]int64{}
	fetches.EachRecord(func(seen *kgo.Record) {
		sayRecord(seen.Partition, seen.Offset, seen.Value)
		batch[seen.Partition] = seen.Offset + 1
		positions[seen.Partition] = seen.Offset + 1
	})
	franzCommit(client, topic, batch)
}

func franzCommit(client *kgo.Client, topic string, offsets map[int32]int64) {
	if len(offsets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	var records []*kgo.Record
	for partition, offset := range offsets {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Offset: offset - 1, LeaderEpoch: -1})
	}
	sayCommitted(offsets, client.CommitRecords(ctx, records...))
}
