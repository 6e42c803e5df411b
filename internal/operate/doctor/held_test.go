package doctor

import (
	"testing"

	"candela/internal/operate/control"
)

func TestHeldStops(t *testing.T) {
	t.Parallel()
	expect(t, heldStops(control.AccountStatus{Account: "paper", Held: 1}), Warning, "paper: candela holds 1 stop; it protects only while candela runs", "keep candela running")
	expect(t, heldStops(control.AccountStatus{Account: "alpaca", Held: 2}), Warning, "alpaca: candela holds 2 stops; they protect only while candela runs", "held_stops")
}

func TestNotEvaluated(t *testing.T) {
	t.Parallel()
	expect(t, setAsideAlerts(1, 5), Warning, "1 of 5 are set aside: candela ended while it evaluated them", "candela alerts resume ID")
	expect(t, brokenAlerts(1, 5), Warning, "1 of 5 cannot be evaluated by this version", "scripts/pinned")
	expect(t, notEvaluated(2, 5), Warning, "nothing evaluates 2 of 5: their venue is not set up in this run", "--csv-dir")
}
