package order_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/internal/trading/order"
)

// TestNotices_PartsTogether fills an order in many parts. One is reported at once, and those that follow within ten
// seconds together, when these are over: the last part is reported, and no two within ten seconds.
func TestNotices_PartsTogether(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fills []int // seconds
		end   string
		want  string
	}{
		"one":                        {[]int{0}, "", "0: 1"},
		"two close together":         {[]int{0, 3}, "", "0: 1; 10: 2"},
		"two apart":                  {[]int{0, 10}, "", "0: 1; 10: 2"},
		"three close together":       {[]int{0, 3, 9}, "", "0: 1; 10: 3"},
		"again after those together": {[]int{0, 3, 12, 19}, "", "0: 1; 10: 2; 20: 4"},
		"long after those together":  {[]int{0, 3, 40, 41}, "", "0: 1; 10: 2; 40: 3; 50: 4"},
		"one each second":            {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "", "0: 1; 10: 10; 20: 13"},
		"canceled by its client":     {[]int{0, 3}, "canceled", "0: 1; 5: ended 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			buy := origin("buy", order.Buy, "100")
			b, reported := order.NewBook("me"), map[string]string(nil)
			var got []string
			begun := second(5)
			note := func(at int, notices []order.Notice) {
				for _, n := range notices {
					r, _ := order.ParseNotice(n.Data)
					if r.Event == order.NoticeEnded {
						r.Filled = "ended " + r.Filled
					}
					got = append(got, fmt.Sprintf("%d: %s", at, r.Filled))
				}
			}
			apply := func(at int, e order.Event) {
				e.At = begun.Add(time.Duration(at) * time.Second)
				note(at, b.Notices([]order.Event{e}))
				if err := b.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range []order.Event{created(buy), event("buy", order.KindSent), event("buy", order.KindAccepted)} {
				apply(0, e)
			}
			for at, n := 0, 0; at <= 60; at++ {
				var due []order.Notice
				due, reported = b.PartNotices(begun.Add(time.Duration(at)*time.Second), reported)
				note(at, due)
				if n < len(tc.fills) && tc.fills[n] == at {
					f := trade(buy, n, "1", "100")
					f.At = begun.Add(time.Duration(at) * time.Second)
					apply(at, filled(f))
					n++
				}
				if at == 5 && tc.end != "" {
					apply(at, event("buy", order.KindCancelRequested))
					apply(at, event("buy", order.KindCanceled))
				}
			}
			if all := strings.Join(got, "; "); all != tc.want {
				t.Errorf("reported %s, want %s", all, tc.want)
			}
		})
	}
}
