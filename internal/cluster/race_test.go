package cluster_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alert"
	"candela/internal/cluster"
	"candela/internal/id"
	"candela/internal/market"
	"candela/internal/mcp"
)

func priceAlert(i int) alert.Alert {
	now := time.Now()
	symbol := market.Symbol{Venue: "binance", Name: "S" + strconv.Itoa(i%7)}
	return alert.Alert{
		ID: id.New(now), Owner: "ann", Symbol: symbol, Instrument: symbol, Created: now,
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(int64(i + 1))},
	}
}

// race lets replicas fire the same alerts at the same time, one by one and each
// from its own place on, and returns how many firings they were told to announce.
func race(t *testing.T, replicas []*cluster.Store, alerts int) int64 {
	t.Helper()
	firings := make([]alert.Firing, alerts)
	for i := range firings {
		firings[i] = alert.Firing{Alert: priceAlert(i), Value: 1, At: time.Now()}
		if err := replicas[0].PutAlert(t.Context(), mcp.Caller{Subject: "ann"}, firings[i].Alert); err != nil {
			t.Fatal(err)
		}
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for _, s := range replicas {
		wg.Go(func() {
			for i := range firings {
				entries, err := s.FireAlerts(context.WithoutCancel(t.Context()), firings[i:i+1])
				if err != nil {
					t.Error(err)
				}
				won.Add(int64(len(entries)))
			}
		})
	}
	wg.Wait()
	return won.Load()
}

func TestStore_ReplicasThatRaceFireOnce(t *testing.T) {
	t.Parallel()
	const alerts = 100
	prefix := newPrefix()
	replicas := []*cluster.Store{openStore(t, servers, prefix), openStore(t, servers, prefix), openStore(t, servers, prefix)}
	if won := race(t, replicas, alerts); won != alerts {
		t.Errorf("%d firings of %d alerts", won, alerts)
	}
}

// TestStore_WithoutCompareAndSetFiringsDouble shows that the test above can fail.
func TestStore_WithoutCompareAndSetFiringsDouble(t *testing.T) {
	t.Parallel()
	const alerts = 100
	prefix := newPrefix()
	var replicas []*cluster.Store
	for range 3 {
		c := connect(t, servers, prefix)
		c.WriteUnguarded()
		s, err := c.OpenStore(t.Context(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, s)
	}
	won := race(t, replicas, alerts)
	if won <= alerts {
		t.Errorf("%d firings of %d alerts: the race did not happen", won, alerts)
	}
	t.Logf("%d firings of %d alerts", won, alerts)
}
