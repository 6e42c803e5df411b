package soak

import (
	"testing"
	"time"

	"candela/e2e/remote"
)

// TestHeard_AFaultDelaysAPush checks what the judge expects of a login that was revoked: an alert beside the kill of
// a NATS server may fire after the revocation, and a login must get every other one.
func TestHeard_AFaultDelaysAPush(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Hour)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	for name, c := range map[string]struct {
		due, revoking float64
		faults        []span
		missed        bool
	}{
		"nothing else happens": {20, 25, nil, true},
		"revoked at once":      {20, 20.5, nil, false},
		"a server is killed before, and the login revoked": {20, 24.5, []span{{at(19.9), at(23)}}, false},
		"a server is killed after, and the login revoked":  {20, 24.5, []span{{at(20.5), at(23)}}, false},
		"revoked long after the server is back":            {20, 40, []span{{at(19.9), at(23)}}, true},
		"one server after the other":                       {20, 40, []span{{at(19.9), at(23)}, {at(30), at(35)}}, false},
		"a fault long before":                              {20, 25, []span{{at(1), at(3)}}, true},
		"a fault that lasts":                               {20, 40, []span{{at(19.9), time.Time{}}}, false},
		"never revoked, and a server is killed":            {20, -1, []span{{at(19.9), at(23)}}, true},
	} {
		l := &login{Client: &remote.Client{Name: "agent 5, login 1"}, since: at(0)}
		if c.revoking >= 0 {
			l.revoking, l.revoked = at(c.revoking), at(c.revoking+1.3)
		}
		w := &world{faults: c.faults, alerts: map[string]*alert{"a": {id: "a", symbol: "S", kind: above, due: at(c.due)}}, fired: map[string]firing{"a": {ID: "a"}}}
		if wrong := w.heard(l); (len(wrong) > 0) != c.missed {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
