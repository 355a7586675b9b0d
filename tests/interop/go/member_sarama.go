package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaHandler is asked by the library, one goroutine a claimed partition. Its commits tell no outcome.
type saramaHandler struct {
	topic     string
	mutex     sync.Mutex
	positions map[int32]int64
	session   sarama.ConsumerGroupSession
	// pausing is held while the member takes nothing.
	pausing sync.Mutex
}

func (h *saramaHandler) Setup(session sarama.ConsumerGroupSession) error {
	h.mutex.Lock()
	h.session = session
	h.mutex.Unlock()
	sayPartitions("assigned", append([]int32{}, session.Claims()[h.topic]...))
	return nil
}

func (h *saramaHandler) Cleanup(session sarama.ConsumerGroupSession) error {
	sayPartitions("revoked", append([]int32{}, session.Claims()[h.topic]...))
	return nil
}

func (h *saramaHandler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case seen, open := <-claim.Messages():
			if !open {
				return nil
			}
			h.take(session, seen)
		}
	}
}

func (h *saramaHandler) take(session sarama.ConsumerGroupSession, seen *sarama.ConsumerMessage) {
	h.pausing.Lock()
	defer h.pausing.Unlock()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	sayRecord(seen.Partition, seen.Offset, seen.Value)
	h.positions[seen.Partition] = seen.Offset + 1
	session.MarkMessage(seen, "")
	session.Commit()
	say("commit-sent", "offsets", map[int32]int64{seen.Partition: seen.Offset + 1})
}

func (h *saramaHandler) commit() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.session.Commit()
	say("commit-sent", "offsets", h.positions)
}

func saramaMember(settings memberSettings, commands <-chan []string) {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Consumer.Group.Session.Timeout = settings.session
	config.Consumer.Group.Heartbeat.Interval = settings.heartbeat
	config.Consumer.Group.Rebalance.Timeout = settings.maxPoll
	config.Consumer.Group.Rebalance.Retry.Backoff = pollEvery
	config.Consumer.Group.InstanceId = settings.instance
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = pollEvery
	config.Metadata.Retry.Backoff = 100 * time.Millisecond
	say("started")
	group, err := sarama.NewConsumerGroup([]string{settings.bootstrap}, settings.group, config)
	if err != nil {
		fail(err)
	}
	handler := &saramaHandler{topic: settings.topic, positions: map[int32]int64{}}
	go func() {
		for {
			err := group.Consume(context.Background(), []string{settings.topic}, handler)
			if errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return
			}
			// A session ends with each rebalance, and while the broker is away.
			if err != nil {
				time.Sleep(pollEvery)
			}
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
		case "commit":
			handler.commit()
		case "pause":
			handler.pausing.Lock()
			sleepAsTold(words[1])
			handler.pausing.Unlock()
		}
	}
}
