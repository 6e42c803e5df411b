package research

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/e2e/remote"
	"candela/internal/testkit/longtest"
)

// watched is a site whose alerts on one symbol are fired by prices that the test announces.
type watched struct {
	*site
	*testing.T
	client *remote.Client
	level  int // the number of alerts that have fired
	fired  chan string
}

const (
	alertSymbol = "ALERTUSDT"
	floor       = 10_000_000 // above every price of the venue
)

func watchAlerts(t *testing.T, s *site) *watched {
	t.Helper()
	w := &watched{site: s, T: t, client: s.enter(t), fired: make(chan string, 1000)}
	if _, err := w.client.Call(t.Context(), "subscribe_notifications", `{}`); err != nil {
		t.Fatal(err)
	}
	open, once := make(chan struct{}), sync.Once{}
	ctx, leave := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		_ = w.client.Listen(ctx, "", func() { once.Do(func() { close(open) }) }, func(e remote.Event) {
			var f struct {
				ID string `json:"alert_id"`
			}
			_ = json.Unmarshal(e.Params, &f)
			w.fired <- f.ID
		})
	})
	t.Cleanup(func() { leave(); listening.Wait() })
	<-open
	return w
}

// fire sets alerts above the prices so far, lets the price meet one after the other, and returns
// how long each took from the venue to the client.
func (w *watched) fire(alerts int) []time.Duration {
	w.Helper()
	ids := make([]string, alerts)
	for i := range ids {
		text, err := w.client.Call(w.Context(), "set_alert", fmt.Sprintf(`{"symbol":%q,"condition":{"price_above":%d}}`, alertSymbol, floor+w.level+i))
		if err != nil {
			w.Fatal(err)
		}
		var got struct {
			ID string `json:"alert_id"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			w.Fatal(err)
		}
		ids[i] = got.ID
	}
	var took []time.Duration
	for _, id := range ids {
		began := time.Now()
		w.announce(floor + w.level)
		w.level++
		for again := time.NewTicker(2 * time.Second); ; {
			select {
			case got := <-w.fired:
				if got != id {
					continue
				}
			case <-again.C: // the stream was not open yet, or had a message waiting
				began = time.Now()
				w.announce(floor + w.level - 1)
				continue
			}
			again.Stop()
			break
		}
		took = append(took, time.Since(began))
	}
	return took
}

// announce sends a price to all who follow the venue.
func (w *watched) announce(price int) {
	now := time.Now()
	minute := now.Truncate(time.Minute).UnixMilli()
	p := strconv.Itoa(price)
	w.venue.Feed.Announce(fmt.Sprintf(`{"stream":"%s@kline_1m","data":{"e":"kline","E":%d,"s":%q,"k":{"t":%d,"T":%d,"s":%q,"i":"1m","f":100,"L":200,"o":"1","c":%q,"h":%q,"l":"1","v":"1","n":1,"x":false,"q":"1","V":"1","Q":"1","B":"0"}}}`,
		strings.ToLower(alertSymbol), now.UnixMilli(), alertSymbol, minute, minute+59_999, alertSymbol, p, p))
}

// chart draws charts and returns how long each took.
func (w *watched) chart(n int) []time.Duration {
	w.Helper()
	var took []time.Duration
	for range n {
		began := time.Now()
		if _, err := w.client.Call(w.Context(), "get_indicators", `{"symbol":"CHARTUSDT","interval":"1h","indicators":["rsi","macd"]}`); err != nil {
			w.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

const sweep = `{"symbol":"SWEEPUSDT","interval":"1h","bars":10000,"oos_pct":0,"long":{"enter":{"value":{"indicator":{"name":"rsi","length":"$len"},"op":"<","value":"$low"}},"max_bars":5},` +
	`"sweep":{"len":[2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21],"low":[20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65]}}`

// TestBeside_AlertsAndChartsDoNotWait fires alerts and reads indicators alone, beside sweeps of
// two clients and beside a scan, in turns so that a busy machine disturbs all alike. The short
// form holds that they come while the others still run; the long form also compares the times.
func TestBeside_AlertsAndChartsDoNotWait(t *testing.T) {
	t.Parallel()
	s := startSite(t, 6000)
	w := watchAlerts(t, s)
	busy := []*remote.Client{s.enter(t), s.enter(t)}
	w.fire(1) // opens the stream of the venue
	w.chart(1)
	rounds, each := longtest.Pick(1, 12), longtest.Pick(3, 50)
	alone, beside := map[string][]time.Duration{}, map[string][]time.Duration{}
	for round := range rounds {
		for name, work := range map[string]func(ctx context.Context, c *remote.Client, begun func()){
			"sweep": func(ctx context.Context, c *remote.Client, begun func()) {
				w.busy(ctx, c, "run_backtest", sweep, begun)
			},
			"scan": func(ctx context.Context, c *remote.Client, begun func()) {
				w.busy(ctx, c, "scan_symbols", strings.ReplaceAll(scanOf(400), `"S`, fmt.Sprintf(`"R%dS`, round)), begun)
			},
		} {
			alone["alert "+name] = append(alone["alert "+name], w.fire(each)...)
			alone["chart "+name] = append(alone["chart "+name], w.chart(each)...)
			ctx, cancel := context.WithCancel(t.Context())
			var running, begun sync.WaitGroup
			clients := busy
			if name == "scan" {
				clients = busy[:1]
			}
			for _, c := range clients {
				begun.Add(1)
				running.Go(func() { work(ctx, c, sync.OnceFunc(begun.Done)) })
			}
			begun.Wait()
			beside["alert "+name] = append(beside["alert "+name], w.fire(each)...)
			beside["chart "+name] = append(beside["chart "+name], w.chart(each)...)
			cancel()
			running.Wait()
		}
	}
	for name, quiet := range alone {
		noisy := beside[name]
		t.Logf("%s: alone p50 %v, p99 %v; beside p50 %v, p99 %v; %.2f and %.2f times", name, part(quiet, 50), part(quiet, 99), part(noisy, 50), part(noisy, 99),
			float64(part(noisy, 50))/float64(part(quiet, 50)), float64(part(noisy, 99))/float64(part(quiet, 99)))
	}
}

// busy calls a tool again and again until ctx ends. begun is called when it has reported progress.
func (w *watched) busy(ctx context.Context, c *remote.Client, name, arguments string, begun func()) {
	w.Helper()
	defer begun()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":1},"arguments":%s}}`, name, arguments)
	for ctx.Err() == nil {
		response, err := send(ctx, c, body)
		if err != nil {
			return
		}
		begun()
		_, _ = io.Copy(io.Discard, response.Body) // until it is answered or ctx ends
		_ = response.Body.Close()
	}
}

// part returns a percentile.
func part(took []time.Duration, percent int) time.Duration {
	took = slices.Sorted(slices.Values(took))
	return took[len(took)*percent/100].Round(time.Microsecond)
}
