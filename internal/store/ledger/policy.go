package ledger

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
)

// ofProofs is the condition of the index events_of_proofs, which a query must repeat to use it.
const ofProofs = "kind IN ('chain_checkpoint', 'policy_loaded', 'receipt_key_changed') AND kind = ? "

// RecordPolicy adds an event with the policy in force, unless the last such event has the same.
func (l *Ledger) RecordPolicy(ctx context.Context, text []byte, hash string) error {
	return l.write(ctx, func(t *tx) error {
		var last string
		err := t.row("SELECT subject FROM events WHERE owner = ? AND "+ofProofs+"ORDER BY seq DESC LIMIT 1", []any{"", chain.PolicyKind}, &last)
		if err == nil && last == hash || err != nil && !noRow(err) {
			return err
		}
		return t.record(principal.Caller{}, "", chain.PolicyKind, hash, text)
	})
}
