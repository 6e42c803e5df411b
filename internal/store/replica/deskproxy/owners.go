package deskproxy

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// ownerTrader is a Trader for many owners.
type ownerTrader interface {
	HaltOwner(ctx context.Context, owner principal.Owner, by, reason string, all bool) (guard.State, error)
	ResumeOwner(ctx context.Context, owner principal.Owner, by string) (guard.State, error)
	Enforce(ctx context.Context, owner principal.Owner) error
	Drop(ctx context.Context, owner principal.Owner) error
}

var errOneOwner = fault.New(fault.Unsupported, "one_owner", "This server has one owner. Run the command without --owner.")

// haltOn halts all accounts, or that of one owner.
func haltOn(ctx context.Context, running Trader, c controlCall) (guard.State, error) {
	switch {
	case c.Owner == "" && c.All:
		return running.HaltAll(ctx, c.Who, c.Reason)
	case c.Owner == "":
		return running.Halt(ctx, c.Who, c.Reason)
	}
	if many, ok := running.(ownerTrader); ok {
		return many.HaltOwner(ctx, c.Owner, c.Who, c.Reason, c.All)
	}
	return guard.State{}, errOneOwner
}

func resumeOwner(ctx context.Context, running Trader, c controlCall) (guard.State, error) {
	if many, ok := running.(ownerTrader); ok {
		return many.ResumeOwner(ctx, c.Owner, c.Who)
	}
	return guard.State{}, errOneOwner
}

// HaltOwner stops trading for one owner of many, and cancels the orders that do not protect a
// position, or all.
func (d *Desk) HaltOwner(ctx context.Context, owner principal.Owner, by, reason string, all bool) (guard.State, error) {
	return d.haltBy(ctx, controlCall{Who: by, Reason: reason, All: all, Owner: owner})
}

// ResumeOwner lifts the restrictions of one owner of many.
func (d *Desk) ResumeOwner(ctx context.Context, owner principal.Owner, by string) (guard.State, error) {
	a, err := d.resume(ctx, controlCall{Who: by, Owner: owner})
	return a.State, withRemedy(err, true, "The trading replica did not reply, so trading may not have been resumed. Retry.")
}

// Enforce makes the standing of an owner take effect, if this replica trades.
func (d *Desk) Enforce(ctx context.Context, owner principal.Owner) error {
	if many, ok := d.Running().(ownerTrader); ok {
		return many.Enforce(ctx, owner)
	}
	return nil
}

type dropCall struct{ Owner principal.Owner }

// Drop cancels the orders of an owner and stops the account, whichever replica has it.
func (d *Desk) Drop(ctx context.Context, owner principal.Owner) error {
	_, err := d.drop(ctx, dropCall{owner})
	return withRemedy(err, true, "The trading replica did not reply, so the owner's orders may be open. Run the command again.")
}

// registerOwners is the part of register for many owners.
func (d *Desk) registerOwners() {
	d.drop = newMethod(d, "desk.drop", func(ctx context.Context, running Trader, c dropCall) (struct{}, error) {
		if many, ok := running.(ownerTrader); ok {
			return struct{}{}, many.Drop(ctx, c.Owner)
		}
		return struct{}{}, errOneOwner
	})
}
