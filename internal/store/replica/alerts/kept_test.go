package alerts_test

import (
	"strings"
	"testing"

	"candela/internal/store/replica/replicatest"
)

func TestStore_ExportsAndErasesRecordsOfOwners(t *testing.T) {
	t.Parallel()
	s := replicatest.OpenStore(t, replicatest.Lone(), replicatest.NewDirs().Prefix(t.TempDir()))
	if err := s.Keep(t.Context(), "ann", "drawings", func([]byte) ([]byte, error) { return []byte(`{"test:A":[]}`), nil }); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for row, err := range s.ExportOwner(t.Context(), "ann") {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row.Table+" "+string(row.JSON))
	}
	if got := strings.Join(rows, "\n"); got != `states {"name":"kept drawings","value":{"test:A":[]}}` {
		t.Errorf("the export has %s", got)
	}
	counts, err := s.EraseOwner(t.Context(), "ann")
	if err != nil || counts["states"] != 1 {
		t.Errorf("%v, %v", counts, err)
	}
	if left, err := s.Kept(t.Context(), "ann", "drawings"); err != nil || left != nil {
		t.Errorf("%s is left, %v", left, err)
	}
}
