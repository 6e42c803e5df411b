package owners_test

import (
	"context"
	"testing"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// slowLog is a log before and after whose next write something happens.
type slowLog struct {
	ownerstore.NoticeLog
	before, after func()
}

func (l *slowLog) AddNotices(ctx context.Context, notices []order.Notice) error {
	l.before()
	defer l.after()
	return l.NoticeLog.AddNotices(ctx, notices)
}

// TestErase_LeavesNoNotice erases an owner while the last notice is published: before, after and in between. Nothing of
// the owner stays, and another owner's notice does.
func TestErase_LeavesNoNotice(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "before it is stored", "when it is stored", "after", "never"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			prefix := replicatest.NewPrefix()
			here, there := open(t, prefix), open(t, prefix)
			for _, id := range []principal.Owner{"ann", "bob"} {
				_, err := here.SeeOwner(t.Context(), owners.Owner{ID: id})
				check(t, err)
			}
			_, err := here.SetOwnerState(t.Context(), "ann", owners.Suspended)
			check(t, err)
			erased := false
			erase := func(at string) {
				if at == when && !erased {
					erased = true
					_, err := there.EraseOwner(t.Context(), "ann")
					check(t, err)
				}
			}
			log := here.Notices(&slowLog{here.alerts, func() { erase("before it is stored") }, func() { erase("when it is stored") }})
			var notices []order.Notice
			for _, id := range []principal.Owner{"ann", "bob"} {
				n := order.NewNotice(order.NoticeRecord{Event: order.NoticeState, State: "HALTED", Mode: "paper"}, market.Symbol{}, time.Now(), string(id))
				n.Owner = id
				notices = append(notices, n)
			}
			erase("before")
			for range 2 { // what is published again changes nothing
				check(t, log.AddNotices(t.Context(), notices))
			}
			erase("after")
			for id, want := range map[principal.Owner]int{"ann": map[bool]int{true: 1}[when == "never"], "bob": 1} {
				if entries, err := there.alerts.OwnerEntries(t.Context(), id); err != nil || len(entries) != want {
					t.Errorf("%s has %d notices, %v", id, len(entries), err)
				}
			}
		})
	}
}
