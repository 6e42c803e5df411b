package replicated

import (
	"context"

	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
)

// Forget removes an owner at all replicas: the subscriptions, the polling queue, and here the
// notifications. Every other replica calls Drop.
func (b *Inbox) Forget(owner principal.Owner) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := b.loaded(ctx); err != nil {
		return err
	}
	if err := b.removeTokens(ctx, b.ofOwner(owner)...); err != nil {
		return unavailable(err)
	}
	if err := b.write(ctx, []records.Record{{Kind: records.QueueKind, Name: string(owner)}}); err != nil {
		return unavailable(err)
	}
	b.Drop(owner)
	return nil
}

// Drop removes what this replica has of an owner, whose records are gone: notifications and
// streams.
func (b *Inbox) Drop(owner principal.Owner) {
	for _, s := range b.ofOwner(owner) {
		s.Mu.Lock()
		stream := s.Detach()
		s.Mu.Unlock()
		if stream != nil {
			stream.End()
		}
	}
	b.stateMu.Lock()
	if q := b.queues[owner]; q != nil {
		delete(b.queues, owner)
		delete(b.unsettled, q)
		delete(b.leased, q)
	}
	b.stateMu.Unlock()
	b.Log.Forget(owner)
}

func (b *Inbox) ofOwner(owner principal.Owner) (all []*subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs.ByKey {
		if s.Owner.Name == owner {
			all = append(all, s)
		}
	}
	return all
}
