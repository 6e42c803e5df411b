package research

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
)

// scanOf returns the arguments of a scan.
func scanOf(symbols int) string {
	names := make([]string, symbols)
	for i := range names {
		names[i] = fmt.Sprintf("S%dUSDT", i)
	}
	list, _ := json.Marshal(names)
	return `{"symbols":` + string(list) + `,"interval":"4h","condition":{"value":{"indicator":"rsi","op":">","value":0}},"columns":["rsi"],"max_seconds":600}`
}

// TestScan_IsCancelledAndGoesOn scans a watchlist with a real client, cancels it half-way and
// scans again: what was read is kept, and no minute takes more than half of the venue's limit.
func TestScan_IsCancelledAndGoesOn(t *testing.T) {
	t.Parallel()
	const (
		pages    = 2
		onTheWay = 8 // what was on its way when it was cancelled may be read twice
		limit    = 6000
	)
	symbols := longtest.Pick(60, 500)
	half := symbols / 2
	s := startSite(t, limit)
	c := s.enter(t)
	began, last := time.Now(), 0
	reached, more := s.hold(half)
	var cancelling sync.WaitGroup
	cancelling.Go(func() {
		<-reached
		_ = post(t.Context(), t, c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`).Body.Close()
		more()
	})
	answer := watch(t.Context(), t, c, 7, "scan_symbols", scanOf(symbols), func(n notice) {
		if n.Total != symbols || n.Progress <= last {
			t.Errorf("%+v after %d", n, last)
		}
		last = n.Progress
	})
	cancelling.Wait()
	read, requests := s.read()
	took := time.Since(began)
	if answer != "" {
		t.Errorf("a cancelled call is answered: %.200s", answer)
	}
	if read > half+onTheWay || last == 0 {
		t.Errorf("%d symbols were read, notified up to %d", read, last)
	}
	began = time.Now()
	var found struct {
		Complete    bool
		Asked, Done int
	}
	text, err := c.Call(t.Context(), "scan_symbols", scanOf(symbols))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &found); err != nil || !found.Complete || found.Done != symbols {
		t.Errorf("%v: %.300s", err, text)
	}
	all, total := s.read()
	if all != symbols || total > pages*(symbols+2*onTheWay) {
		t.Errorf("%d symbols in %d requests, %d before", all, total, requests)
	}
	if used := s.venue.PeakWeight(); used > limit/2 {
		t.Errorf("a weight of %d in a minute, of %d", used, limit)
	}
	t.Logf("cancelled after %d of %d symbols (%v, last notification %d); the rest took %v; %d requests in all, the most weight in a minute is %d of %d",
		read, symbols, took.Round(time.Millisecond), last, time.Since(began).Round(time.Millisecond), total, s.venue.PeakWeight(), limit)
}
