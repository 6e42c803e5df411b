package storetest

import (
	"context"
	"iter"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// OrderStore is what the desk asks of a store. What is said of AlertStore about
// durability, failures, contexts and the audit log holds here too.
type OrderStore interface {
	// AppendEvents persists what happened to orders and positions of the caller's
	// subject, in the order given, all or nothing, and returns what was persisted:
	// a fill whose trade is known, of this order or another, is left out, and
	// nothing else is. A caller with a subject and nothing more is the service.
	//
	// An order of an id, or of an owner and idempotency key, that exists is a
	// Conflict (codes order_exists and idempotency_key_used, with the id of the
	// order that has it as Value); an event for an order that the subject does not
	// have is NotFound; one that order.Apply refuses is a Conflict (code
	// order_event_refused) and carries its error.
	AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error)

	// OrderEvents yields the events of an owner in the order in which they were
	// persisted. Applied to a new book, they make the owner's. After an error it ends.
	OrderEvents(ctx context.Context, owner principal.Owner) iter.Seq2[order.Event, error]

	// OrderOwners returns who has events of orders, for the start.
	OrderOwners(ctx context.Context) ([]principal.Owner, error)

	// Order returns an order of an owner, as its events make it, also one that a
	// book has forgotten. One that is not there or is someone else's is NotFound.
	Order(ctx context.Context, owner principal.Owner, id string) (order.Order, error)

	// ListOrders returns up to most orders of an owner after a mark, newest first, also those
	// that a book has forgotten, and how many come after them: 0 only if none does.
	ListOrders(ctx context.Context, owner principal.Owner, after order.Mark, most int) ([]order.Order, int, error)

	// OrderByKey returns the order of an owner's idempotency key, or NotFound.
	OrderByKey(ctx context.Context, owner principal.Owner, key string) (order.Order, error)
}
