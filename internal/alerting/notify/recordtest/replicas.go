package recordtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"candela/internal/alerting/notify"
)

// RunReplicas tests inboxes of several replicas that share a store. maxOutage is as of
// RunInbox.
func RunReplicas(t *testing.T, maxOutage time.Duration, open Opener) {
	t.Helper()
	run(t, maxOutage, open, map[string]func(*testing.T, *Installation){
		"a stream opened elsewhere ends the former":      testMoves,
		"a stream moves back and forth":                  testMovesOften,
		"a stream without a subscription moves":          testMovesBare,
		"a confirmed filter applies everywhere":          testFilter,
		"each replica describes a remote stream":         testDescribes,
		"a subscription of another replica is inherited": testTakeover,
		"one of several returning clients inherits":      testTakeoverRace,
		"an entry goes to one caller":                    testPollMany,
		"a waiter gets the leases of a dead replica":     testPollDead,
		"a replica declared dead settles its batch":      testPollDeclaredDead,
		"a lagging replica loses nothing":                testLagPoll,
		"a resumed event is waited for":                  testLagResume,
		"a cursor ahead of the log stays":                testLagCursor,
		"an earlier filter applies to late entries":      testLagFilter,
		"all replicas may stop":                          testAllStop,
	})
}

func testMoves(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("k")
	s := a.stream("k", "")
	w.fire("A", "B", "C")
	wantEvents(t, s, 1, 2, 3)
	Eventually(t, func() error { // the cursor is written
		if got := b.subscription("k"); got.Queued > 0 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	moved := b.stream("k", "")
	waitClosed(t, s)
	w.fire("D")
	wantEvents(t, moved, 4)
	wantEvents(t, s)
	s.Close() // no effect
	w.fire("E")
	wantEvents(t, moved, 5)
	if got := a.subscription("k"); !got.Connected {
		t.Fatalf("%+v", got)
	}
}

// testMovesOften moves a stream faster than cursors are written: it may repeat entries but
// loses none.
func testMovesOften(t *testing.T, w *Installation) {
	t.Helper()
	all := []*Replica{w.start(), w.start(), w.start()}
	all[0].subscribe("k")
	highest := uint64(0)
	check := func(got []uint64) {
		for i, seq := range got {
			if i == 0 && seq > highest+1 || i > 0 && seq != got[i-1]+1 {
				t.Fatalf("stream delivered %v after %d", got, highest)
			}
		}
		if len(got) > 0 {
			highest = max(highest, got[len(got)-1])
		}
	}
	s := all[0].stream("k", "")
	for i := range 30 {
		w.fire("A", "B")
		check(taken(s))
		next := all[(i*7+1)%3].stream("k", "")
		if i%4 == 0 {
			s.Close()
		}
		s = next
	}
	if check(taken(s)); highest != 60 {
		t.Fatalf("delivered up to %d, want 60", highest)
	}
}

func testMovesBare(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	s := a.stream("k", "")
	moved := b.stream("k", "")
	waitClosed(t, s)
	if got := a.subscription("k"); got.Active || !got.Connected {
		t.Fatalf("%+v", got)
	}
	a.subscribe("k", "A")
	w.fire("A")
	wantEvents(t, moved, 1)
	moved.Close()
	Eventually(t, func() error {
		if got := a.subscription("k"); got.Connected {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
}

func testFilter(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("k", "A")
	s := a.stream("k", "")
	w.fire("B")
	wantEvents(t, s)
	for i := range 5 {
		at := uint64(1 + 4*i)
		b.subscribe("k", "B")
		w.fire("A", "B")
		wantEvents(t, s, at+2)
		b.subscribe("k", "A")
		w.fire("A", "B")
		wantEvents(t, s, at+3)
	}
	if existed, err := b.Unsubscribe(t.Context(), caller("k")); err != nil || !existed {
		t.Fatalf("%v, %v", existed, err)
	}
	w.fire("A")
	wantEvents(t, s)
	if got := a.subscription("k"); got.Active || !got.Connected {
		t.Fatalf("%+v", got)
	}
}

func testDescribes(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("k", "A")
	if got := b.subscription("k"); !got.Active || got.Connected || got.Queued != 0 {
		t.Fatalf("%+v", got)
	}
	w.fire("A", "A")
	if got := b.subscription("k"); got.Queued != 2 {
		t.Fatalf("%+v", got)
	}
	s := a.stream("k", "")
	if got := b.subscription("k"); !got.Connected || got.Queued != 2 {
		t.Fatalf("%+v", got)
	}
	wantEvents(t, s, 1, 2)
	Eventually(t, func() error {
		if got := b.subscription("k"); !got.Connected || got.Queued != 0 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	a.kill()
	if got := b.subscription("k"); got.Connected || !got.Active {
		t.Fatalf("%+v", got)
	}
}

func testTakeover(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("first", "A")
	s := a.stream("first", "")
	w.fire("A")
	wantEvents(t, s, 1)
	s.Close()
	w.fire("A")
	if got := b.subscription("second"); got.Active {
		t.Fatalf("subscription inherited from a live token: %+v", got)
	}
	Eventually(t, func() error { // until the close is written
		if got := b.subscription("first"); got.Connected {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	w.end("first")
	wantEvents(t, b.stream("second", ""), 2)
	if got := a.subscription("second"); !got.Active || !got.Connected {
		t.Fatalf("%+v", got)
	}
	if got := a.subscription("first"); got.Active {
		t.Fatalf("subscription held by two tokens: %+v", got)
	}
}

func testTakeoverRace(t *testing.T, w *Installation) {
	t.Helper()
	all := []*Replica{w.start(), w.start(), w.start()}
	all[0].subscribe("old", "A")
	w.end("old")
	var mu sync.Mutex
	heirs := 0
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			got, err := r.Subscription(t.Context(), caller(fmt.Sprint("new-", i)))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got.Active {
				heirs++
			}
		})
	}
	wg.Wait()
	if heirs != 1 {
		t.Fatalf("%d callers inherited it, want 1", heirs)
	}
}

func testPollMany(t *testing.T, w *Installation) {
	t.Helper()
	const total = 120
	all := []*Replica{w.start(), w.start(), w.start()}
	var mu sync.Mutex
	arrived, sum := map[uint64]int{}, 0
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for {
				b, err := all[i%3].Poll(t.Context(), caller("poller"), 20*time.Millisecond, notify.Bound{})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ok := sum%5 != 4 // some replies are lost
				sum++
				if ok {
					for _, seq := range seqs(b) {
						arrived[seq]++
					}
				}
				done := len(arrived) == total
				mu.Unlock()
				b.Settle(ok)
				if done {
					return
				}
			}
		})
	}
	for range total / 2 {
		w.fire("A", "B")
	}
	wg.Wait()
	for seq, n := range arrived {
		if n != 1 {
			t.Errorf("entry %d arrived %d times", seq, n)
		}
	}
}

func testPollDead(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	w.fire("A", "B")
	if _, got := a.poll(); len(got) != 2 {
		t.Fatalf("%v", got)
	}
	got := make(chan *notify.Batch, 1)
	go func() {
		batch, err := b.Poll(t.Context(), caller("poller"), time.Minute, notify.Bound{})
		if err != nil {
			t.Error(err)
		}
		got <- batch
	}()
	a.kill()
	if batch := <-got; batch == nil || !slices.Equal(seqs(batch), []uint64{1, 2}) {
		t.Fatalf("%+v", batch)
	}
}

func testPollDeclaredDead(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	w.fire("A", "B")
	first, _ := a.poll()
	a.Member.Die()
	Eventually(t, func() error {
		if waiting := b.Stats().Unpolled; waiting != 2 {
			return fmt.Errorf("%d unpolled", waiting)
		}
		return nil
	})
	first.Settle(true)
	if _, got := a.poll(); len(got) > 0 {
		t.Fatalf("settled entries delivered again: %v", got)
	}
}

func testLagPoll(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	b.lag(true)
	w.fire("A", "B")
	batch, got := a.poll()
	if !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("%v", got)
	}
	w.fire("C")
	if _, got := b.poll(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
	batch.Settle(false)
	Eventually(t, func() error {
		if waiting := b.Stats().Unpolled; waiting != 2 {
			return fmt.Errorf("%d unpolled", waiting)
		}
		return nil
	})
	if _, got := b.poll(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
	b.lag(false)
	if _, got := b.poll(); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Fatalf("%v", got)
	}
	if _, got := a.poll(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
}

func testLagResume(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("k")
	b.lag(true)
	w.fire("A", "B", "C")
	s := a.stream("k", "")
	wantEvents(t, s, 1, 2, 3)
	wantEvents(t, b.stream("k", "2"), 3)
	wantEvents(t, b.stream("k", "99")) // unknown
}

func testLagCursor(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	disconnected := func(r *Replica) {
		Eventually(t, func() error {
			if got := r.subscription("k"); got.Connected {
				return fmt.Errorf("%+v", got)
			}
			return nil
		})
	}
	a.subscribe("k")
	b.lag(true)
	w.fire("A", "B", "C")
	s := a.stream("k", "")
	wantEvents(t, s, 1, 2, 3)
	s.Close()
	disconnected(b)
	moved := b.stream("k", "")
	wantEvents(t, moved)
	b.Restore(0, nil)
	w.fire("D")
	b.lag(false)
	wantEvents(t, moved, 4)
	moved.Close()
	disconnected(a)
	wantEvents(t, a.stream("k", ""))
}

func testLagFilter(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("k", "A")
	s := a.stream("k", "")
	a.lag(true)
	w.fire("A", "B")
	b.subscribe("k", "B") // the attached replica has neither
	w.fire("A", "B")
	wantEvents(t, s)
	<-s.Ready()
	a.lag(false)
	<-s.Ready()
	wantEvents(t, s, 1, 4)
	b.lag(true)
	w.fire("B")
	b.subscribe("k", "A")
	wantEvents(t, s, 5)
}

func testAllStop(t *testing.T, w *Installation) {
	t.Helper()
	a, b := w.start(), w.start()
	a.subscribe("k", "A")
	s := b.stream("k", "")
	w.fire("A", "A")
	wantEvents(t, s, 1, 2)
	a.shutdown()
	s.Close()
	b.shutdown()
	w.fire("A")
	c := w.start()
	if got := c.subscription("k"); !got.Active || got.Connected || got.Queued != 1 {
		t.Fatalf("%+v", got)
	}
	wantEvents(t, c.stream("k", ""), 3)
}
