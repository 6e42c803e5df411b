package backup

import (
	"context"
	"errors"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store"
	"candela/internal/store/ledger"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

// byRestore names the command in the audit log.
const byRestore = "candela restore"

// MarkRestored halts the accounts in the store of a directory, because it comes from a backup,
// and returns the reason. Accounts that are not used yet are halted too: they may have been used since. Owners who were erased since are erased
// in it again, and returned.
func MarkRestored(ctx context.Context, stores []store.Descriptor, accounts []string, dir string, erased []principal.Owner, now time.Time) (reason string, again []principal.Owner, err error) {
	newest, err := newestRecord(ctx, dir, now)
	if err != nil {
		return "", nil, err
	}
	stored, err := store.At(stores, dir).Open(ctx, dir, time.Now)
	if err != nil {
		return "", nil, err
	}
	for _, account := range accounts {
		_, failed := desk.SetStoredRestored(ctx, stored, principal.Owner(account), byRestore, newest, now)
		err = errors.Join(err, failed)
	}
	if records, ok := stored.(owners.Records); ok && err == nil {
		again, err = EraseAgain(ctx, records, erased)
	}
	return guard.RestoredReason(newest), again, errors.Join(err, stored.Close())
}

// newestRecord returns when the last event of a store was written, or now if it has none.
func newestRecord(ctx context.Context, dir string, now time.Time) (time.Time, error) {
	log, err := ledger.OpenAudit(ctx, dir)
	if err != nil {
		return now, err
	}
	page, err := log.Page(ctx, ledger.Filter{Limit: 1})
	if err = errors.Join(err, log.Close()); err == nil && len(page.Events) > 0 {
		now = page.Events[0].At
	}
	return now, err
}
