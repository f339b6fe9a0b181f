// A member of a consumer group with franz-go, which reports as the programs in tests/integration/groups/programs do.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type place struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Count     int    `json:"count,omitempty"`
	MinOffset int64  `json:"minOffset"`
	MaxOffset int64  `json:"maxOffset"`
	Offset    int64  `json:"offset"`
}

var output sync.Mutex

func report(name string, fields map[string]any) {
	if fields == nil {
		fields = map[string]any{}
	}
	fields["name"] = name
	line, _ := json.Marshal(fields)
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func reporter(name string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
		places := []place{}
		for topic, partitions := range changed {
			for _, partition := range partitions {
				places = append(places, place{Topic: topic, Partition: partition})
			}
		}
		report(name, map[string]any{"partitions": places})
	}
}

func balancer(name string) kgo.GroupBalancer {
	switch name {
	case "roundrobin":
		return kgo.RoundRobinBalancer()
	case "sticky":
		return kgo.StickyBalancer()
	case "cooperative-sticky":
		return kgo.CooperativeStickyBalancer()
	}
	return kgo.RangeBalancer()
}

func main() {
	bootstrap := flag.String("bootstrap", "", "host:port")
	topic := flag.String("topic", "", "topic")
	group := flag.String("group", "", "group")
	assignor := flag.String("assignor", "range", "assignor")
	session := flag.Int("session-timeout", 10000, "milliseconds")
	instance := flag.String("instance-id", "", "group instance id")
	flag.String("group-protocol", "classic", "only classic")
	auto := flag.Bool("auto-commit", false, "commit automatically")
	flag.Parse()

	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(*bootstrap, ",")...),
		kgo.ConsumeTopics(*topic),
		kgo.ConsumerGroup(*group),
		kgo.Balancers(balancer(*assignor)),
		kgo.SessionTimeout(time.Duration(*session) * time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(*session/10) * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(reporter("partitions_assigned")),
		kgo.OnPartitionsRevoked(reporter("partitions_revoked")),
		kgo.OnPartitionsLost(reporter("partitions_revoked")),
	}
	if *instance != "" {
		options = append(options, kgo.InstanceID(*instance))
	}
	if !*auto {
		options = append(options, kgo.DisableAutoCommit())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	for {
		fetches := client.PollFetches(stop)
		if stop.Err() != nil {
			break
		}
		consumed(fetches)
		if !*auto && fetches.NumRecords() > 0 {
			commit(client)
		}
	}
	client.Close()
	report("shutdown_complete", nil)
}

func consumed(fetches kgo.Fetches) {
	places, count := []place{}, 0
	fetches.EachPartition(func(each kgo.FetchTopicPartition) {
		if size := len(each.Records); size > 0 {
			count += size
			first, last := each.Records[0].Offset, each.Records[size-1].Offset
			places = append(places, place{
				Topic: each.Topic, Partition: each.Partition, Count: size, MinOffset: first, MaxOffset: last,
			})
		}
	})
	if count > 0 {
		report("records_consumed", map[string]any{"count": count, "partitions": places})
	}
}

func commit(client *kgo.Client) {
	if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
		report("offsets_committed", map[string]any{"success": false, "error": err.Error()})
		return
	}
	places := []place{}
	for topic, partitions := range client.CommittedOffsets() {
		for partition, offset := range partitions {
			places = append(places, place{Topic: topic, Partition: partition, Offset: offset.Offset})
		}
	}
	report("offsets_committed", map[string]any{"offsets": places, "success": true})
}
