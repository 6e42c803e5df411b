package audit_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/id"
	"candela/internal/store/receipt"
	"candela/internal/store/receipt/receipttest"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/replicatest"
)

// TestReceipt_AfterAnotherSecret changes the cluster secret as docs/scaling.md says, with new streams. Receipts of before are valid with the keys that were stored before and
// with those alone; the new secret signs with another key; and it opens nothing of the streams that the old one sealed.
func TestReceipt_AfterAnotherSecret(t *testing.T) {
	t.Parallel()
	secret := sha256.Sum256([]byte("another secret"))
	with := func(prefix string) *conn.Conn {
		c, err := conn.Connect(t.Context(), conn.Config{URL: replicatest.Servers().URL(), Prefix: prefix, AllowSingle: true, Secret: secret[:]}, replicatest.Quiet())
		check(t, err)
		t.Cleanup(c.Close)
		return c
	}
	place := func(c *conn.Conn) (text []byte, name string, stored receipt.Keys) {
		var made checkpoints
		writer, name := take(t, c, time.Now, &made), id.New(time.Now())
		check(t, writer.RecordPolicy(t.Context(), []byte("{}"), "sha256:1"))
		_, err := writer.AppendEvents(t.Context(), replicatest.Ann(), replicatest.Placed("ann", name))
		check(t, err)
		text, err = issue(t, c, "ann", name)
		check(t, err)
		set, err := keysOf(t, c).JWKS()
		check(t, err)
		stored, err = receipt.ParseKeys(set)
		check(t, err)
		return text, name, stored
	}
	older := replicatest.NewPrefix()
	before, first, keysBefore := place(replicatest.Connect(t, replicatest.Servers(), older))
	after, _, keysAfter := place(with(replicatest.NewPrefix()))
	if keysBefore[0].ID() == keysAfter[0].ID() {
		t.Error("two secrets have the same key")
	}
	for name, one := range map[string]struct {
		text  []byte
		keys  receipt.Keys
		valid bool
	}{
		"before, with the keys of before":                  {before, keysBefore, true},
		"before, with the keys of after":                   {before, keysAfter, false},
		"after, with the keys of after":                    {after, keysAfter, true},
		"after, with the keys of before":                   {after, keysBefore, false},
		"after, with both, which are of two installations": {after, append(append(receipt.Keys(nil), keysBefore...), keysAfter...), false},
	} {
		if err := receipttest.Verify(one.text, one.keys); (err == nil) != one.valid {
			t.Errorf("a receipt of %s: %v", name, err)
		}
	}
	c := with(older)
	if text, err := issue(t, c, "ann", first); err == nil {
		t.Errorf("a receipt with another secret: %s", text)
	}
	report, err := audit.Verify(t.Context(), c, nil)
	check(t, err)
	if len(report.Breaks) == 0 || !strings.Contains(report.Breaks[0].What, "was not sealed by a replica") {
		t.Errorf("the log with another secret: %+v", report.Breaks)
	}
}
