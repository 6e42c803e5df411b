package deskproxy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// putHalt creates a replica's halt file.
func (f *tradeCluster) putHalt(at *trader) {
	f.t.Helper()
	if err := os.WriteFile(at.halt, nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *tradeCluster) removeHalt(at *trader) {
	f.t.Helper()
	if err := os.Remove(at.halt); err != nil {
		f.t.Fatal(err)
	}
}

// hindered demands that resuming is refused with the halt files of the given replicas and no others.
// While a replica does not report its status, resuming is refused without its file.
func (f *tradeCluster) hindered(at *trader, by ...*trader) {
	f.t.Helper()
	replicatest.Eventually(f.t, "resuming names the files", func() bool {
		_, err := at.Resume(f.t.Context(), "candela resume")
		fe := fault.Of(err)
		if fe != nil && fe.Kind == fault.Unavailable && fe.Retryable {
			return false
		}
		if fe == nil || fe.Code != "halt_file" || fe.Kind != fault.Conflict || fe.Retryable || strings.Count(fe.Message, "HALT") > len(by) {
			f.t.Fatalf("resumed at %s: %v", at.name, err)
		}
		return !slices.ContainsFunc(by, func(r *trader) bool { return !strings.Contains(fe.Message, r.halt+" at the replica "+r.name) })
	})
}

// resume resumes, and retries while replicas do not report their halt-file status.
func (f *tradeCluster) resume(at *trader) {
	f.t.Helper()
	s, err := replicatest.Insist(f.t, func() (guard.State, error) { return at.Resume(f.t.Context(), "candela resume") })
	if err != nil || s.Level() != guard.Active {
		f.t.Errorf("without files it is %v at %s, %v", s.Level(), at.name, err)
	}
}

// levelAt returns the trading level at a replica, ACTIVE if it does not trade.
func levelAt(r *trader) guard.Level {
	if running := r.Running(); running != nil {
		return running.Status().State.Level()
	}
	return guard.Active
}

// heeds creates the halt file of a replica that does not trade.
func (f *tradeCluster) heeds(a, b, trader *trader) {
	f.t.Helper()
	f.putHalt(a)
	replicatest.Eventually(f.t, "the halt file halts", func() bool { return levelAt(trader) == guard.Halted })
	if why := trader.Running().Status().State.Explain(); !strings.Contains(why, "by the file "+a.halt+" at the replica "+a.name) {
		f.t.Errorf("halted by %s", why)
	}
	for _, r := range f.replicas {
		f.hindered(r, a)
	}
	// The desk resumes without asking other replicas, like an older version.
	if _, err := trader.Running().Resume(f.t.Context(), "candela resume"); err != nil {
		f.t.Error(err)
	}
	replicatest.Eventually(f.t, "the halt file halts again", func() bool { return levelAt(trader) == guard.Halted })
	f.putHalt(trader)
	f.hindered(b, a, trader)
	f.removeHalt(a)
	f.hindered(a, trader)
	f.removeHalt(trader)
	f.resume(b)
}

// TestDesk_HaltFilesSurviveReplicas kills the trading replica, and then one with a halt file: trading
// stays halted until the owner resumes, which is refused while a halt-file status is unknown.
func TestDesk_HaltFilesSurviveReplicas(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	first := f.steady()
	others := f.others(first)
	f.putHalt(others[0])
	f.putHalt(others[1])
	replicatest.Eventually(t, "the halt files halt", func() bool { return levelAt(first) == guard.Halted })
	first.conn.Close() // first, so that it cannot announce its departure
	next := f.trading(first)
	first.kill()
	if levelAt(next) != guard.Halted {
		t.Errorf("after the first died it is %v", levelAt(next))
	}
	f.hindered(next, others...)
	f.removeHalt(next)
	rest := f.others(next)[0]
	if rest == first {
		rest = f.others(next)[1]
	}
	f.hindered(rest, rest)
	rest.conn.Close()
	_, err := next.Resume(t.Context(), "candela resume")
	switch fe := fault.Of(err); {
	case err == nil:
		if next.members.Live(rest.members.Self()) {
			t.Errorf("resumed while %s is silent", rest.name)
		}
	case fe == nil || fe.Kind != fault.Unavailable || !fe.Retryable || !strings.Contains(fe.Message, "replica "+rest.name+" does not answer"):
		t.Errorf("while %s is silent: %v", rest.name, err)
	case levelAt(next) != guard.Halted:
		t.Errorf("while %s is silent it is %v", rest.name, levelAt(next))
	}
	rest.kill()
	replicatest.Eventually(t, "the other is declared dead", func() bool { return !next.members.Live(rest.members.Self()) })
	f.resume(next)
}

// TestDesk_StartsHaltedByAnEarlierHaltFile creates the halt file of a draining replica while none
// trades: the next desk accepts no order.
func TestDesk_StartsHaltedByAnEarlierHaltFile(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	first := f.steady()
	drains, next := f.others(first)[0], f.others(first)[1]
	if err := drains.members.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.conn.Close()
	f.putHalt(drains)
	replicatest.Eventually(t, "the other trades", func() bool { return next.Running() != nil })
	s := next.Running().Status()
	if why := s.State.Explain(); !strings.Contains(why, "owner_halt by the file "+drains.halt+" at the replica "+drains.name) {
		t.Errorf("it starts with %q", why)
	}
	first.kill()
}
