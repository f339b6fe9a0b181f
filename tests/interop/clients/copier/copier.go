// Copies a topic in transactions with franz-go, a third of which it aborts, and says after each commit how many records
// it has copied; it ends when they are as many as it was asked for.
//
// Arguments: bootstrap, source, target, name of group and transactional id, number of records.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	context := context.Background()
	count, err := strconv.Atoi(os.Args[5])
	must(err)
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(os.Args[1]),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.DefaultProduceTopic(os.Args[3]),
		kgo.ConsumerGroup(os.Args[4]),
		kgo.TransactionalID(os.Args[4]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	must(err)
	defer session.Close()
	for copied := 0; copied < count; {
		records := session.PollRecords(context, 40).Records()
		if len(records) == 0 {
			continue
		}
		must(session.Begin())
		promise := kgo.AbortingFirstErrPromise(session.Client())
		for _, record := range records {
			session.Produce(context, &kgo.Record{Value: record.Value}, promise.Promise())
		}
		commit := promise.Err() == nil && rand.Intn(3) != 0
		committed, err := session.End(context, kgo.TransactionEndTry(commit))
		must(err)
		if committed {
			copied += len(records)
			fmt.Printf("\"totalProcessed\":%d\n", copied)
		}
	}
}
