package ledger_test

import (
	"strings"
	"testing"

	"candela/internal/access/owners"
)

func TestOwner_ExportsAndErasesRecords(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	if _, err := l.SeeOwner(t.Context(), owners.Owner{ID: "ann", Issuer: "i", Subject: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Keep(t.Context(), "ann", "drawings", func([]byte) ([]byte, error) { return []byte(`{"test:A":[]}`), nil }); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for row, err := range l.ExportOwner(t.Context(), "ann") {
		if err != nil {
			t.Fatal(err)
		}
		rows.WriteString(row.Table + " " + string(row.JSON) + "\n")
	}
	if want := `states {"name":"kept drawings","value":{"test:A":[]}}`; !strings.Contains(rows.String(), want) {
		t.Errorf("the export has no %s: %s", want, rows.String())
	}
	if states, err := l.States(t.Context()); err != nil || len(states) != 0 {
		t.Errorf("the states of desks are %v, %v", states, err)
	}
	if _, err := l.SetOwnerState(t.Context(), "ann", owners.Suspended); err != nil {
		t.Fatal(err)
	}
	if _, err := l.EraseOwner(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if left, err := l.Kept(t.Context(), "ann", "drawings"); err != nil || left != nil {
		t.Errorf("%s is left, %v", left, err)
	}
}
