package accounts

import (
	"context"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
)

// Drop stops the account of an owner and waits until it has. Open orders are cancelled first.
func (a *Accounts) Drop(ctx context.Context, owner principal.Owner) error {
	one, release, err := a.use(ctx, owner)
	if err != nil {
		return err
	}
	r := guard.Restriction{Kind: guard.HostHalt, By: "the operator", Reason: "the owner is erased", All: true}
	if err = one.Desk.HaltByHost(ctx, r); err == nil {
		err = one.awaitNoOrders(ctx)
	}
	release()
	if err != nil {
		return err
	}
	a.noteHalt(owner, guard.State{})
	a.mu.Lock()
	one.ends = true
	a.mu.Unlock()
	one.stop()
	select {
	case <-one.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitNoOrders waits until every order is closed.
func (one *account) awaitNoOrders(ctx context.Context) error {
	for one.Desk.Status().Open > 0 {
		if err := retry.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
