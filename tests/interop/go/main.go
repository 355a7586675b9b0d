// The Go clients as servants of the Python tests: franz-go, sarama and segmentio's kafka-go.
//
// The first argument chooses the library. Each line of standard input is a command, each line of standard
// output its answer ("ok ..." or "error ..."). Records travel in files, in the layout of records.go. Arguments
// hold no blanks.
//
//	produce          BOOTSTRAP TOPIC RECORDS-FILE OFFSETS-FILE [key=value ...]
//	consume          BOOTSTRAP TOPIC COUNT PARTITION:OFFSET,... RECORDS-FILE
//	offsets-for-time BOOTSTRAP TOPIC PARTITIONS TIMESTAMP
//	offset-range     BOOTSTRAP TOPIC PARTITIONS
//	administer       BOOTSTRAP TOPIC
//
// With `member` as the second argument it is a member of a consumer group instead: member.go. With `copier` it
// copies a topic within transactions: copier_franz.go.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// What is the longest that one command may take.
const deadline = 60 * time.Second

// settings say how to produce: a codec's name, acks 0, 1 or -1, and whether with a producer id.
type settings struct {
	codec      string
	acks       int
	idempotent bool
}

// offsetRange is the first offset and the end offset of a partition.
type offsetRange struct{ first, end int64 }

// client is what each library does.
type client interface {
	// produce sends all records to their partitions and returns their offsets, -1 where acks=0 tells none.
	produce(ctx context.Context, bootstrap, topic string, records []record, how settings) ([]int64, error)
	// consume reads from the given offsets until count records are there.
	consume(ctx context.Context, bootstrap, topic string, count int, start map[int32]int64) ([]record, error)
	// offsetForTime returns the first offset whose record is not older, -1 without one.
	offsetForTime(ctx context.Context, bootstrap, topic string, partition int32, timestamp int64) (int64, error)
	offsetRange(ctx context.Context, bootstrap, topic string, partition int32) (offsetRange, error)
}

func main() {
	clients := map[string]client{"franz-go": franz{}, "sarama": saramaClient{}, "kafka-go": segmentio{}}
	chosen, known := clients[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "no such client:", os.Args[1])
		os.Exit(2)
	}
	if len(os.Args) > 2 && os.Args[2] == "copier" {
		runCopier(os.Args[3:])
		return
	}
	if len(os.Args) > 2 && os.Args[2] == "member" {
		runMember(os.Args[1], os.Args[3:])
		return
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		answer, err := run(chosen, strings.Fields(commands.Text()))
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(strings.TrimSpace("ok " + answer))
	}
}

func run(chosen client, words []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	switch words[0] {
	case "produce":
		return "", produce(ctx, chosen, words)
	case "administer":
		return administer(ctx, os.Args[1], words[1], words[2])
	case "consume":
		return "", consume(ctx, chosen, words)
	case "offsets-for-time":
		return eachPartition(words[3], func(partition int32) (string, error) {
			timestamp, err := strconv.ParseInt(words[4], 10, 64)
			if err != nil {
				return "", err
			}
			offset, err := chosen.offsetForTime(ctx, words[1], words[2], partition, timestamp)
			return fmt.Sprintf("%d:%d", partition, offset), err
		})
	case "offset-range":
		return eachPartition(words[3], func(partition int32) (string, error) {
			found, err := chosen.offsetRange(ctx, words[1], words[2], partition)
			return fmt.Sprintf("%d:%d:%d", partition, found.first, found.end), err
		})
	}
	return "", fmt.Errorf("unknown command %s", words[0])
}

func produce(ctx context.Context, chosen client, words []string) error {
	records, err := readRecords(words[3])
	if err != nil {
		return err
	}
	how := settings{codec: "none", acks: -1}
	for _, word := range words[5:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "codec":
			how.codec = value
		case "acks":
			if how.acks, err = strconv.Atoi(value); err != nil {
				return err
			}
		case "idempotent":
			how.idempotent = value == "true"
		}
	}
	offsets, err := chosen.produce(ctx, words[1], words[2], records, how)
	if err != nil {
		return err
	}
	return writeOffsets(words[4], offsets)
}

func consume(ctx context.Context, chosen client, words []string) error {
	count, err := strconv.Atoi(words[3])
	if err != nil {
		return err
	}
	start := map[int32]int64{}
	for _, word := range strings.Split(words[4], ",") {
		partition, offset, _ := strings.Cut(word, ":")
		number, err := strconv.ParseInt(partition, 10, 32)
		if err != nil {
			return err
		}
		if start[int32(number)], err = strconv.ParseInt(offset, 10, 64); err != nil {
			return err
		}
	}
	records, err := chosen.consume(ctx, words[1], words[2], count, start)
	if err != nil {
		return err
	}
	return writeConsumed(words[5], records)
}

func eachPartition(count string, ask func(int32) (string, error)) (string, error) {
	partitions, err := strconv.ParseInt(count, 10, 32)
	if err != nil {
		return "", err
	}
	answers := make([]string, 0, partitions)
	for partition := range int32(partitions) {
		answer, err := ask(partition)
		if err != nil {
			return "", err
		}
		answers = append(answers, answer)
	}
	return strings.Join(answers, " "), nil
}
