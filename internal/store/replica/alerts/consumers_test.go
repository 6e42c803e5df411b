package alerts_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/replicatest"
	"candela/lib/market"
)

// assets counts the consumers of each stream and the subscriptions of each replica. It is "" if the
// servers do not answer.
func assets(t *testing.T, js jetstream.JetStream, all []*replica) string {
	t.Helper()
	once, end := replicatest.Question(t)
	defer end()
	var b strings.Builder
	for names := js.StreamNames(once); ; {
		name, open := <-names.Name()
		if !open && names.Err() != nil {
			return ""
		}
		if !open {
			break
		}
		s, err := js.Stream(once, name)
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %d, ", name[strings.LastIndex(name, "_")+1:], s.CachedInfo().State.Consumers)
	}
	for _, r := range all {
		fmt.Fprintf(&b, "%d ", r.conn.NATS().NumSubscriptions())
	}
	return b.String()
}

// TestReplicas_HaveAConstantNumberOfConsumers uses three replicas like many clients.
func TestReplicas_HaveAConstantNumberOfConsumers(t *testing.T) {
	t.Parallel()
	one, from := replicatest.Start(t, 1), newFakeMarket()
	all := startReplicas(t, one, from)
	js := replicatest.Admin(t, one)
	setAll(t, all, symbolsOf(3), 500)
	// A connection has two more subscriptions, for replies and for calls. Consumers of single
	// reads are deleted soon.
	const want = "ALERTS 3, MEMBERS 3, STATE 0, 4 4 4 "
	replicatest.Eventually(t, "each replica follows two streams", func() bool { return assets(t, js, all) == want })
	setAll(t, all, symbolsOf(40), 510, 520, 530)
	from.trade(525, symbolsOf(40)...)
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			r, caller := all[i%3], principal.Caller{Subject: principal.Owner(fmt.Sprint("owner ", i))}
			if _, err := r.Alerts(t.Context(), caller); err != nil {
				t.Error(err)
			}
			if _, err := r.AlertsOn(t.Context(), caller, market.Symbol{Name: "S1"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	replicatest.Eventually(t, "the consumers are those from before", func() bool { return assets(t, js, all) == want })
}
