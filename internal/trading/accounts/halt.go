package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// restriction returns what the operator imposes on an owner, zero for nothing.
func (a *Accounts) restriction(owner principal.Owner) guard.Restriction {
	a.mu.Lock()
	halt, halted := a.host.OrderedHalt()
	old, restored := a.host.Find(guard.Restored)
	a.mu.Unlock()
	switch {
	case halted:
		halt.Kind, halt.Subject = guard.HostHalt, ""
		return halt
	case restored:
		return guard.Restriction{Kind: guard.HostRestored, Reason: old.Reason}
	case a.standing(owner) != Active:
		return guard.Restriction{Kind: guard.HostHalt, By: "the operator", Reason: "the owner is suspended"}
	}
	return guard.Restriction{}
}

// enforce makes what the operator imposes take effect at an account.
func (a *Accounts) enforce(ctx context.Context, one *account) error {
	return one.Desk.HaltByHost(ctx, a.restriction(one.owner))
}

// Enforce makes the standing of an owner take effect, if the account is awake. Another has nothing
// open.
func (a *Accounts) Enforce(ctx context.Context, owner principal.Owner) error {
	a.mu.Lock()
	one := a.awake[owner]
	a.mu.Unlock()
	if one == nil {
		return nil
	}
	return a.enforceAll(ctx, []*account{one})
}

// enforceAll is enforce for accounts that may be about to start or to stop.
func (a *Accounts) enforceAll(ctx context.Context, all []*account) error {
	return onAll(ctx, all, func(one *account) error { return a.enforce(ctx, one) })
}

// SetPolicy puts another policy in force at every account that is awake. Config.Open must use it
// for those that wake later.
func (a *Accounts) SetPolicy(ctx context.Context, p guard.Policy) error {
	return onAll(ctx, a.list(), func(one *account) error { return one.Desk.SetPolicy(ctx, p) })
}

// onAll calls do with accounts that may be about to start or to stop.
func onAll(ctx context.Context, all []*account, do func(*account) error) error {
	var mu sync.Mutex
	var failed error
	var group sync.WaitGroup
	slots := make(chan struct{}, maxHalts)
	for _, one := range all {
		select {
		case <-one.ready:
		case <-ctx.Done():
			failed = errors.Join(failed, ctx.Err())
			continue
		}
		if one.err != nil {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			err := do(one)
			if f := fault.Of(err); err == nil || f != nil && f.Code == desk.CodeStopping {
				return // it sleeps, and gets it when it wakes
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	group.Wait()
	return failed
}

// Halted reports whether the operator's halt is in force.
func (a *Accounts) Halted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, halted := a.host.OrderedHalt()
	return halted
}

// Halt stops trading for all owners, also for those whose accounts sleep or are made later, and
// cancels their orders that do not protect a position.
func (a *Accounts) Halt(ctx context.Context, by, reason string) (guard.State, error) {
	return a.setHost(ctx, func() (guard.State, error) {
		return desk.HaltStored(ctx, a.cfg.Store, a.cfg.Host, desk.StoredHalt{By: by, Reason: reason, At: a.cfg.Now()})
	}, guard.Restriction{Kind: guard.OwnerHalt, By: by, Reason: reason})
}

// HaltAll is Halt that cancels the orders that protect positions too.
func (a *Accounts) HaltAll(ctx context.Context, by, reason string) (guard.State, error) {
	return a.setHost(ctx, func() (guard.State, error) {
		return desk.HaltStored(ctx, a.cfg.Store, a.cfg.Host, desk.StoredHalt{By: by, Reason: reason, All: true, At: a.cfg.Now()})
	}, guard.Restriction{Kind: guard.OwnerHalt, By: by, Reason: reason, All: true})
}

// setHost makes a halt take effect and stores it. It holds even if it cannot be stored.
func (a *Accounts) setHost(ctx context.Context, save func() (guard.State, error), halt guard.Restriction) (guard.State, error) {
	if err := a.awaitStart(ctx); err != nil {
		return guard.State{}, err
	}
	halt.Since = a.cfg.Now().UTC()
	a.mu.Lock()
	next, added := a.host.Restrict(halt)
	if !added && halt.All {
		next, _ = a.host.HaltAll()
	}
	a.host = next
	a.mu.Unlock()
	err := a.enforceAll(ctx, a.list())
	if _, unsaved := save(); unsaved != nil {
		err = errors.Join(err, fault.Unreachable(unsaved, 0, "Trading is halted and orders are being cancelled, but the halt could not be saved and would be lost on restart."))
	}
	a.cfg.Log.WarnContext(ctx, "trading halted for all owners", "by", halt.By, "reason", halt.Reason)
	return next, err
}

func (a *Accounts) awaitStart(ctx context.Context) error {
	select {
	case <-a.started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Resume lifts the halt for all owners. Halts of single owners stay.
func (a *Accounts) Resume(ctx context.Context, by string) (guard.State, error) {
	if err := a.awaitStart(ctx); err != nil {
		return guard.State{}, err
	}
	if file := a.haltFile(); file != "" {
		return guard.State{}, fault.New(fault.Conflict, "halt_file", "the file %s halts trading: remove it first", file).About("", a.cfg.HaltFile, "")
	}
	next, err := desk.LiftStored(ctx, a.cfg.Store, a.cfg.Host, by)
	if err != nil {
		return next, err
	}
	a.mu.Lock()
	a.host = next
	a.mu.Unlock()
	a.cfg.Log.InfoContext(ctx, "trading resumed for all owners", "by", by)
	return next, a.enforceAll(ctx, a.list())
}

// HaltOwner stops trading for one owner, and cancels the orders that do not protect a position,
// or all.
func (a *Accounts) HaltOwner(ctx context.Context, owner principal.Owner, by, reason string, all bool) (guard.State, error) {
	return a.changeOwner(ctx, owner, func(d *desk.Desk) (guard.State, error) {
		if all {
			return d.HaltAll(ctx, by, reason)
		}
		return d.Halt(ctx, by, reason)
	})
}

// ResumeOwner lifts the restrictions of one owner, but not the halt for all.
func (a *Accounts) ResumeOwner(ctx context.Context, owner principal.Owner, by string) (guard.State, error) {
	return a.changeOwner(ctx, owner, func(d *desk.Desk) (guard.State, error) { return d.Resume(ctx, by) })
}

// changeOwner halts or resumes one owner.
func (a *Accounts) changeOwner(ctx context.Context, owner principal.Owner, change func(*desk.Desk) (guard.State, error)) (guard.State, error) {
	state, err := on(ctx, a, owner, change)
	if _, halts := state.Find(guard.HostOwner); err == nil || halts {
		a.noteHalt(owner, state)
	}
	return state, err
}

// noteHalt records whether the operator has halted an owner.
func (a *Accounts) noteHalt(owner principal.Owner, state guard.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, known := slices.BinarySearch(a.halted, owner)
	switch _, halts := state.Find(guard.HostOwner); {
	case halts && !known:
		a.halted = slices.Insert(a.halted, at, owner)
	case !halts && known:
		a.halted = slices.Delete(a.halted, at, at+1)
	}
}

// storedHalts returns the owners who are halted one by one.
func (a *Accounts) storedHalts(ctx context.Context) ([]principal.Owner, error) {
	if a.cfg.Halted == nil {
		return nil, nil
	}
	halted, err := a.cfg.Halted(ctx)
	if err != nil {
		return nil, fmt.Errorf("halted owners: %w", err)
	}
	halted = slices.DeleteFunc(halted, func(owner principal.Owner) bool { return owner == a.cfg.Host })
	slices.Sort(halted)
	return halted, nil
}
