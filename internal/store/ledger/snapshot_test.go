package ledger_test

import (
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/trading/order"
)

// TestSnapshot_ThatWasTouched changes a snapshot behind the store's back: what comes
// then is nothing that could be taken for one, and its absence is not reported.
func TestSnapshot_ThatWasTouched(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"its value":         "UPDATE snapshots SET value = x'00'",
		"up to where it is": "UPDATE snapshots SET last = last - 1",
		"its event":         "UPDATE snapshots SET event = 1",
		"its owner":         "INSERT INTO snapshots SELECT 'bob', name, last, event, value FROM snapshots",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := open(t, dir)
			b := order.NewBook("ann")
			check(t, l.SaveState(t.Context(), principal.Caller{Subject: "ann"}, "guard", []byte(`{}`)))
			check(t, l.SaveSnapshot(t.Context(), principal.Caller{Subject: "ann"}, b))
			want, err := b.Snapshot()
			check(t, err)
			got, _, err := l.Snapshot(t.Context(), "ann")
			check(t, err)
			if string(got) != string(want) {
				t.Fatal("it is not what was kept")
			}
			check(t, behind(t, dir, script))
			owner := map[bool]string{true: "bob", false: "ann"}[name == "its owner"]
			got, _, err = l.Snapshot(t.Context(), principal.Owner(owner))
			check(t, err)
			if got == nil || len(got) > 0 {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestSnapshot_IsInTheAuditLog wants the log to say that one was kept, and still to
// be whole.
func TestSnapshot_IsInTheAuditLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	check(t, l.SaveSnapshot(t.Context(), principal.Caller{Subject: "ann"}, order.NewBook("ann")))
	check(t, l.SaveJournalSnapshot(t.Context(), "ann", "paper", []byte("x")))
	a, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	report, err := a.Verify(t.Context())
	check(t, err)
	if len(report.Breaks) > 0 || report.Events != 2 {
		t.Errorf("the log has %d events and %v", report.Events, report.Breaks)
	}
	check(t, a.Close())
}
