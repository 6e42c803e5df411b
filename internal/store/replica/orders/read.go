package orders

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

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// maxPage bounds the items of one message. Servers accept a megabyte by default.
const maxPage = 256 << 10

// page is a message of the order stream: a change, or a part of one.
type page[T any] struct {
	Set   conn.ChangeInfo `json:"set"`
	Items []T             `json:"items,omitempty"`

	Notices []storedNotice `json:"notices,omitempty"`

	// Of events. An older version ignores both.
	Chain      *pageChain      `json:"chain,omitempty"`      // before the events
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"` // the event before the items
}

// pages returns the messages of items. Notices are in the last, or after it if they are many. x adds them to a chain; nil for
// items that are no events.
func (o *Store) pages(subject string, set conn.ChangeInfo, items []json.RawMessage, notices []storedNotice, x *extension) ([]conn.Change, error) {
	limit := o.size
	if maxPayload := int(o.NATS().MaxPayload()); maxPayload > 0 {
		limit = min(limit, maxPayload/2) // leaves room for headers and the page
	}
	var changes []conn.Change
	for len(items)+len(notices) > 0 {
		n, size := 0, 0
		for n < len(items) && (n == 0 || size+len(items[n]) <= limit) && n < x.room() {
			size += len(items[n])
			n++
		}
		noticed := 0
		for used := size; n == len(items) && noticed < len(notices) && (used+len(notices[noticed].Data) <= limit || n == 0 && noticed == 0); noticed++ {
			used += 2 * len(notices[noticed].Data)
		}
		p := page[json.RawMessage]{Set: set, Items: items[:n], Notices: notices[:noticed]}
		data, err := p.encode(x)
		if err != nil {
			return nil, fmt.Errorf("encode items for %s: %w", subject, err)
		}
		changes = append(changes, conn.Change{Subject: subject, Data: data})
		items, notices = items[n:], notices[noticed:]
		if size > maxPage || len(changes) > conn.MaxBatch {
			return nil, &fault.Error{Kind: fault.Invalid, Code: "too_large", Message: "The write exceeds the size limit of the shared store."}
		}
	}
	return changes, nil
}

// encode adds the events of the page to a chain, nil for items that are no events, and encodes it.
func (p *page[T]) encode(x *extension) ([]byte, error) {
	var b bytes.Buffer
	if raw, ok := any(p).(*page[json.RawMessage]); ok && x != nil {
		if err := x.add(raw); err != nil {
			return nil, err
		}
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // so that items keep their bytes
	err := e.Encode(p)
	return b.Bytes(), err
}

// maxSeparateReplays is the number of accounts up to which each is replayed from its own snapshot.
const maxSeparateReplays = 16

// replay reads the stream up to the message that made this the writer.
func (o *Store) replay(ctx context.Context) error {
	const op = "read orders"
	owners, err := o.readStates(ctx)
	if err != nil {
		return conn.Unavailable(op, err)
	}
	if used, known := o.referencedBlobs(); known {
		o.blobs.deleteOrphans(ctx, o.SnapshotTimeout, used, o.verifyWriter)
	}
	after := make(map[principal.Owner]uint64)
	for _, owner := range owners {
		if after[owner], err = o.loadSnapshot(ctx, owner); err != nil {
			return conn.Unavailable(op, err)
		}
	}
	if len(owners) > maxSeparateReplays {
		return o.replayAfterSnapshot(ctx, owners, ">", after)
	}
	for _, owner := range owners {
		if err := o.replayAfterSnapshot(ctx, []principal.Owner{owner}, conn.EncodeToken(string(owner)), after); err != nil {
			return err
		}
	}
	return nil
}

// verifyWriter returns an error unless the servers know this as the writer.
func (o *Store) verifyWriter(ctx context.Context) error {
	name, err := o.readChangeID(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return o.stream.GetLastMsgForSubject(ctx, o.writer())
	})
	if err == nil && name != o.writerID {
		return fencedError()
	}
	return err
}

// replayAfterSnapshot adds the events since the snapshots of owners. If they do not match, it
// discards the snapshots and replays all events. token is the owners' part of the subjects.
func (o *Store) replayAfterSnapshot(ctx context.Context, owners []principal.Owner, token string, after map[principal.Owner]uint64) error {
	from, loaded := after[owners[0]], false
	for _, owner := range owners {
		from, loaded = min(from, after[owner]), loaded || after[owner] > 0
	}
	err := o.replayEvents(ctx, from+1, token, after)
	if !loaded || !isDataError(err) {
		return err
	}
	o.Log.ErrorContext(ctx, "account snapshot inconsistent; replaying all events", "error", err)
	for _, owner := range owners {
		o.discardSnapshot(owner)
		delete(after, owner)
	}
	return o.replayEvents(ctx, 1, token, after)
}

// isDataError reports whether an error concerns the data, not the reading.
func isDataError(err error) bool {
	f := fault.Of(err)
	return f != nil && (f.Kind != fault.Unavailable || f.Code == "store_damaged")
}

// readStates reads desk states and snapshot references, and returns the owners of events.
func (o *Store) readStates(ctx context.Context) (owners []principal.Owner, err error) {
	for m, err := range o.readLatest(ctx, o.fencingToken, o.Subject(orderKind, ">"), o.Subject(deskKind, ">")) {
		ours := true
		if err == nil && m.Forged != "" {
			m, ours, err = o.lastSealed(ctx, m.Forged)
		}
		if err != nil {
			return nil, err
		}
		if !ours {
			continue // no replica wrote to the subject
		}
		o.learnChain(m)
		if token, ok := strings.CutPrefix(m.Subject, o.Subject(orderKind, "")); ok {
			owner, err := conn.DecodeToken(token)
			if err != nil {
				return nil, conn.Corrupted("read subject", err)
			}
			owners = append(owners, principal.Owner(owner))
			continue
		}
		if err := o.readState(ctx, m); err != nil {
			return nil, conn.Corrupted("read states", fmt.Errorf("message %d of %s: %w", m.Seq, m.Subject, err))
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners), nil // a lagging server may send a subject twice
}

// lastSealed returns the last message of a subject that a replica sealed, and false if there is
// none. Strangers may have written after it.
func (o *Store) lastSealed(ctx context.Context, subject string) (last conn.Message, ok bool, err error) {
	for m, err := range o.readRange(ctx, 1, o.fencingToken, subject) {
		if err != nil {
			return conn.Message{}, false, err
		}
		last, ok = m, true
	}
	return last, ok, nil
}

// readState reads a state or a snapshot reference. An unreadable reference counts as none.
func (o *Store) readState(ctx context.Context, m conn.Message) error {
	owner, name, err := o.parseSubject(deskKind, m.Subject)
	if err != nil {
		return err
	}
	var p page[json.RawMessage]
	if err = json.Unmarshal(m.Data, &p); err != nil || len(p.Items) != 1 {
		err = fmt.Errorf("want 1 value, got %d: %w", len(p.Items), err)
	}
	if owner == "" && err == nil {
		return o.readProof(name, p.Items[0])
	}
	if !isSnapshot(name) {
		if err == nil {
			o.states[m.Subject] = p.Items[0]
		}
		return err
	}
	at := committedSnapshot{seq: m.Seq}
	if err == nil {
		err = json.Unmarshal(p.Items[0], &at.snapshotRef)
	}
	if err != nil {
		o.Log.ErrorContext(ctx, "snapshot reference unreadable; replaying all events", "seq", m.Seq, "error", err)
		at = committedSnapshot{}
	}
	o.snapshots[m.Subject] = at
	return nil
}

// replayEvents applies the events of a subject token from a message on, without those of owners up
// to the sequence number in after.
func (o *Store) replayEvents(ctx context.Context, from uint64, token string, after map[principal.Owner]uint64) error {
	const op = "read orders"
	for m, err := range o.readRange(ctx, from, o.fencingToken, o.Subject(orderKind, token)) {
		if err != nil {
			return conn.Unavailable(op, err)
		}
		if err := o.applyMessage(ctx, m, after); err != nil {
			return conn.Corrupted(op, fmt.Errorf("message %d of %s: %w", m.Seq, m.Subject, err))
		}
	}
	return nil
}

func (o *Store) applyMessage(ctx context.Context, m conn.Message, after map[principal.Owner]uint64) error {
	of, err := conn.DecodeToken(strings.TrimPrefix(m.Subject, o.Subject(orderKind, "")))
	owner := principal.Owner(of)
	if err != nil || m.Seq <= after[owner] {
		return err
	}
	var p page[order.Event]
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return err
	}
	d := o.orders.draft(owner, o.archiveReader(ctx))
	if _, err := d.add(p.Items); err != nil {
		return err
	}
	o.orders.merge(d, seqRange{m.Seq, m.Seq})
	o.loadedEvents[owner] = append(o.loadedEvents[owner], p.Items...)
	return nil
}

// readRange yields the messages of a filter between two sequence numbers. end must be that of a
// message of the filter or of a writer change, so that reading ends even on a lagging server.
func (o *Store) readRange(ctx context.Context, from, end uint64, filter string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		for m, err := range o.readUntil(ctx, end, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{filter, o.writer()}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		}) {
			if m.Forged == "" && !yield(m, err) {
				return
			}
		}
	}
}

// readLatest yields the last message of each subject, and perhaps earlier ones. They may be forged.
func (o *Store) readLatest(ctx context.Context, end uint64, filters ...string) iter.Seq2[conn.Message, error] {
	return o.readUntil(ctx, end, jetstream.OrderedConsumerConfig{
		FilterSubjects: append(filters, o.writer()), DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	})
}

func (o *Store) readUntil(ctx context.Context, end uint64, cfg jetstream.OrderedConsumerConfig) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		for m, err := range o.Consume(ctx, o.name, cfg) {
			if err != nil {
				yield(conn.Message{}, err)
				return
			}
			m = o.Seals.Unseal(ctx, m, 0)
			if m.Seq <= end && m.Subject != o.writer() && !yield(m, nil) || m.Seq >= end {
				return
			}
		}
	}
}

// items yields the items of a subject from a message on that were stored when it was called.
func items[T any](ctx context.Context, o *Store, op, subject string, from uint64) iter.Seq2[T, error] {
	o.mu.RLock()
	end := max(o.fencingToken, o.lastWritten[subject])
	o.mu.RUnlock()
	return func(yield func(T, error) bool) {
		if from > end {
			return // nothing was written since
		}
		for m, err := range o.readRange(ctx, from, end, subject) {
			var p page[T]
			if err != nil {
				err = conn.Unavailable(op, err)
			} else if err = json.Unmarshal(m.Data, &p); err != nil {
				err = conn.Corrupted(op, fmt.Errorf("message %d: %w", m.Seq, err))
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

// OrderEvents yields the events of an owner in the order they were persisted.
func (o *Store) OrderEvents(ctx context.Context, owner principal.Owner) iter.Seq2[order.Event, error] {
	return items[order.Event](ctx, o, "read events", o.Subject(orderKind, conn.EncodeToken(string(owner))), 1)
}

// Journal yields the entries of a journal from the beginning. It ends after an error.
func (o *Store) Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error] {
	return o.journal(ctx, owner, name, 1)
}

func (o *Store) journal(ctx context.Context, owner principal.Owner, name string, from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for entry, err := range items[json.RawMessage](ctx, o, "read journal", o.Subject(journalKind, conn.EncodeToken(string(owner)), conn.EncodeToken(name)), from) {
			if !yield(entry, err) {
				return
			}
		}
	}
}

// State returns a value, nil when it was never set.
func (o *Store) State(_ context.Context, owner principal.Owner, name string) ([]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Clone(o.states[o.Subject(deskKind, conn.EncodeToken(string(owner)), conn.EncodeToken(name))]), nil
}

// OrderOwners returns the owners of order events.
func (o *Store) OrderOwners(context.Context) ([]principal.Owner, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Sorted(maps.Keys(o.orders.all)), nil
}

// Order returns an order of an owner.
func (o *Store) Order(ctx context.Context, owner principal.Owner, id string) (order.Order, error) {
	return o.findOrder(ctx, owner, idName, id)
}

// OrderByKey returns the order with an owner's idempotency key.
func (o *Store) OrderByKey(ctx context.Context, owner principal.Owner, key string) (order.Order, error) {
	return o.findOrder(ctx, owner, keyName, key)
}

func (o *Store) findOrder(ctx context.Context, owner principal.Owner, kind, name string) (order.Order, error) {
	o.mu.RLock()
	a := o.orders.of(owner)
	id := name
	if kind == keyName {
		id = a.keys[name]
	}
	found, ok := a.orders[id]
	rest := a.archive
	o.mu.RUnlock()
	if ok {
		return found, nil
	}
	archived, ok, err := o.archiveReader(ctx)(owner, rest, kind, name)
	if err == nil && !ok {
		err = orderMissing(name)
	}
	return archived.Order, err
}

// OwnersWith returns the owners whose value of a name contains a text.
func (o *Store) OwnersWith(_ context.Context, name, text string) ([]principal.Owner, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var found []principal.Owner
	for subject, value := range o.states {
		if !bytes.Contains(value, []byte(text)) {
			continue
		}
		owner, kept, err := o.parseSubject(deskKind, subject)
		if err != nil {
			return nil, err
		}
		if kept == name {
			found = append(found, owner)
		}
	}
	slices.Sort(found)
	return found, nil
}

// States returns the values of all owners, by owner and name, without snapshot references.
func (o *Store) States(context.Context) (map[principal.Owner]map[string][]byte, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	all := make(map[principal.Owner]map[string][]byte)
	for subject, value := range o.states {
		owner, name, err := o.parseSubject(deskKind, subject)
		if err != nil {
			return nil, err
		}
		if all[owner] == nil {
			all[owner] = make(map[string][]byte)
		}
		all[owner][name] = slices.Clone(value)
	}
	return all, nil
}

// Journals returns the names of the journals of all owners, by owner.
func (o *Store) Journals(ctx context.Context) (map[principal.Owner][]string, error) {
	const op = "read journals"
	info, err := o.stream.Info(ctx, jetstream.WithSubjectFilter(o.Subject(journalKind, ">")))
	if err != nil {
		return nil, conn.Unavailable(op, err)
	}
	all := make(map[principal.Owner][]string)
	for subject := range info.State.Subjects {
		owner, name, err := o.parseSubject(journalKind, subject)
		if err != nil {
			return nil, err
		}
		all[owner] = append(all[owner], name)
	}
	return all, nil
}

func (o *Store) parseSubject(kind, subject string) (owner principal.Owner, name string, err error) {
	return parseSubject(o.Conn, kind, subject)
}

func parseSubject(c *conn.Conn, kind, subject string) (owner principal.Owner, name string, err error) {
	first, second, ok := strings.Cut(strings.TrimPrefix(subject, c.Subject(kind, "")), ".")
	of, err := conn.DecodeToken(first)
	if ok && err == nil {
		name, err = conn.DecodeToken(second)
	}
	if !ok || err != nil {
		return "", "", conn.Corrupted("read subject", fmt.Errorf("%s: %w", subject, err))
	}
	return principal.Owner(of), name, nil
}
