package deskproxy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"candela/internal/kit/fault"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/guard"
)

// putHalt puts a halt file beside a replica.
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

// hindered demands that a resumption is refused and the files beside some replicas
// are named, and no others. Of a replica that does not say in time whether a file is
// there none is named, and then nobody resumes either.
func (f *tradeCluster) hindered(at *trader, by ...*trader) {
	f.t.Helper()
	replicatest.Eventually(f.t, "a resumption names the files", func() bool {
		_, err := at.Resume(f.t.Context(), "candela resume")
		told := fault.Of(err)
		if told != nil && told.Kind == fault.Unavailable && told.Retryable {
			return false
		}
		if told == nil || told.Code != "halt_file" || told.Kind != fault.Conflict || told.Retryable || strings.Count(told.Message, "HALT") > len(by) {
			f.t.Fatalf("resumed at %s: %v", at.name, err)
		}
		return !slices.ContainsFunc(by, func(r *trader) bool { return !strings.Contains(told.Message, r.halt+" at the replica "+r.name) })
	})
}

// resume resumes, and again while replicas do not say in time whether a file is there.
func (f *tradeCluster) resume(at *trader) {
	f.t.Helper()
	s, err := replicatest.Insist(f.t, func() (guard.State, error) { return at.Resume(f.t.Context(), "candela resume") })
	if err != nil || s.Level() != guard.Active {
		f.t.Errorf("without files it is %v at %s, %v", s.Level(), at.name, err)
	}
}

// levelAt returns the state of trading at a replica, ACTIVE where it does not trade.
func levelAt(r *trader) guard.Level {
	if running := r.Running(); running != nil {
		return running.Status().State.Level()
	}
	return guard.Active
}

// heeds puts a halt file beside a replica that does not trade.
func (f *tradeCluster) heeds(a, b, trader *trader) {
	f.t.Helper()
	f.putHalt(a)
	replicatest.Eventually(f.t, "the halt file halts", func() bool { return levelAt(trader) == guard.Halted })
	if why := trader.Running().Status().State.Explain(); !strings.Contains(why, "by the file "+a.halt+" at the replica "+a.name) {
		f.t.Errorf("it is halted because of %s", why)
	}
	for _, r := range f.replicas {
		f.hindered(r, a)
	}
	// Whoever resumes without a look at the others, as a replica of an older version.
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

// TestDesk_HaltFilesSurviveReplicas kills the replica that trades, and then one beside
// which a halt file lies: trading is halted until the owner resumes, and nobody
// resumes while it is not known whether a file is there.
func TestDesk_HaltFilesSurviveReplicas(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	first := f.steady()
	others := f.others(first)
	f.putHalt(others[0])
	f.putHalt(others[1])
	replicatest.Eventually(t, "the halt files halt", func() bool { return levelAt(first) == guard.Halted })
	first.conn.Close() // first, so that it tells nobody
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
	switch told := fault.Of(err); {
	case err == nil:
		if next.members.Live(rest.members.Self()) {
			t.Errorf("resumed while %s is silent", rest.name)
		}
	case told == nil || told.Kind != fault.Unavailable || !told.Retryable || !strings.Contains(told.Message, "replica "+rest.name+" does not answer"):
		t.Errorf("while %s is silent: %v", rest.name, err)
	case levelAt(next) != guard.Halted:
		t.Errorf("while %s is silent it is %v", rest.name, levelAt(next))
	}
	rest.kill()
	replicatest.Eventually(t, "the other counts as dead", func() bool { return !next.members.Live(rest.members.Self()) })
	f.resume(next)
}

// TestDesk_StartsHaltedByAnEarlierHaltFile puts a halt file beside a replica that
// cannot trade, while nobody does: no order passes when another begins.
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
		t.Errorf("it begins with %q", why)
	}
	first.kill()
}
