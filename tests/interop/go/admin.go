// What an administrator does with one topic, by each library's own admin client.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	retention      = "retention.ms"
	firstRetention = "3600000"
	laterRetention = "7200000"
	patience       = 20 * time.Second
)

// administrator is one library's view of a topic; errors besides errExists end the test.
type administrator interface {
	create(ctx context.Context, topic string, partitions int, retentionMs string) error
	partitions(ctx context.Context, topic string) (int, error)
	config(ctx context.Context, topic string) (string, error)
	alter(ctx context.Context, topic, retentionMs string) error
	grow(ctx context.Context, topic string, partitions int) error
	listed(ctx context.Context, topic string) (bool, error)
	remove(ctx context.Context, topic string) error
}

var errExists = errors.New("the topic exists")

// found is what administration answers, as JSON.
type found struct {
	Created    bool   `json:"created"`
	Again      string `json:"again"`
	Partitions int    `json:"partitions"`
	Configured string `json:"configured"`
	Altered    string `json:"altered"`
	Grown      int    `json:"grown"`
	Listed     bool   `json:"listed"`
	Left       bool   `json:"left"`
}

func administer(ctx context.Context, name, bootstrap, topic string) (string, error) {
	admin, done, err := administratorNamed(name, bootstrap)
	if err != nil {
		return "", err
	}
	defer done()
	saw, err := administerWith(ctx, admin, topic)
	if err != nil {
		return "", err
	}
	answer, err := json.Marshal(saw)
	return string(answer), err
}

func administerWith(ctx context.Context, admin administrator, topic string) (saw found, err error) {
	if err = admin.create(ctx, topic, 2, firstRetention); err != nil {
		return saw, err
	}
	saw.Created = true
	if err = admin.create(ctx, topic, 2, firstRetention); !errors.Is(err, errExists) {
		return saw, fmt.Errorf("a second creation ended with %w", err)
	}
	saw.Again = "exists"
	if saw.Partitions, err = admin.partitions(ctx, topic); err != nil {
		return saw, err
	}
	if saw.Configured, err = admin.config(ctx, topic); err != nil {
		return saw, err
	}
	if err = admin.alter(ctx, topic, laterRetention); err != nil {
		return saw, err
	}
	if saw.Altered, err = admin.config(ctx, topic); err != nil {
		return saw, err
	}
	if err = admin.grow(ctx, topic, 3); err != nil {
		return saw, err
	}
	saw.Grown, err = eventually(3, func() (int, error) { return admin.partitions(ctx, topic) })
	if err != nil {
		return saw, err
	}
	if saw.Listed, err = admin.listed(ctx, topic); err != nil {
		return saw, err
	}
	if err = admin.remove(ctx, topic); err != nil {
		return saw, err
	}
	saw.Left, err = eventually(false, func() (bool, error) { return admin.listed(ctx, topic) })
	return saw, err
}

// eventually asks until the answer is the expected one, for a while: some libraries keep metadata for seconds.
func eventually[answer comparable](expected answer, ask func() (answer, error)) (answer, error) {
	for last := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		said, err := ask()
		if err != nil || said == expected || time.Now().After(last) {
			return said, err
		}
	}
}

func administratorNamed(name, bootstrap string) (administrator, func(), error) {
	switch name {
	case "franz-go":
		connected, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
		if err != nil {
			return nil, nil, err
		}
		return franzAdmin{kadm.NewClient(connected)}, connected.Close, nil
	case "sarama":
		admin, err := sarama.NewClusterAdmin([]string{bootstrap}, saramaConfig())
		if err != nil {
			return nil, nil, err
		}
		return saramaAdmin{admin}, func() { _ = admin.Close() }, nil
	default:
		// The default transport remembers for seconds that a topic was not there.
		transport := &kafka.Transport{}
		client := &kafka.Client{Addr: kafka.TCP(bootstrap), Transport: transport, Timeout: deadline}
		return segmentioAdmin{client}, transport.CloseIdleConnections, nil
	}
}

type franzAdmin struct{ *kadm.Client }

func (a franzAdmin) create(ctx context.Context, topic string, partitions int, retentionMs string) error {
	_, err := a.CreateTopic(ctx, int32(partitions), 1, map[string]*string{retention: &retentionMs}, topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return errExists
	}
	return err
}

func (a franzAdmin) partitions(ctx context.Context, topic string) (int, error) {
	topics, err := a.ListTopics(ctx, topic)
	return len(topics[topic].Partitions), err
}

func (a franzAdmin) config(ctx context.Context, topic string) (string, error) {
	configs, err := a.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", err
	}
	described, err := configs.On(topic, nil)
	for _, one := range described.Configs {
		if one.Key == retention {
			return one.MaybeValue(), err
		}
	}
	return "", err
}

func (a franzAdmin) alter(ctx context.Context, topic, retentionMs string) error {
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: retention, Value: &retentionMs}
	altered, err := a.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, topic)
	if err != nil {
		return err
	}
	_, err = altered.On(topic, func(one *kadm.AlterConfigsResponse) error { return one.Err })
	return err
}

func (a franzAdmin) grow(ctx context.Context, topic string, partitions int) error {
	grown, err := a.UpdatePartitions(ctx, partitions, topic)
	if err != nil {
		return err
	}
	return grown.Error()
}

func (a franzAdmin) listed(ctx context.Context, topic string) (bool, error) {
	topics, err := a.ListTopics(ctx)
	return topics.Has(topic), err
}

func (a franzAdmin) remove(ctx context.Context, topic string) error {
	_, err := a.DeleteTopic(ctx, topic)
	return err
}

type saramaAdmin struct{ sarama.ClusterAdmin }

func (a saramaAdmin) create(_ context.Context, topic string, partitions int, retentionMs string) error {
	err := a.CreateTopic(topic, &sarama.TopicDetail{
		NumPartitions: int32(partitions), ReplicationFactor: 1,
		ConfigEntries: map[string]*string{retention: &retentionMs},
	}, false)
	if errors.Is(err, sarama.ErrTopicAlreadyExists) {
		return errExists
	}
	return err
}

func (a saramaAdmin) partitions(_ context.Context, topic string) (int, error) {
	topics, err := a.DescribeTopics([]string{topic})
	if err != nil || len(topics) != 1 {
		return 0, err
	}
	return len(topics[0].Partitions), nil
}

func (a saramaAdmin) config(_ context.Context, topic string) (string, error) {
	entries, err := a.DescribeConfig(sarama.ConfigResource{
		Type: sarama.TopicResource, Name: topic, ConfigNames: []string{retention},
	})
	if err != nil || len(entries) != 1 {
		return "", err
	}
	return entries[0].Value, nil
}

func (a saramaAdmin) alter(_ context.Context, topic, retentionMs string) error {
	change := map[string]sarama.IncrementalAlterConfigsEntry{
		retention: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &retentionMs},
	}
	return a.IncrementalAlterConfig(sarama.TopicResource, topic, change, false)
}

func (a saramaAdmin) grow(_ context.Context, topic string, partitions int) error {
	return a.CreatePartitions(topic, int32(partitions), nil, false)
}

func (a saramaAdmin) listed(_ context.Context, topic string) (bool, error) {
	topics, err := a.ListTopics()
	_, there := topics[topic]
	return there, err
}

func (a saramaAdmin) remove(_ context.Context, topic string) error {
	return a.DeleteTopic(topic)
}

type segmentioAdmin struct{ *kafka.Client }

func (a segmentioAdmin) create(ctx context.Context, topic string, partitions int, retentionMs string) error {
	made, err := a.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topic, NumPartitions: partitions, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: retention, ConfigValue: retentionMs}},
	}}})
	if err != nil {
		return err
	}
	if errors.Is(made.Errors[topic], kafka.TopicAlreadyExists) {
		return errExists
	}
	return made.Errors[topic]
}

func (a segmentioAdmin) partitions(ctx context.Context, topic string) (int, error) {
	told, err := a.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil || len(told.Topics) != 1 {
		return 0, err
	}
	return len(told.Topics[0].Partitions), told.Topics[0].Error
}

func (a segmentioAdmin) config(ctx context.Context, topic string) (string, error) {
	described, err := a.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{retention},
		}},
	})
	if err != nil || len(described.Resources) != 1 || len(described.Resources[0].ConfigEntries) != 1 {
		return "", err
	}
	return described.Resources[0].ConfigEntries[0].ConfigValue, described.Resources[0].Error
}

func (a segmentioAdmin) alter(ctx context.Context, topic, retentionMs string) error {
	altered, err := a.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: retention, Value: retentionMs, ConfigOperation: kafka.ConfigOperationSet,
			}},
		}},
	})
	if err != nil {
		return err
	}
	return altered.Resources[0].Error
}

func (a segmentioAdmin) grow(ctx context.Context, topic string, partitions int) error {
	grown, err := a.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(partitions)}},
	})
	if err != nil {
		return err
	}
	return grown.Errors[topic]
}

func (a segmentioAdmin) listed(ctx context.Context, topic string) (bool, error) {
	told, err := a.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return false, err
	}
	for _, one := range told.Topics {
		if one.Name == topic {
			return true, nil
		}
	}
	return false, nil
}

func (a segmentioAdmin) remove(ctx context.Context, topic string) error {
	gone, err := a.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return gone.Errors[topic]
}
