package fair_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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
		hold, err := slots.Take(t.Context(), "greedy", "token")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var all sync.WaitGroup
		take := func(name string) {
			all.Go(func() {
				release, err := slots.Take(t.Context(), name, "token")
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
		hold, err := slots.Take(t.Context(), "a", "token")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := slots.Take(ctx, "b", "token"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting failed: %v", err)
		}
		if n := slots.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
		hold()
		release, err := slots.Take(t.Context(), "b", "token")
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
				release, err := slots.Take(ctx, string(rune('a'+i%5)), "token")
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
		if _, err := slots.Take(ctx, "last", "token"); err != nil {
			t.Errorf("a slot was lost: %v", err)
		}
		cancel()
	}
}

// The tokens of an owner take turns among themselves, and one owner has one turn however many
// tokens it has.
func TestSlots_TokensShareTheTurnsOfTheirOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		hold, err := slots.Take(t.Context(), "other", "x")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var all sync.WaitGroup
		for _, who := range []string{"ann 1", "ann 1", "ann 1", "ann 2", "bob 1", "bob 1"} {
			owner, token, _ := strings.Cut(who, " ")
			all.Go(func() {
				release, err := slots.Take(t.Context(), owner, token)
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, who)
				time.Sleep(time.Millisecond)
				release()
			})
			synctest.Wait()
		}
		hold()
		all.Wait()
		if want := []string{"ann 1", "bob 1", "ann 2", "bob 1", "ann 1", "ann 1"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Turns are counted by the time that they took: of two owners, the one with turns of three
// milliseconds gets one for three of the other.
func TestSlots_CountTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		turns := map[string]int{}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for owner, took := range map[string]time.Duration{"slow": 3 * time.Millisecond, "quick": time.Millisecond} {
			for range 2 { // so that it always waits
				all.Go(func() {
					for {
						release, err := slots.Take(ctx, owner, "token")
						if err != nil {
							return
						}
						turns[owner]++
						time.Sleep(took)
						release()
					}
				})
			}
		}
		time.Sleep(600 * time.Millisecond)
		cancel()
		all.Wait()
		if ratio := float64(turns["quick"]) / float64(turns["slow"]); ratio < 2.7 || ratio > 3.3 {
			t.Errorf("%v, quick : slow = %.2f", turns, ratio)
		}
	})
}

// One owner with a thousand open calls delays two hundred quiet ones little: the 99th
// percentile of their waits with their work is at most twice that without the noise. The
// clock is that of the test, so the figures are the same everywhere.
func TestSlots_OneNoisyOwnerAmongQuietOnes(t *testing.T) {
	t.Parallel()
	const work, quietOwners = 13 * time.Millisecond, 200
	measure := func(noise int) (p50, p99 time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			slots := fair.NewSlots(2)
			slots.SetShare(1)
			rng := rand.New(rand.NewPCG(1, 2))
			ctx, cancel := context.WithCancel(t.Context())
			use := func(ctx context.Context, owner string) bool {
				held, done, err := slots.HoldBriefly(ctx, owner, "token")
				if err != nil {
					return false
				}
				defer done()
				for range work / time.Millisecond {
					time.Sleep(time.Millisecond)
					if fair.Pause(held) != nil {
						return false
					}
				}
				return true
			}
			var all, noisy sync.WaitGroup
			for range noise {
				noisy.Go(func() {
					for use(ctx, "noisy") {
					}
				})
			}
			var mu sync.Mutex
			var took []time.Duration
			for i := range 4000 { // a quiet call each 25 ms in the mean: 26 % of two processors
				time.Sleep(time.Duration(rng.ExpFloat64() * float64(25*time.Millisecond)))
				owner := "quiet " + strconv.Itoa(i%quietOwners)
				all.Go(func() {
					began := time.Now()
					use(t.Context(), owner)
					mu.Lock()
					defer mu.Unlock()
					took = append(took, time.Since(began))
				})
			}
			all.Wait()
			cancel()
			noisy.Wait()
			slices.Sort(took)
			p50, p99 = took[len(took)/2], took[len(took)*99/100]
		})
		return p50, p99
	}
	alone50, alone99 := measure(0)
	for _, noise := range []int{64, 1000} {
		p50, p99 := measure(noise)
		t.Logf("%d open calls of one owner: quiet p50 %v, p99 %v; without %v, %v", noise, p50, p99, alone50, alone99)
		if p99 > 2*alone99 {
			t.Errorf("p99 %v beside the noise, %v without", p99, alone99)
		}
	}
}
