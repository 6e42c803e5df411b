package local

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// FuzzFile reads arbitrary files. A file that can be decoded must not harm the inbox, and
// must be written as it was read.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"version":1}`,
		`{"version":1,"polling":{"owner":{"cursor":7,"back":[2,5]}},"subscriptions":{"k":{"owner":"owner","client":"c","symbols":["binance:BTCUSDT"],` +
			`"alert_types":["price_above"],"since":4,"kept":[1,3],"cursor":2,"seen":"2026-01-31T16:00:00Z","expires":"2026-02-07T16:00:00Z"}}}`,
		`{"version":1,"subscriptions":{"k":{"owner":"owner","since":18446744073709551615,"cursor":18446744073709551615,"kept":[0,18446744073709551615]}}}`,
		`{"version":1,"subscriptions":{"k":{"owner":"owner"},"l":{"owner":"other"}},"polling":{"owner":{"cursor":2,"back":[1,9]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := read(data)
		if err != nil {
			return
		}
		written := write(t, log)
		again, err := read(written)
		if err != nil {
			t.Fatalf("%s was written but cannot be read: %v", written, err)
		}
		if diff := cmp.Diff(parsed(t, written), parsed(t, write(t, again))); diff != "" {
			t.Fatal(diff)
		}
		exercise(t, again)
	})
}

func read(data []byte) (*Inbox, error) {
	now := func() time.Time { return time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC) }
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	b := New(Config{Now: now, Log: slog.New(slog.DiscardHandler)})
	b.load(f)
	return b, nil
}

func write(t *testing.T, log *Inbox) []byte {
	t.Helper()
	data, err := log.encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parsed(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// exercise uses the readers of an inbox as a process does after its start.
func exercise(t *testing.T, log *Inbox) {
	t.Helper()
	var entries []notify.Entry
	for seq := range uint64(9) {
		entries = append(entries, notify.Entry{
			Seq: seq + 1, Owner: "owner", Symbol: market.Symbol{Name: "BTCUSDT"}, Type: "price_above",
			At: time.Date(2026, 1, 31, 15, 30, 0, 0, time.UTC), Data: []byte("{}"),
		})
	}
	log.Restore(8, entries[:8])
	c := principal.Caller{Subject: "owner", Key: "k", ClientKey: "c"}
	before, _ := log.Subscription(t.Context(), c)
	stream, err := log.Open(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := takeAll(stream); got != before.Queued || got > 8 {
		t.Fatalf("backlog of %d, took %d", before.Queued, got)
	}
	if err := log.Subscribe(t.Context(), c, notify.Filter{}); err != nil {
		t.Fatal(err)
	}
	log.Append(entries[8:])
	if got := takeAll(stream); got != 1 {
		t.Fatalf("took %d entries after the start", got)
	}
	if b, err := log.Poll(t.Context(), c, 0, notify.Bound{}); err != nil || len(b.Entries) == 0 || b.Entries[len(b.Entries)-1].Seq != 9 {
		t.Fatalf("%+v, %v", b, err)
	}
}

// takeAll returns how many entries a stream delivers now.
func takeAll(stream notify.Stream) (n int) {
	for events := stream.Take(nil); len(events) > 0; events = stream.Take(nil) {
		n += len(events)
	}
	return n
}
