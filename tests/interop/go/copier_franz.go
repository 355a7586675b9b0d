package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runCopier copies a topic within transactions: BOOTSTRAP GROUP SOURCE TARGET ABORT-EVERY. What it does and
// says is told in transactions/copier_confluent.py.
func runCopier(arguments []string) {
	bootstrap, group, source, target := arguments[0], arguments[1], arguments[2], arguments[3]
	abortEvery, err := strconv.Atoi(arguments[4])
	if err != nil {
		fail(err)
	}
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(group), kgo.ConsumeTopics(source), kgo.InstanceID("copier"),
		kgo.TransactionalID("copier of "+group), kgo.TransactionTimeout(20*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.MetadataMinAge(100*time.Millisecond),
	)
	if err != nil {
		fail(err)
	}
	var stopped atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stopped.Store(true)
	}()
	for count := 1; !stopped.Load(); {
		copied, committed, err := copyBatch(session, target, count%abortEvery != 0)
		if err != nil {
			fail(err)
		}
		if copied == 0 {
			continue
		}
		count++
		if committed {
			fmt.Println("copied", copied)
		} else {
			fmt.Println("aborted", copied)
		}
	}
	session.Close()
}

// copyBatch makes a transaction of what one poll brings; it returns how many records, and whether they count.
func copyBatch(session *kgo.GroupTransactSession, target string, commit bool) (int, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	batch := session.PollRecords(ctx, 50)
	if batch.NumRecords() == 0 {
		return 0, false, nil
	}
	if err := session.Begin(); err != nil {
		return 0, false, err
	}
	whole := kgo.AbortingFirstErrPromise(session.Client())
	batch.EachRecord(func(seen *kgo.Record) {
		record := &kgo.Record{Topic: target, Partition: seen.Partition, Value: seen.Value}
		session.Produce(context.Background(), record, whole.Promise())
	})
	written := whole.Err() == nil
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(commit && written))
	return batch.NumRecords(), committed, err
}
