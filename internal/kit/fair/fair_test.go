package fair_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/fair"
)

func TestSlots_AreTakenInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		hold, err := slots.Take(t.Context(), "greedy")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var all sync.WaitGroup
		take := func(name string) {
			all.Go(func() {
				release, err := slots.Take(t.Context(), name)
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, name) // one at a time has the slot
				release()
			})
			synctest.Wait()
		}
		for range 4 {
			take("greedy")
		}
		take("modest")
		take("third")
		if n := slots.Waiting(); n != 6 {
			t.Errorf("%d wait", n)
		}
		hold()
		hold() // a second time gives nothing back
		all.Wait()
		if want := []string{"greedy", "modest", "third", "greedy", "greedy", "greedy"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestSlots_WhoLeavesTakesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		hold, err := slots.Take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := slots.Take(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting failed: %v", err)
		}
		if n := slots.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
		hold()
		release, err := slots.Take(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}

// However takes, waits and leaves race, no slot is lost and none is taken twice.
func TestSlots_KeepTheirNumber(t *testing.T) {
	t.Parallel()
	const most = 3
	slots := fair.NewSlots(most)
	var all sync.WaitGroup
	held := make(chan struct{}, most)
	for i := range 16 {
		all.Go(func() {
			for k := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+k)%3 == 0 {
					time.AfterFunc(time.Duration(k)*time.Microsecond, cancel)
				}
				release, err := slots.Take(ctx, string(rune('a'+i%5)))
				if err == nil {
					select {
					case held <- struct{}{}:
						<-held
					default:
						t.Error("more slots are taken than there are")
					}
					release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	for range most {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := slots.Take(ctx, "last"); err != nil {
			t.Errorf("a slot was lost: %v", err)
		}
		cancel()
	}
}
