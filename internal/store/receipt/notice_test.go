package receipt_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
)

// TestNotice_HasTheCheckpoint holds that an outbox accepts a checkpoint and that its text verifies.
func TestNotice_HasTheCheckpoint(t *testing.T) {
	t.Parallel()
	key := chain.NewKey([chain.SeedSize]byte{1})
	signed, err := key.Seal(chain.Checkpoint{Owner: "owner", Events: 256, Hash: chain.Hash{1, 2}, At: "2026-11-18T12:00:00.000Z"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := receipt.Notice(signed, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	box := sink.NewOutbox(nil, sink.OutboxConfig{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err := box.Post(n); err != nil {
		t.Error(err)
	}
	var read chain.Signed
	if err := json.Unmarshal([]byte(n.Text), &read); err != nil || read.Verify(key.Public()) != nil {
		t.Errorf("%s: %v", n.Text, err)
	}
}
