package app

import (
	"context"

	"candela/internal/store"
)

// ownerRecords returns the records of owners, nil for one owner.
func (r *replicaNode) ownerRecords() func() store.Owners {
	if r.owners == nil {
		return nil
	}
	return func() store.Owners { return r.owners }
}

// ownerParts returns the part that makes the states of owners take effect at this replica,
// whichever replica wrote them.
func (r *replicaNode) ownerParts(rt Runtime) []Part {
	if r.owners == nil {
		return nil
	}
	return []Part{{Name: "owners", Run: func(ctx, _ context.Context, ready func()) error {
		err := r.owners.Follow(ctx, rt.Log, func(owner string, state store.OwnerState) {
			if err := r.takeEffect(ctx, owner, state); err != nil && ctx.Err() == nil {
				rt.Log.ErrorContext(ctx, "the state of an owner did not take effect here", "owner", owner, "state", string(state), "error", err)
			}
		})
		if err != nil {
			return err
		}
		ready()
		<-ctx.Done()
		return nil
	}}}
}

// takeEffect makes the state of an owner take effect at this replica.
func (r *replicaNode) takeEffect(ctx context.Context, owner string, state store.OwnerState) error {
	switch state {
	case store.OwnerActive:
		return r.alerts.Resume(ctx, r.engine, owner)
	case store.OwnerErased:
		r.inbox.Drop(owner)
	case store.OwnerSuspended:
	}
	return r.engine.Suspend(ctx, owner)
}
