package recordtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"candela/internal/alerting/notify"
)

// RunOutage tests inboxes during an outage of their store, which outage causes and ends.
// maxOutage is as of RunInbox.
func RunOutage(t *testing.T, maxOutage time.Duration, open Opener, outage func()) {
	t.Helper()
	w := newInstallation(t, maxOutage, open)
	a, b := w.start(), w.start()
	a.subscribe("k", "A")
	b.subscribe("away", "A")
	s := a.stream("k", "")
	w.fire("A", "A")
	wantEvents(t, s, 1, 2)
	batch, got := b.poll()
	if !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("%v", got)
	}
	outage()
	w.fire("A")
	wantEvents(t, s, 3) // open streams continue
	late := append([]uint64{}, got...)
	batch.Settle(false)
	c := w.start()
	for key, queued := range map[string]int{"k": 0, "away": 3} {
		Eventually(t, func() error {
			got, err := c.Subscription(t.Context(), caller(key))
			if err != nil || !got.Active || got.Connected != (key == "k") || got.Queued != queued {
				return fmt.Errorf("%s has %+v, %w", key, got, err)
			}
			return nil
		})
	}
	Eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		more, err := c.Poll(ctx, caller("poller"), time.Second, notify.Bound{})
		if err != nil {
			return err
		}
		late = append(late, seqs(more)...)
		if slices.Sort(late); !slices.Equal(late, []uint64{1, 1, 2, 2, 3}) {
			return fmt.Errorf("polled %v", late)
		}
		return nil
	})
	moved := reopen(t, c, "k")
	waitClosed(t, s)
	w.fire("A")
	wantEvents(t, moved, 4)
}

// reopen opens a stream, retrying as a client does.
func reopen(t *testing.T, r *Replica, key string) (s notify.Stream) {
	t.Helper()
	Eventually(t, func() (err error) {
		s, err = r.Open(t.Context(), caller(key), "")
		return err
	})
	return s
}
