package desk_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// An order that waits to be sent is not, when the token it was placed with ends.
func TestSend_NotWithATokenThatHasEnded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for i := range 4 { // which hold up the others
			w.venue.Fail(brokertest.Fault{Hang: true})
			go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.1", strconv.Itoa(48000+i))) }()
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		tokens := map[string]principal.Caller{
			"live":    {Key: "live", Expires: time.Now().Add(time.Hour)},
			"revoked": {Key: "revoked", Expires: time.Now().Add(time.Hour)},
			"expires": {Key: "expires", Expires: time.Now().Add(2 * time.Second)},
		}
		prices := map[string]string{"live": "47000", "revoked": "46000", "expires": "45000"}
		for _, name := range slices.Sorted(maps.Keys(tokens)) {
			c := tokens[name]
			c.Subject = owner
			go func() { _, _ = w.Place(w.t.Context(), c, limit("0.1", prices[name])) }()
			synctest.Wait()
		}
		w.RevokeTokens("revoked", "another")
		time.Sleep(time.Minute)
		all, err := w.Orders(w.t.Context(), caller(), false)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range all {
			name := o.Token
			if prices[name] == "" {
				continue
			}
			sent := w.taken(o.ID) > 0
			switch {
			case name == "live" && (!sent || o.Status != order.Accepted):
				w.t.Errorf("%s: sent %t, %v %s", name, sent, o.Status, o.Reason)
			case name != "live" && (sent || o.Status != order.Rejected || !strings.Contains(o.Reason, "login")):
				w.t.Errorf("%s: sent %t, %v %s", name, sent, o.Status, o.Reason)
			}
			delete(prices, name)
		}
		if len(prices) > 0 {
			w.t.Errorf("no orders of %v", prices)
		}
	})
}

func TestSend_NothingWhenAllTokensHaveEnded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for i := range 4 {
			w.venue.Fail(brokertest.Fault{Hang: true})
			go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.1", strconv.Itoa(48000+i))) }()
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		place := func(key, price string) {
			c := principal.Caller{Subject: owner, Key: key, Expires: time.Now().Add(time.Hour)}
			go func() { _, _ = w.Place(w.t.Context(), c, limit("0.1", price)) }()
			synctest.Wait()
		}
		place("before", "47000")
		w.RevokeTokens()
		time.Sleep(time.Second)
		place("after", "46000")
		time.Sleep(time.Minute)
		if got := w.venue.Orders(); len(got) != 1 || got[0].Price.String() != "46000" {
			w.t.Errorf("the venue has %+v", got)
		}
	})
}

// An order that is being judged while all logins end is not sent either.
func TestSend_NotWhenAllTokensEndWhileItIsJudged(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.slow().Store(int64(2 * time.Second))
		time.AfterFunc(time.Second, func() { w.RevokeTokens() })
		c := principal.Caller{Subject: owner, Key: "before", Expires: time.Now().Add(time.Hour)}
		o, err := w.Place(w.t.Context(), c, limit("0.1", "47000"))
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Errorf("the venue has %d orders: %+v, %v", n, o, err)
		}
	})
}
