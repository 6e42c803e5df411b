package app

import (
	"context"

	"candela/internal/access/owners"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
)

// ownerRecords returns the records of owners, nil for one owner.
func (r *replicaNode) ownerRecords() func() owners.Records {
	if r.owners == nil {
		return nil
	}
	return func() owners.Records { return r.owners }
}

// ownerParts returns the part that makes the states of owners take effect at this replica,
// whichever replica wrote them.
func (r *replicaNode) ownerParts(rt Runtime, plans *owners.Plans) []lifecycle.Part {
	if r.owners == nil {
		return nil
	}
	plans.Shared = r.owners
	r.owners.OnPlans = func(now owners.SharedPlans) { plans.InForce.Set(now.Plans) }
	return []lifecycle.Part{{Name: "owners", Run: func(ctx, _ context.Context, ready func()) error {
		err := r.owners.Follow(ctx, rt.Log, func(owner principal.Owner, state owners.State) {
			if err := r.takeEffect(ctx, owner, state); err != nil && ctx.Err() == nil {
				rt.Log.ErrorContext(ctx, "the state of an owner did not take effect here", "owner", owner, "state", string(state), "error", err)
			}
		})
		if err != nil {
			return err
		}
		if err := plans.Adopt(ctx); err != nil {
			return err
		}
		ready()
		<-ctx.Done()
		return nil
	}}}
}

// listParts returns the part that saves the list of alerts for the next start.
func (r *replicaNode) listParts(from *engine.Engine) []lifecycle.Part {
	if r.owners == nil {
		return nil
	}
	return []lifecycle.Part{{Name: "list of alerts", Run: func(ctx, _ context.Context, ready func()) error {
		ready()
		r.alerts.KeepList(ctx, from)
		return nil
	}}}
}

// ownerEntries reads the notifications of an owner, with a sequence number up to which none is
// missing.
func (r *replicaNode) ownerEntries(ctx context.Context, owner principal.Owner) (uint64, []notify.Entry, error) {
	head := r.tail.Stats().Last
	entries, err := r.store.OwnerEntries(ctx, owner)
	return head, entries, err
}

// activateIndexed lets this replica own its share once it lists all alerts, or at once if no other
// replica owns any: with many owners it answers long before. It returns early when ctx ends.
func (r *replicaNode) activateIndexed(ctx context.Context) {
	for {
		changed := r.members.Changed()
		if !r.members.Candidates().Active() {
			break
		}
		select {
		case <-r.alerts.Indexed():
			r.activate(ctx)
			return
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
	r.activate(ctx)
}

// releaseAdopted lets tokens and subscriptions be read once the alerts of this replica are evaluated.
// Until then a token is read when it is used.
func (r *replicaNode) releaseAdopted(ctx context.Context) {
	select {
	case <-r.alerts.Adopted():
	case <-ctx.Done():
	}
	r.release()
}

// takeEffect makes the state of an owner take effect at this replica.
func (r *replicaNode) takeEffect(ctx context.Context, owner principal.Owner, state owners.State) error {
	if err := r.desk.Enforce(ctx, owner); err != nil {
		return err
	}
	switch state {
	case owners.Active:
		return r.alerts.Resume(ctx, owner, r.engine)
	case owners.Erased:
		r.inbox.Drop(owner)
	case owners.Suspended:
	}
	return r.engine.Suspend(ctx, owner)
}
