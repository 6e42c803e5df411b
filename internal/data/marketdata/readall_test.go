package marketdata

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadAll_ReadsAtTheSameTimeAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		requests := []Request{{Bars: 3}, {Bars: 1}, {Bars: 2}}
		sets, err := ReadAll(t.Context(), requests, func(_ context.Context, r Request) (BarSet, error) {
			time.Sleep(time.Duration(r.Bars) * time.Second)
			return BarSet{Provider: strconv.Itoa(r.Bars)}, nil
		})
		if err != nil || time.Since(began) != 3*time.Second {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		for i, r := range requests {
			if sets[i].Provider != strconv.Itoa(r.Bars) {
				t.Errorf("result %d belongs to request %s", i, sets[i].Provider)
			}
		}
	})
}

func TestReadAll_AFailureEndsTheOthersAndIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("no such symbol")
		var ended atomic.Int32
		sets, err := ReadAll(t.Context(), []Request{{Bars: 1}, {Bars: 2}, {Bars: 3}}, func(ctx context.Context, r Request) (BarSet, error) {
			if r.Bars == 2 {
				time.Sleep(time.Second)
				return BarSet{}, failure
			}
			<-ctx.Done()
			ended.Add(1)
			return BarSet{}, ctx.Err()
		})
		if !errors.Is(err, failure) || sets != nil || ended.Load() != 2 {
			t.Errorf("%v, %v, %d ended", sets, err, ended.Load())
		}
	})
}

func TestReadAll_AGivenUpCallIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ReadAll(ctx, []Request{{Bars: 1}}, func(ctx context.Context, _ Request) (BarSet, error) { return BarSet{}, ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
