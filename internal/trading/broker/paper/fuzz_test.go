package paper_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// FuzzJournal reads journals that somebody else wrote. One that is read can be
// asked for everything.
func FuzzJournal(f *testing.F) {
	j := &papertest.Journal{}
	v := open(f, j)
	v.submit(f, spec(order.Buy, order.Market, "1", ""))
	rests := spec(order.Sell, order.Limit, "0.5", "60000")
	v.submit(f, rests)
	if _, err := v.Cancel(f.Context(), rests.Handle()); err != nil {
		f.Fatal(err)
	}
	v.place(f, bracket("49000", "48000", "52000")...)
	trail := trailing("2")
	trail.ID = "trail"
	v.place(f, trail)
	v.bars(0, bar{50000, 50500, 48500, 49500, 0.3}, bar{49000, 49000, 47000, 47000, 0.9})
	var lines [][]byte
	for line, err := range j.Entries(f.Context()) {
		if err != nil {
			f.Fatal(err)
		}
		lines = append(lines, line)
	}
	f.Add(bytes.Join(lines, []byte("\n")))
	f.Add([]byte(`{"amended":{"id":"1","quantity":"0"}}`))
	f.Add([]byte(`{"triggered":{"id":"1"}}`))
	f.Add([]byte(`{"taken":{"id":"1","symbol":"a:B","side":"buy","type":"limit","quantity":"1e999999999","price":"1"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := &papertest.Journal{}
		if err := j.Append(t.Context(), bytes.Split(data, []byte("\n"))...); err != nil {
			t.Fatal(err)
		}
		again, err := v.Again(t.Context(), j)
		if err != nil {
			return
		}
		open, err := again.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Holdings(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(open); err != nil {
			t.Fatal(err)
		}
		for _, r := range open {
			if _, err := again.Cancel(t.Context(), r.Handle()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
