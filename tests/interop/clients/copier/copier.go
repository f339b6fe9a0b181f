// Copies a topic in transactions with franz-go, a third of which it aborts, and says after each how many records its
// group has committed; it ends when they are as many as it was asked for. A session that fails (nobody listens while a
// broker is away, which this client takes for an end) is followed by another one.
//
// Arguments: bootstrap, source, target, name of group and transactional id, number of records.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const pollTime = time.Second

func main() {
	count, err := strconv.Atoi(os.Args[5])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		err := copyRecords(os.Args[1], os.Args[2], os.Args[3], os.Args[4], int64(count))
		if err == nil {
			return
		}
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(100 * time.Millisecond)
	}
}

func copyRecords(bootstrap, source, target, id string, count int64) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(source),
		kgo.DefaultProduceTopic(target),
		kgo.ConsumerGroup(id),
		kgo.TransactionalID(id),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	for session.Client().CommittedOffsets()[source][0].Offset < count {
		if err := copySome(session); err != nil {
			return err
		}
		fmt.Printf("\"totalProcessed\":%d\n", session.Client().CommittedOffsets()[source][0].Offset)
	}
	return nil
}

// copySome copies what comes with one poll, or nothing.
func copySome(session *kgo.GroupTransactSession) error {
	polling, end := context.WithTimeout(context.Background(), pollTime)
	defer end()
	records := session.PollRecords(polling, 40).Records()
	if len(records) == 0 {
		return nil
	}
	if err := session.Begin(); err != nil {
		return err
	}
	promise := kgo.AbortingFirstErrPromise(session.Client())
	for _, record := range records {
		session.Produce(context.Background(), &kgo.Record{Value: record.Value}, promise.Promise())
	}
	commit := promise.Err() == nil && rand.Intn(3) != 0
	_, err := session.End(context.Background(), kgo.TransactionEndTry(commit))
	return err
}
