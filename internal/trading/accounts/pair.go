package accounts

import (
	"context"
	"errors"

	"candela/internal/data/provider"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
)

// Pair is an account at a broker with a paper account beside it, on which strategies trade before they trade with money. Only
// strategies place orders on paper; a halt and a policy are for both.
type Pair struct {
	*desk.Desk
	Paper *desk.Desk
}

// Run trades until ctx ends. It calls ready when both accounts accept calls, and ends when one of them does.
func (p Pair) Run(ctx, drain context.Context, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begun, done := make(chan struct{}), make(chan error, 1)
	go func() {
		defer stop()
		done <- p.Paper.Run(ctx, drain, func() { close(begun) })
	}()
	err := p.Desk.Run(ctx, drain, func() {
		select {
		case <-begun:
			ready()
		case <-ctx.Done():
		}
	})
	stop()
	return errors.Join(err, <-done)
}

// Observe passes a price to both.
func (p Pair) Observe(e provider.Event) {
	p.Desk.Observe(e)
	p.Paper.Observe(e)
}

// SetPolicy puts a policy in force at both, the account at the broker first.
func (p Pair) SetPolicy(ctx context.Context, policy guard.Policy) error {
	if err := p.Desk.SetPolicy(ctx, policy); err != nil {
		return err
	}
	return p.Paper.SetPolicy(ctx, policy)
}

// Halt is that of both.
func (p Pair) Halt(ctx context.Context, by, reason string) (guard.State, error) {
	return p.each(func(d *desk.Desk) (guard.State, error) { return d.Halt(ctx, by, reason) })
}

// HaltAll is that of both.
func (p Pair) HaltAll(ctx context.Context, by, reason string) (guard.State, error) {
	return p.each(func(d *desk.Desk) (guard.State, error) { return d.HaltAll(ctx, by, reason) })
}

// Resume is that of both.
func (p Pair) Resume(ctx context.Context, by string) (guard.State, error) {
	return p.each(func(d *desk.Desk) (guard.State, error) { return d.Resume(ctx, by) })
}

// each does the same to both and returns the state of the account at the broker.
func (p Pair) each(do func(*desk.Desk) (guard.State, error)) (guard.State, error) {
	state, err := do(p.Desk)
	_, beside := do(p.Paper)
	return state, errors.Join(err, beside)
}

// Restored reports whether one of both was put back from a backup and its owner has not resumed it.
func (p Pair) Restored() bool { return restored(p.Desk) || restored(p.Paper) }

func restored(d *desk.Desk) bool {
	_, is := d.Status().State.Find(guard.Restored)
	return is
}
