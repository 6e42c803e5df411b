package hostile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/operate/control"
	"candela/internal/testkit/longtest"
)

// busyPolicy lets a client trade as fast as it can.
const busyPolicy = `
max_orders_per_minute = "none"
max_order_notional = "none"
max_exposure = "none"
max_symbol_exposure = "none"
max_symbol_open_orders = "none"
max_open_orders = "none"
max_daily_notional = "none"
duplicate_window = "0s"
price_band_pct = "none"
resting_band_pct = "none"
`

// How a client goes on that is revoked meanwhile. Each returns when it has no more
// requests under way.
var attacks = map[string]func(ctx context.Context, c *remote.Client, r *rand.Rand){
	"a batch behind a waiting poll": func(ctx context.Context, c *remote.Client, r *rand.Rand) {
		calls := []string{
			remote.Request(1, "get_notifications", fmt.Sprintf(`{"wait_seconds":%d}`, 1+r.IntN(20))),
			remote.Request(2, "place_order", order), remote.Request(3, "set_alert", far),
			remote.Request(4, "get_notifications", `{"wait_seconds":20}`), remote.Request(5, "place_order", order),
		}
		_, _ = post(ctx, c, "["+strings.Join(calls, ",")+"]") // what was done is in the audit log
	},
	"a batch of orders and alerts": func(ctx context.Context, c *remote.Client, _ *rand.Rand) {
		var calls []string
		for i := range 32 {
			calls = append(calls, remote.Request(2*i, "place_order", order), remote.Request(2*i+1, "set_alert", far))
		}
		_, _ = post(ctx, c, "["+strings.Join(calls, ",")+"]")
	},
	"a storm": func(ctx context.Context, c *remote.Client, _ *rand.Rand) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				tool, arguments := "place_order", order
				if i%2 == 1 {
					tool, arguments = "set_alert", far
				}
				for range 500 {
					if status, err := post(ctx, c, remote.Request(1, tool, arguments)); err != nil || status != 200 {
						return
					}
				}
			})
		}
		all.Wait()
	},
}

const (
	order = `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":0.006,"price":1000}`
	far   = `{"symbol":"BTCUSDT","condition":{"price_above":10000000}}`
)

// Nothing changes by a token more than a second after its revocation was acknowledged,
// whatever it was doing.
func TestRevoke_EndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	tg := attackable(t, 0)
	first := tg.client("first")
	for tool, arguments := range map[string]string{"set_alert": far, "place_order": order} {
		// The account is compared a moment after the program listens.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			_, err := first.Call(t.Context(), tool, arguments)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(tool, err)
			}
		}
	}
	random := rand.New(rand.NewPCG(longtest.Seed(), 17))
	rounds := longtest.Pick(24, 500)
	acknowledged := make(map[string]time.Time, rounds)
	var names []string
	for name := range attacks {
		names = append(names, name)
	}
	for round := range rounds {
		name := names[round%len(names)]
		c := tg.client(name)
		clients, err := control.Clients(t.Context(), tg.home, "")
		if err != nil || clients[0].Name != name {
			t.Fatalf("the newest client is %+v, %v", clients, err)
		}
		ended := make(chan struct{})
		r := rand.New(rand.NewPCG(random.Uint64(), 0))
		go func() {
			defer close(ended)
			attacks[name](t.Context(), c, r)
		}()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		if round%10 == 9 {
			_, err = control.RevokeAll(t.Context(), tg.home)
		} else {
			err = control.Revoke(t.Context(), tg.home, clients[0].ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		acknowledged[clients[0].Token] = time.Now()
		<-ended
	}
	time.Sleep(2 * time.Second) // in which nothing more may come
	counted := 0
	for _, ch := range tg.changes() {
		at, ours := acknowledged[ch.Token]
		if !ours {
			continue
		}
		counted++
		if late := ch.At.Sub(at); late > time.Second {
			t.Errorf("%s was written %v after the revocation", ch.Kind, late)
		}
	}
	t.Logf("%d revocations, %d changes by the revoked tokens", rounds, counted)
	if counted < rounds {
		t.Errorf("the clients changed too little for the test to mean anything: %d changes in %d rounds", counted, rounds)
	}
}
