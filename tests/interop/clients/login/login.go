// A client with franz-go that logs in, produces a record and reads it again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func main() {
	bootstrap := flag.String("bootstrap", "", "")
	topic := flag.String("topic", "", "")
	mechanism := flag.String("mechanism", "", "")
	user := flag.String("user", "", "")
	flag.Parse()
	password := os.Getenv("PASSWORD")
	var by sasl.Mechanism
	switch *mechanism {
	case "PLAIN":
		by = plain.Auth{User: *user, Pass: password}.AsMechanism()
	case "SCRAM-SHA-256":
		by = scram.Auth{User: *user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		by = scram.Auth{User: *user, Pass: password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		by = oauth.Oauth(func(context.Context) (oauth.Auth, error) { return oauth.Auth{Token: password}, nil })
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(*bootstrap), kgo.SASL(by), kgo.AllowAutoTopicCreation(),
		kgo.ConsumeTopics(*topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	limit, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := client.Ping(limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := client.ProduceSync(limit, &kgo.Record{Topic: *topic, Value: []byte("x")}).FirstErr(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for limit.Err() == nil {
		for range client.PollFetches(limit).Records() {
			fmt.Println("read")
			return
		}
	}
	os.Exit(1)
}
