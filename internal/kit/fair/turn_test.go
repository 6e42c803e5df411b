package fair_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/fair"
)

// TestPause_LendsTheSlot holds that short work waits for a pause of long work, not for its end.
func TestPause_LendsTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		ctx, done, err := slots.Hold(t.Context(), "long", "token")
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan time.Duration)
		began := time.Now()
		go func() {
			release, err := slots.Take(t.Context(), "short", "token")
			if err != nil {
				t.Error(err)
			} else {
				release()
			}
			waited <- time.Since(began)
		}()
		for range 1000 { // a minute of work
			time.Sleep(60 * time.Millisecond)
			if err := fair.Pause(ctx); err != nil {
				t.Fatal(err)
			}
		}
		done()
		if took := <-waited; took > 100*time.Millisecond {
			t.Errorf("waited %s", took)
		}
		release, err := slots.Take(t.Context(), "next", "token")
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}

// TestPause_LendsToWhoHasUsedLess holds that an owner who has used much gives its slots to others at
// once, and that two who have used little do not interrupt each other.
func TestPause_LendsToWhoHasUsedLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		var mu sync.Mutex
		var got []string
		draw := func(name string) { // a chart of 10 ms
			ctx, done, err := slots.HoldBriefly(t.Context(), name, "token")
			if err != nil {
				t.Error(err)
				return
			}
			defer done()
			for range 10 {
				mu.Lock()
				got = append(got, name)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				if err := fair.Pause(ctx); err != nil {
					t.Error(err)
				}
			}
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { draw("noisy") })
		}
		time.Sleep(55 * time.Millisecond)
		mu.Lock()
		before := len(got)
		mu.Unlock()
		for _, name := range []string{"ann", "bob"} {
			all.Go(func() { draw(name) })
			synctest.Wait()
		}
		all.Wait()
		got = got[before:]
		want := slices.Concat(slices.Repeat([]string{"ann"}, 10), slices.Repeat([]string{"bob"}, 10))
		if first := slices.Index(got, "ann"); first > 2 || !slices.Equal(got[first:first+20], want) {
			t.Errorf("after the others came: %v", got)
		}
	})
}

// TestPause_LentWorkIsFew holds that work that has lent its slot goes on before new work of its
// owner, and that as much of it waits as there are slots, however many owners are there.
func TestPause_LentWorkIsFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const number = 2
		slots := fair.NewSlots(number)
		slots.SetShare(1)
		var mu sync.Mutex
		var begun, most int // works that have begun and not ended
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			begun += by
			most = max(most, begun)
		}
		var all sync.WaitGroup
		for i := range 60 {
			time.Sleep(time.Duration(i%7) * time.Millisecond)
			all.Go(func() {
				ctx, done, err := slots.HoldBriefly(t.Context(), strconv.Itoa(i%9), "token")
				if err != nil {
					t.Error(err)
					return
				}
				count(1)
				for range 5 + i%50 {
					time.Sleep(time.Millisecond)
					_ = fair.Pause(ctx)
				}
				count(-1)
				done()
			})
		}
		all.Wait()
		if most != 2*number {
			t.Errorf("up to %d works were begun at a time, want %d", most, 2*number)
		}
		if n := slots.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
		for range number { // all slots are there
			if _, err := slots.Take(t.Context(), strconv.Itoa(number), "token"); err != nil {
				t.Error(err)
			}
			slots.SetShare(number)
		}
	})
}

func TestPause_EndsCancelledWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if err := fair.Pause(t.Context()); err != nil {
			t.Error(err)
		}
		slots, reason := fair.NewSlots(1), errors.New("not wanted")
		parent, cancel := context.WithCancelCause(t.Context())
		ctx, done, err := slots.Hold(parent, "long", "token")
		if err != nil {
			t.Fatal(err)
		}
		cancel(reason)
		if err := fair.Pause(ctx); !errors.Is(err, reason) {
			t.Error(err)
		}
		done()
		done()

		// One that is cancelled while its slot is lent gives nothing back twice.
		for _, hold := range []func(context.Context, string, string) (context.Context, func(), error){slots.Hold, slots.HoldBriefly} {
			parent, cancel := context.WithCancelCause(t.Context())
			ctx, done, err := hold(parent, "long", "token")
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan func())
			go func() {
				release, _ := slots.Take(t.Context(), "short", "token")
				got <- release
			}()
			time.Sleep(time.Second)
			time.AfterFunc(time.Second, func() { cancel(reason) })
			ended := make(chan error)
			go func() { ended <- fair.Pause(ctx) }()
			release := <-got
			if err := <-ended; !errors.Is(err, reason) {
				t.Error(err)
			}
			done()
			release()
			if n := slots.Waiting(); n != 0 {
				t.Errorf("%d wait", n)
			}
		}
	})
}
