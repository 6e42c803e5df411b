package orders

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestApproval_Shorts asks the owner about short positions on paper: what is approved opens with its legs, what is
// refused does not, and closing waits for nobody.
func TestApproval_Shorts(t *testing.T) {
	t.Parallel()
	m := step{laws: []string{"approval_above = 10"}}
	s := newShort(t, m)
	s.start()
	place := func(key string) string {
		t.Helper()
		var r record
		text := s.program.must("place_order", s.order(`,"idempotency_key":"`+key+`"`)).text
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Status != "pending_approval" {
			t.Fatalf("%v: %s", err, text)
		}
		return r.ID
	}
	yes, no := place("yes"), place("no")
	out, err := run(s, "approvals", "--home", s.home)
	if err != nil || !strings.Contains(out, yes) || !strings.Contains(out, "liquidation") || !strings.Contains(out, "5x") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(s, "refuse", no, "--home", s.home); err != nil || !strings.Contains(out, "was refused; nothing was sent") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(s, "approve", yes, "--home", s.home); err != nil || !strings.Contains(out, "was approved") {
		t.Errorf("%v: %s", err, out)
	}
	s.await("the legs of the short", func() bool { return s.venueHas() == working })
	s.exact()
	closing := `{"symbol":"BTCUSDT.P","side":"buy","type":"market","quantity":` + s.holder.quantity.String() + `,"reduce_only":true}`
	if r := s.program.must("place_order", closing); r.isError || strings.Contains(r.text, "pending_approval") {
		t.Errorf("closing waits: %s", r.text)
	}
	s.await("the end of the short", func() bool { return s.venueHas() == closed })
}
