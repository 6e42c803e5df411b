package deploy

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestScan_IsWhatEncodingJSONReads writes drawn entries in both ways: the texts are equal, and both readers find the same.
func TestScan_IsWhatEncodingJSONReads(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(longtest.Seed(), 21))
	amount := func() decimal.Decimal {
		if r.IntN(2) == 0 {
			return decimal.Zero
		}
		return decimal.New(r.Int64N(1e9)-1e8, int32(r.IntN(12)-9))
	}
	names := []string{"", "L", "long entry", `a "key":"b`, "<b>&", "über\u2028", "\x01\xff", "\\"}
	name := func() string { return names[r.IntN(len(names))] }
	for range longtest.Pick(2000, 500_000) {
		intents := make([]Intent, 1+r.IntN(3))
		for k := range intents {
			intents[k] = Intent{
				Key: "s1-" + name(), Kind: []Kind{EntryKind, LineKind, CloseKind, WithdrawKind}[r.IntN(4)], ID: name(), From: name(), Lot: r.IntN(3), Side: order.Side(r.IntN(3)),
				Quantity: amount(), Closes: amount(), Limit: amount(), Stop: amount(), Trails: r.IntN(2) == 0, StopLoss: amount(), TakeProfit: amount(),
				StopApart: amount(), TargetApart: amount(), StopPercent: amount(), TargetPercent: amount(),
			}
		}
		want, err := json.Marshal(intents)
		if got := appendIntents(nil, intents); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, not %s: %v", got, want, err)
		}
		b := market.Bar{T: r.Int64(), O: r.NormFloat64(), H: r.Float64(), L: -r.Float64(), C: r.ExpFloat64(), V: r.Float64() * 1e9, TakerBuy: r.Float64()}
		e := barOf(&b, intents, r.IntN(2) == 0)
		e.At = time.Unix(r.Int64N(2e9), r.Int64N(1e9)).UTC()
		data, err := json.Marshal(e)
		var slow, fast entry
		if err == nil {
			err = json.Unmarshal(data, &slow)
		}
		if !fast.scan(data) || err != nil {
			t.Fatalf("%s was not read: %v", data, err)
		}
		for _, is := range []*entry{&slow, &fast} {
			bars, err := is.bars()
			if err != nil || len(bars) != 1 || bars[0] != b || is.Late != e.Late || is.Kind != entryBar || !bytes.Equal(is.Intents.RawMessage, want) || !is.Intents.are(intents) {
				t.Fatalf("%s: %+v, %v %v", data, is, bars, err)
			}
		}
		some := make([]market.Bar, 1+r.IntN(3))
		for k := range some {
			some[k] = market.Bar{T: r.Int64(), O: r.NormFloat64()}
		}
		some[len(some)-1].T = r.Int64()
		block, err := blockOf(some)
		var text []byte
		if err == nil {
			text, err = json.Marshal(block)
		}
		var is entry
		if got, failed := is.bars(); err != nil || !is.scan(text) || len(got) > 0 || failed != nil || is.Bars != len(some) || is.Through != some[len(some)-1].T {
			t.Fatalf("%s: %+v, %v", text, is, err)
		}
		if got, err := is.bars(); err != nil || !slices.Equal(got, some) {
			t.Fatalf("%s: %v, %v", text, got, err)
		}
		intents[0].Quantity = intents[0].Quantity.Add(decimal.NewFromInt(1))
		if cut := data[:r.IntN(len(data))]; fast.Intents.are(intents) || new(entry).scan(cut) && json.Valid(cut) {
			t.Fatalf("%s: other intents, or a part of it, are the same", data)
		}
	}
}
