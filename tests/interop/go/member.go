// A member of a consumer group by each library; settings, commands and events are told in ../groups/talk.py.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const pollEvery = 100 * time.Millisecond

type memberSettings struct {
	bootstrap, group, topic, instance string
	session, heartbeat, maxPoll       time.Duration
}

func memberSettingsOf(words []string) memberSettings {
	given := map[string]string{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		given[name] = value
	}
	milliseconds := func(name string) time.Duration {
		number, err := strconv.Atoi(given[name])
		if err != nil {
			fail(err)
		}
		return time.Duration(number) * time.Millisecond
	}
	return memberSettings{
		bootstrap: given["bootstrap"], group: given["group"], topic: given["topic"], instance: given["instance"],
		session: milliseconds("session_ms"), heartbeat: milliseconds("heartbeat_ms"),
		maxPoll: milliseconds("max_poll_ms"),
	}
}

func runMember(library string, words []string) {
	settings := memberSettingsOf(words)
	commands := readCommands()
	switch library {
	case "franz-go":
		franzMember(settings, commands)
	case "sarama":
		saramaMember(settings, commands)
	default:
		segmentioMember(settings, commands)
	}
}

// readCommands gives what standard input says; without it, when the test has died, the process ends itself.
func readCommands() <-chan []string {
	commands := make(chan []string, 100)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			commands <- strings.Fields(lines.Text())
		}
		os.Exit(3)
	}()
	return commands
}

var sayingOne sync.Mutex

// say writes one event; the fields are pairs of a name and a value.
func say(event string, fields ...any) {
	told := map[string]any{"event": event, "at": float64(time.Now().UnixMicro()) / 1e6}
	for i := 0; i < len(fields); i += 2 {
		told[fields[i].(string)] = fields[i+1]
	}
	line, err := json.Marshal(told)
	if err != nil {
		panic(err)
	}
	sayingOne.Lock()
	defer sayingOne.Unlock()
	fmt.Println(string(line))
}

func sayPartitions(event string, partitions []int32) {
	if len(partitions) > 0 || event == "assigned" {
		slices.Sort(partitions)
		say(event, "partitions", append([]int32{}, partitions...))
	}
}

func sayRecord(partition int32, offset int64, value []byte) {
	say("record", "partition", partition, "offset", offset, "value", string(value))
}

func sayCommitted(offsets map[int32]int64, err error) {
	told := map[string]int64{}
	for partition, offset := range offsets {
		told[strconv.Itoa(int(partition))] = offset
	}
	if err != nil {
		say("commit-failed", "offsets", told, "error", err.Error())
		return
	}
	say("committed", "offsets", told)
}

func sleepAsTold(seconds string) {
	duration, err := time.ParseDuration(seconds + "s")
	if err != nil {
		fail(err)
	}
	say("paused")
	time.Sleep(duration)
	say("resumed")
}

func fail(err error) {
	say("failed", "message", err.Error())
	os.Exit(1)
}
