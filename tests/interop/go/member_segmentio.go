package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// segmentioTaker takes one partition's records, one after the other, while a generation lasts.
type segmentioTaker struct {
	settings   memberSettings
	generation *kafka.Generation
	pausing    *sync.Mutex
}

func (t segmentioTaker) run(ctx context.Context, partition int, offset int64) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{t.settings.bootstrap}, Topic: t.settings.topic, Partition: partition, MaxWait: pollEvery,
		ReadBackoffMin: 10 * time.Millisecond, ReadBackoffMax: pollEvery,
	})
	defer reader.Close()
	if err := reader.SetOffset(offset); err != nil {
		fail(err)
	}
	for {
		seen, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// The broker is away.
			time.Sleep(pollEvery)
			continue
		}
		t.take(seen)
	}
}

func (t segmentioTaker) take(seen kafka.Message) {
	t.pausing.Lock()
	defer t.pausing.Unlock()
	sayRecord(int32(seen.Partition), seen.Offset, seen.Value)
	next := seen.Offset + 1
	err := t.generation.CommitOffsets(map[string]map[int]int64{t.settings.topic: {seen.Partition: next}})
	sayCommitted(map[int32]int64{int32(seen.Partition): next}, err)
}

func segmentioMember(settings memberSettings, commands <-chan []string) {
	say("started")
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: settings.group, Brokers: []string{settings.bootstrap}, Topics: []string{settings.topic},
		HeartbeatInterval: settings.heartbeat, SessionTimeout: settings.session, RebalanceTimeout: settings.maxPoll,
		JoinGroupBackoff: pollEvery, StartOffset: kafka.FirstOffset,
	})
	if err != nil {
		fail(err)
	}
	var pausing sync.Mutex
	go func() {
		for {
			generation, err := group.Next(context.Background())
			if errors.Is(err, kafka.ErrGroupClosed) {
				return
			}
			if err != nil {
				time.Sleep(pollEvery)
				continue
			}
			segmentioGeneration(settings, generation, &pausing)
		}
	}()
	for words := range commands {
		switch words[0] {
		case "close":
			say("closing")
			if err := group.Close(); err != nil {
				fail(err)
			}
			say("closed")
			os.Exit(0)
		case "pause":
			pausing.Lock()
			sleepAsTold(words[1])
			pausing.Unlock()
		}
	}
}

// segmentioGeneration starts what runs during one generation; the library joins again once all of it has ended.
func segmentioGeneration(settings memberSettings, generation *kafka.Generation, pausing *sync.Mutex) {
	var partitions []int32
	for _, one := range generation.Assignments[settings.topic] {
		partitions = append(partitions, int32(one.ID))
	}
	sayPartitions("assigned", partitions)
	generation.Start(func(ctx context.Context) {
		taker := segmentioTaker{settings, generation, pausing}
		var takers sync.WaitGroup
		for _, one := range generation.Assignments[settings.topic] {
			takers.Add(1)
			go func() {
				defer takers.Done()
				taker.run(ctx, one.ID, one.Offset)
			}()
		}
		takers.Wait()
		<-ctx.Done()
		sayPartitions("revoked", partitions)
	})
}
