package inboxtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/shutdown"
)

// poll polls without waiting and returns the sequence numbers.
func (s *scene) poll(key string) (*notify.Batch, []uint64) {
	s.t.Helper()
	b, err := s.Poll(s.t.Context(), caller(key), 0, notify.Bound{})
	if err != nil {
		s.t.Fatal(err)
	}
	return b, seqsOf(s.t, b)
}

func seqsOf(t *testing.T, b *notify.Batch) []uint64 {
	t.Helper()
	seqs := make([]uint64, len(b.Entries))
	for i, e := range b.Entries {
		seqs[i] = e.Seq
		if seqOf(t, e.Data) != e.Seq || e.Owner != "owner" || e.Type == "" || e.Symbol.IsZero() || e.At.IsZero() {
			t.Fatalf("%+v lost a part", e)
		}
	}
	return seqs
}

func TestPoll_IsSharedByTheTokensOfAnOwner(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fire("BTCUSDT", "AAPL")
	if _, got := s.poll("one"); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("polled %v", got)
	}
	if _, got := s.poll("two"); len(got) > 0 {
		t.Fatalf("%v was delivered twice", got)
	}
	s.fire("BTCUSDT")
	if _, got := s.poll("two"); !slices.Equal(got, []uint64{3}) {
		t.Fatalf("polled %v", got)
	}
	other, err := s.Poll(t.Context(), callerOf("stranger"), 0, notify.Bound{})
	if err != nil || len(other.Entries) > 0 {
		t.Fatalf("another owner got %+v, %v", other, err)
	}
}

func TestPoll_ReturnsUndeliveredEntriesFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fire("AAPL", "AAPL")
	first, _ := s.poll("one")
	s.fire("AAPL")
	second, _ := s.poll("two")
	s.fire("AAPL")
	second.Settle(false)
	first.Settle(false)
	first.Settle(true) // later calls are ignored
	if _, got := s.poll("one"); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Fatalf("polled %v", got)
	}
}

func TestPoll_CrashRepeatsUnsettledEntries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	all := s.entries(4)
	s.Append(all[:1])
	arrived, _ := s.poll("one")
	s.Append(all[1:2])
	_, _ = s.poll("one") // unsettled when the process dies
	arrived.Settle(true)
	s.Append(all[2:])
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	s.reopen()
	s.Restore(4, all)
	if _, got := s.poll("one"); !slices.Equal(got, []uint64{2, 3, 4}) {
		t.Fatalf("polled %v", got)
	}
}

func TestPoll_KeepsTheNewestTenThousandForAWeek(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Append(s.entries(1))
	s.now = s.now.Add(time.Hour)
	s.Append(s.entries(1))
	s.now = s.now.Add(7*24*time.Hour - time.Hour)
	if _, got := s.poll("one"); !slices.Equal(got, []uint64{2}) {
		t.Fatalf("polled %v, want entries of the past week", got)
	}
	s.Append(s.entries(10_500))
	if _, got := s.poll("one"); len(got) != 10_000 || got[0] != 503 {
		t.Fatalf("polled %d from %d on, want 10000 from 503 on", len(got), got[0])
	}
}

func TestPoll_Waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		began := time.Now()
		if b, err := s.Poll(t.Context(), caller("one"), time.Minute, notify.Bound{}); err != nil || len(b.Entries) > 0 || time.Since(began) != time.Minute {
			t.Fatalf("%+v, %v after %s", b, err, time.Since(began))
		}
		time.AfterFunc(10*time.Second, func() { s.fire("AAPL") })
		began = time.Now()
		b, err := s.Poll(t.Context(), caller("one"), time.Minute, notify.Bound{})
		if err != nil || len(b.Entries) != 1 || time.Since(began) != 10*time.Second {
			t.Fatalf("%+v, %v after %s", b, err, time.Since(began))
		}
	})
}

func TestPoll_StopEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		stopping, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		began := time.Now()
		b, err := s.Poll(shutdown.With(t.Context(), stopping), caller("one"), time.Minute, notify.Bound{})
		if err != nil || len(b.Entries) > 0 || time.Since(began) != 10*time.Second {
			t.Fatalf("%+v, %v after %s", b, err, time.Since(began))
		}
	})
}

// The first waiter is woken and cancelled at the same moment, in either order.
func TestPoll_CancelledCallerTakesNothingAndWakesTheNext(t *testing.T) {
	t.Parallel()
	for name, both := range map[string]func(fire, cancel func()){
		"called, then cancelled": func(fire, cancel func()) { fire(); cancel() },
		"cancelled, then called": func(fire, cancel func()) { cancel(); fire() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				failed, got := make(chan error, 1), make(chan []uint64, 1)
				go func() {
					_, err := s.Poll(ctx, caller("one"), time.Hour, notify.Bound{})
					failed <- err
				}()
				synctest.Wait()
				go func() {
					b, _ := s.Poll(t.Context(), caller("two"), time.Hour, notify.Bound{})
					got <- seqsOf(t, b)
				}()
				synctest.Wait()
				both(func() { s.Append(s.entries(1)) }, cancel)
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if seqs := <-got; !slices.Equal(seqs, []uint64{1}) || time.Since(began) != 0 {
					t.Fatalf("the second caller got %v after %s", seqs, time.Since(began))
				}
			})
		})
	}
}

// TestPoll_EachEntryGoesToOneCaller polls one queue with different callers: with long and short
// waits, cancelled ones, and ones that do not receive the reply.
func TestPoll_EachEntryGoesToOneCaller(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			const total = 2000
			var mu sync.Mutex
			arrived := map[uint64]int{}
			ctx, stop := context.WithCancel(t.Context())
			var callers sync.WaitGroup
			for i := range 8 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				callers.Go(func() {
					for ctx.Err() == nil {
						call, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(50))*time.Millisecond)
						b, err := s.Poll(call, caller(strconv.Itoa(i)), time.Duration(rng.IntN(60))*time.Millisecond, notify.Bound{Entries: rng.IntN(4)})
						cancel()
						if err != nil {
							continue
						}
						ok := rng.IntN(4) > 0
						mu.Lock()
						for _, seq := range seqsOf(t, b) {
							if ok {
								arrived[seq]++
							}
						}
						mu.Unlock()
						b.Settle(ok)
						time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
					}
				})
			}
			for range total / 2 {
				s.Append(s.entries(2))
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Second)
			stop()
			callers.Wait()
			for seq := range uint64(total) {
				if arrived[seq+1] != 1 {
					t.Errorf("entry %d was delivered %d times", seq+1, arrived[seq+1])
				}
			}
		})
	}
}
