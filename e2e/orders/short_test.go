package orders

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/internal/testkit/longtest"
)

// haltedShort is a step that no row of the page has: the account is halted while the position is protected.
func haltedShort() step {
	return step{name: "halted", before: fills, venue: working, here: protected, bring: func(s *shield) {
		if out, err := run(s, "halt", "--home", s.home); err != nil {
			s.Fatal(err, out)
		}
	}}
}

// shorts are the steps of the matrix that the paper account has. The short form has one of each kind.
func shorts() []step {
	kinds := []string{
		"answered, not persisted", "entry fills while down", "stop triggers while down", "replace: cancel persisted, not sent",
		"trail: cancel persisted, not sent", "partial exit: cancel persisted, not sent", "cancel of the target: persisted, not done",
	}
	var all []step
	for _, m := range slices.Concat(placeGroup(), while(), move(), decide()) {
		if (m.places == nil || slices.Contains(m.places, "paper")) && (longtest.On() || slices.Contains(kinds, m.name)) {
			all = append(all, m)
		}
	}
	return all
}

// TestCrash_Shorts kills the program as [TestCrash_Groups] does, with a short position in a perpetual future on
// paper: what is found after the next start is the same as for a long one.
func TestCrash_Shorts(t *testing.T) {
	t.Parallel()
	if n := len(shorts()); n < longtest.Pick(7, 20) {
		t.Fatalf("only %d steps", n)
	}
	for _, m := range shorts() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := newShort(t, m)
			s.play(m)
		})
	}
	t.Run("halted", func(t *testing.T) {
		t.Parallel()
		m := haltedShort()
		s := newShort(t, m)
		s.start()
		s.tool = "place_order"
		m.before(s)
		m.bring(s)
		s.program.kill()
		s.program = start(s, s.home, nil, append(s.venue.args, "--toolsets", "account"))
		s.becomes(m.venue, m.here, func() {})
		s.asAsked(nil)
		var account struct {
			State string `json:"trading_state"`
		}
		if err := json.Unmarshal([]byte(s.program.must("get_account", `{}`).text), &account); err != nil || account.State != "HALTED" {
			t.Errorf("trading is %+v, %v", account, err)
		}
		s.holder.move(s.holder.crash)
		s.becomes(stopped, stopped, func() { s.holder.move(s.holder.crash) })
		s.exact()
		if r := s.program.must("get_positions", `{}`); strings.TrimSpace(r.text) != "[]" {
			t.Errorf("the halt kept the stop from closing: %s", r.text)
		}
	})
}

func newShort(t *testing.T, m step) *shield {
	t.Helper()
	legs := 2
	if m.single {
		legs = 1
	}
	home, h := newHome(t), shortOnPaper(t, legs)
	policy(t, home, append(h.laws, m.laws...)...)
	return &shield{scene: newScene(t, h.venue, home), holder: h, legs: legs}
}
