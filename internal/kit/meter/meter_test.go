package meter_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"candela/internal/kit/meter"
)

func TestHistogram_CountsEachOnce(t *testing.T) {
	t.Parallel()
	bounds := meter.Bounds()
	if !slices.IsSorted(bounds[:]) {
		t.Errorf("bounds %v", bounds)
	}
	var h meter.Histogram
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			h.Observe(-time.Second)
			for _, b := range bounds {
				h.Observe(b)
			}
			h.Observe(time.Hour)
		})
	}
	all.Wait()
	r := h.Read()
	want := meter.Reading{Buckets: [17]uint64{8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}}
	want.Sum = r.Sum
	if r != want || r.Count() != 72 || r.Sum < 4*time.Hour {
		t.Errorf("%+v", r)
	}
}

func TestHistogram_DoesNotAllocate(t *testing.T) {
	var h meter.Histogram
	if n := testing.AllocsPerRun(100, func() { h.Observe(time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	b.ReportAllocs()
	var h meter.Histogram
	for b.Loop() {
		h.Observe(3 * time.Millisecond)
	}
}

func TestCounters_CountKnownKinds(t *testing.T) {
	t.Parallel()
	c := meter.NewCounters("read", "write")
	if !c.Add("read") || c.Add("other") {
		t.Error("only read and write are known")
	}
	if got := c.Read(); !maps.Equal(got, map[string]uint64{"read": 1, "write": 0}) {
		t.Errorf("%v", got)
	}
}
