package cluster_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"candela/internal/mcp"
	"candela/internal/order"
)

// BenchmarkOpenOrders takes over an account of 20,000 events, each a message.
func BenchmarkOpenOrders(b *testing.B) {
	const events, step = 20_000, 1000
	prefix := newPrefix()
	writer := openOrders(b, servers, prefix)
	writer.SetSize(1)
	for i := range events / step {
		var some []order.Event
		for k := range step / 2 {
			some = append(some, placed("ann", fmt.Sprintf("%d-%d", i, k))...)
		}
		if _, err := writer.AppendEvents(b.Context(), mcp.Caller{Subject: "ann"}, some); err != nil {
			b.Fatal(err)
		}
	}
	c := connect(b, servers, prefix)
	for b.Loop() {
		if _, err := c.OpenOrders(b.Context(), time.Now); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}

// BenchmarkAppendEvents writes one order as a desk does.
func BenchmarkAppendEvents(b *testing.B) {
	o := openOrders(b, servers, newPrefix())
	for i := 0; b.Loop(); i++ {
		if err := place(b.Context(), o, "o"+strconv.Itoa(i)); err != nil {
			b.Fatal(err)
		}
	}
}
