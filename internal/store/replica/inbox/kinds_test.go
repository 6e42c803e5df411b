package inbox_test

import (
	"slices"
	"testing"

	"candela/internal/alerting/notify/records"
	"candela/internal/store/replica/table"
)

// The stream of the inbox accepts the kinds of record that package records writes.
func TestSchema_HasTheKindsOfRecords(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, k := range []records.Kind{records.SubscriptionKind, records.AttachmentKind, records.QueueKind, records.CursorKind} {
		kinds = append(kinds, string(k))
	}
	if !slices.Equal(kinds, table.InboxKinds()) {
		t.Errorf("records has %v, the stream %v", kinds, table.InboxKinds())
	}
}
