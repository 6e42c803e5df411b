package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/fault"
	"candela/internal/order"
)

// maxPage bounds the items of one message. Servers take a megabyte unless they are
// told otherwise.
const maxPage = 256 << 10

// page is a message of the stream of orders: a change, or a part of one.
type page[T any] struct {
	Set   step `json:"set"`
	Items []T  `json:"items,omitempty"`
}

// pages makes messages of items.
func (o *Orders) pages(subject string, set step, items []json.RawMessage) ([]change, error) {
	most := o.size
	if given := int(o.nc.MaxPayload()); given > 0 {
		most = min(most, given/2) // the headers and what is around the items have room
	}
	var changes []change
	for len(items) > 0 {
		n, size := 1, len(items[0])
		for n < len(items) && size+len(items[n]) <= most {
			size += len(items[n])
			n++
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // so that items keep their bytes
		if err := e.Encode(page[json.RawMessage]{set, items[:n]}); err != nil {
			return nil, fmt.Errorf("write to %s: %w", subject, err)
		}
		changes = append(changes, change{subject: subject, data: b.Bytes()})
		items = items[n:]
		if size > maxPage || len(changes) > maxBatch {
			return nil, &fault.Error{Kind: fault.Invalid, Code: "too_large", Message: "that is more than the shared store takes at once"}
		}
	}
	return changes, nil
}

// replay reads what there was when this became the writer.
func (o *Orders) replay(ctx context.Context) error {
	const doing = "read the orders"
	for m, err := range o.until(ctx, o.fence, jetstream.DeliverAllPolicy, o.subject(orderKind, ">")) {
		if err != nil {
			return failure(doing, err)
		}
		if err := o.fold(m); err != nil {
			return damaged(doing, fmt.Errorf("message %d of %s: %w", m.seq, m.subject, err))
		}
	}
	for m, err := range o.until(ctx, o.fence, jetstream.DeliverLastPerSubjectPolicy, o.subject(deskKind, ">")) {
		if err != nil {
			return failure(doing, err)
		}
		var p page[json.RawMessage]
		if err := json.Unmarshal(m.data, &p); err != nil || len(p.Items) != 1 {
			return damaged(doing, fmt.Errorf("message %d of %s: %d values, %w", m.seq, m.subject, len(p.Items), err))
		}
		o.states[m.subject] = p.Items[0]
	}
	return nil
}

// fold adds the events of a message.
func (o *Orders) fold(m message) error {
	owner, err := decode(strings.TrimPrefix(m.subject, o.subject(orderKind, "")))
	if err != nil {
		return err
	}
	var p page[order.Event]
	if err := json.Unmarshal(m.data, &p); err != nil {
		return err
	}
	d := o.orders.draft(owner)
	if _, err := d.add(p.Items); err != nil {
		return err
	}
	o.orders.merge(d)
	o.replayed[owner] = append(o.replayed[owner], p.Items...)
	return nil
}

// until yields the messages of a filter that have a number up to end, which is that
// of a message of the filter or of a change of writers: when it has come, all before
// it have, wherever the consumer sits.
func (o *Orders) until(ctx context.Context, end uint64, policy jetstream.DeliverPolicy, filter string) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		for m, err := range o.consume(ctx, o.name, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter, o.writer()}, DeliverPolicy: policy}) {
			if err != nil {
				yield(message{}, err)
				return
			}
			if m.seq <= end && m.subject != o.writer() && !yield(m, nil) || m.seq >= end {
				return
			}
		}
	}
}

// items yields the items of a subject from the beginning, those that were there
// when it was called.
func items[T any](ctx context.Context, o *Orders, doing, subject string) iter.Seq2[T, error] {
	o.mu.RLock()
	end := max(o.fence, o.wrote[subject])
	o.mu.RUnlock()
	return func(yield func(T, error) bool) {
		for m, err := range o.until(ctx, end, jetstream.DeliverAllPolicy, subject) {
			var p page[T]
			if err != nil {
				err = failure(doing, err)
			} else if err = json.Unmarshal(m.data, &p); err != nil {
				err = damaged(doing, fmt.Errorf("message %d: %w", m.seq, err))
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// OrderEvents yields the events of an owner in the order in which they were
// persisted.
func (o *Orders) OrderEvents(ctx context.Context, owner string) iter.Seq2[order.Event, error] {
	o.mu.Lock()
	replayed := o.replayed[owner]
	delete(o.replayed, owner)
	if o.wrote[o.subject(orderKind, encode(owner))] > 0 {
		replayed = nil
	}
	o.mu.Unlock()
	if replayed != nil {
		return yieldAll(func() ([]order.Event, error) { return replayed, nil })
	}
	return items[order.Event](ctx, o, "read the events", o.subject(orderKind, encode(owner)))
}

// Journal yields the entries of a journal from the beginning. After an error it
// ends.
func (o *Orders) Journal(ctx context.Context, owner, name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for entry, err := range items[json.RawMessage](ctx, o, "read a journal", o.subject(journalKind, encode(owner), encode(name))) {
			if !yield(entry, err) {
				return
			}
		}
	}
}

// State returns a value, nil when it was never set.
func (o *Orders) State(_ context.Context, owner, name string) ([]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Clone(o.states[o.subject(deskKind, encode(owner), encode(name))]), nil
}

// OrderOwners returns who has events of orders.
func (o *Orders) OrderOwners(context.Context) ([]string, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Sorted(maps.Keys(o.orders.all)), nil
}

// Order returns an order of an owner.
func (o *Orders) Order(_ context.Context, owner, id string) (order.Order, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	found, ok := o.orders.of(owner).orders[id]
	if !ok {
		return found, orderMissing(id)
	}
	return found, nil
}

// OrderByKey returns the order of an owner's idempotency key.
func (o *Orders) OrderByKey(ctx context.Context, owner, key string) (order.Order, error) {
	o.mu.RLock()
	id, ok := o.orders.of(owner).keys[key]
	o.mu.RUnlock()
	if !ok {
		return order.Order{}, orderMissing(key)
	}
	return o.Order(ctx, owner, id)
}

// Orders returns the newest orders of an owner, newest first.
func (o *Orders) Orders(_ context.Context, owner string, limit int) ([]order.Order, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.orders.newest(owner, limit), nil
}
