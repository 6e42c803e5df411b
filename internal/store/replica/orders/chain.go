package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/order"
)

// The events of an owner are a chain, in which the number of an event counts within the owner, and Prev is the hash of the owner's chain
// before it. A message has that chain, so that each proves its events alone, and the writer continues an owner's chain from the
// owner's last message. Journals and references to snapshots are no events.

// The names of the states of the owner "", whose values are events about what proves others. They are no states of a desk.
const (
	keyState    = "receipt key"
	policyState = "policy"
)

// pageChain is the chain of an owner before the events of a message.
type pageChain struct {
	chain.Chain

	Sealed uint64 `json:"sealed,omitempty"` // how many of these events the last checkpoint has
}

// ownerChain is the chain of an owner after the owner's last message.
type ownerChain struct {
	pageChain

	at      time.Time // of that message
	seq     uint64    // its sequence number
	unknown bool      // it has no chain; an earlier one may
}

// target is where the items of a change go. chained means that they are events of an owner.
type target struct {
	subject string
	owner   principal.Owner
	name    string // of a state, "" for order events
	chained bool
}

func (o *Store) ordersOf(owner principal.Owner) target {
	return target{o.Subject(orderKind, conn.EncodeToken(string(owner))), owner, "", true}
}

func (o *Store) stateOf(owner principal.Owner, name string) target {
	return target{o.Subject(deskKind, conn.EncodeToken(string(owner)), conn.EncodeToken(name)), owner, name, true}
}

// proof is the item of a message about what proves others.
type proof struct {
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	Body    json.RawMessage `json:"body"`
}

// extension adds the messages of one change to the chain of their owner.
type extension struct {
	key  chain.Key
	to   target
	set  conn.ChangeInfo
	next ownerChain
	made []chain.Signed // checkpoints
}

// room returns how many items the next message may have until a checkpoint is due.
func (x *extension) room() int {
	switch {
	case x == nil:
		return math.MaxInt
	case x.due():
		return chain.SealEvery - 1 // beside the checkpoint
	default:
		return int(chain.SealEvery - (x.next.Events - x.next.Sealed))
	}
}

func (x *extension) due() bool {
	return chain.Due(x.next.Events, x.next.Sealed, x.next.at, x.set.At)
}

// add adds the events of a message.
func (x *extension) add(p *page[json.RawMessage]) error {
	before := x.next.pageChain
	p.Chain = &before
	if len(p.Items) > 0 && x.due() {
		signed, err := x.key.Seal(chain.Checkpoint{Owner: x.to.owner, Events: before.Events, Hash: before.Hash, At: chain.Stamp(x.set.At)})
		if err == nil {
			p.Checkpoint, err = json.Marshal(signed)
		}
		if err != nil {
			return err
		}
		x.made = append(x.made, signed)
	}
	_, next, err := eventsOf(x.to.owner, x.to.name, p)
	x.next = next
	return err
}

// extend completes an event and adds it.
func (c *pageChain) extend(e *chain.Event, set conn.ChangeInfo) {
	e.Seq, e.At, e.Actor, e.Client, e.Prev = c.Events+1, set.At, set.Actor, set.Client, c.Hash
	e.Hash = e.Sum()
	c.Add(e.Hash)
}

// eventsOf returns the events of a message of an owner, as its writer made them, and the chain after them. name is that of a state, ""
// for order events. They are nil if the message has no chain.
func eventsOf(owner principal.Owner, name string, p *page[json.RawMessage]) ([]chain.Event, ownerChain, error) {
	if p.Chain == nil {
		return nil, ownerChain{unknown: true}, nil
	}
	next := ownerChain{pageChain: *p.Chain, at: p.Set.At}
	var events []chain.Event
	if len(p.Checkpoint) > 0 {
		e := chain.Event{Owner: owner, Kind: chain.CheckpointKind, Body: p.Checkpoint}
		next.extend(&e, conn.ChangeInfo{At: p.Set.At})
		next.Sealed = p.Chain.Events
		events = append(events, e)
	}
	for _, item := range p.Items {
		e, err := eventOf(owner, name, item)
		if err != nil {
			return nil, next, err
		}
		next.extend(&e, p.Set)
		events = append(events, e)
	}
	return events, next, nil
}

// eventOf returns the event that an item is.
func eventOf(owner principal.Owner, name string, item json.RawMessage) (chain.Event, error) {
	switch {
	case name != "" && owner != "":
		return chain.Event{Owner: owner, Kind: chain.StateKind, Subject: name, Body: item}, nil
	case name != "":
		var p proof
		err := json.Unmarshal(item, &p)
		return chain.Event{Kind: p.Kind, Subject: p.Subject, Body: p.Body}, err
	}
	var e order.Event
	err := json.Unmarshal(item, &e)
	return chain.Event{Owner: owner, Kind: chain.OrderKind + e.Kind.String(), Subject: e.About(), Body: item}, err
}

// extended notes that a change was written.
func (o *Store) extended(x *extension) {
	if x == nil {
		return
	}
	x.next.seq = o.lastSeq
	o.chains[x.to.owner] = x.next
	for _, made := range x.made {
		if o.OnCheckpoint != nil {
			o.OnCheckpoint(made)
		}
	}
}

// extension begins the extension of an owner's chain by a change. The caller holds writeTurn.
func (o *Store) extension(ctx context.Context, to target, set conn.ChangeInfo) (*extension, error) {
	if !to.chained {
		return nil, nil //nolint:nilnil // what is no event is in no chain
	}
	last := o.chains[to.owner]
	if last.unknown {
		var err error
		if last, err = o.findChain(ctx, to.owner); err != nil {
			return nil, conn.Unavailable("read the chain of an owner", err)
		}
	}
	return &extension{key: o.key, to: to, set: set, next: last}, nil
}

// findChain returns the chain of an owner whose last message has none, because a writer of an older version wrote it.
func (o *Store) findChain(ctx context.Context, owner principal.Owner) (last ownerChain, err error) {
	for m, err := range o.readUntil(ctx, o.fencingToken, jetstream.OrderedConsumerConfig{
		FilterSubjects: append(o.ownerFilters(owner), o.writer()), DeliverPolicy: jetstream.DeliverAllPolicy,
	}) {
		if err != nil {
			return last, err
		}
		if next, ok, err := o.chainAfter(m); ok && err == nil && !next.unknown {
			last = next
		}
	}
	return last, nil
}

// ownerFilters returns what matches the messages with an owner's events.
func (o *Store) ownerFilters(owner principal.Owner) []string {
	return []string{o.Subject(orderKind, conn.EncodeToken(string(owner))), o.Subject(deskKind, conn.EncodeToken(string(owner)), ">")}
}

// chainAfter returns the chain after a message, and false for a message that is not about events.
func (o *Store) chainAfter(m conn.Message) (ownerChain, bool, error) {
	owner, name, ok, err := parseEvents(o.Conn, m.Subject)
	if !ok || err != nil || m.Forged != "" {
		return ownerChain{}, false, err
	}
	var p page[json.RawMessage]
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return ownerChain{}, false, err
	}
	_, next, err := eventsOf(owner, name, &p)
	next.seq = m.Seq
	return next, true, err
}

// parseEvents returns the owner of the events in messages of a subject, and the name of the state that they set, "" for those of orders.
// ok is false for subjects without events.
func parseEvents(c *conn.Conn, subject string) (owner principal.Owner, name string, ok bool, err error) {
	if token, orders := strings.CutPrefix(subject, c.Subject(orderKind, "")); orders {
		of, err := conn.DecodeToken(token)
		return principal.Owner(of), "", true, err
	}
	if !strings.HasPrefix(subject, c.Subject(deskKind, "")) {
		return "", "", false, nil
	}
	owner, name, err = parseSubject(c, deskKind, subject)
	return owner, name, !isSnapshot(name), err
}

// learnChain notes the chain of an owner after a message, the last of its subject. An unreadable one is left to those who
// read the message itself.
func (o *Store) learnChain(m conn.Message) {
	owner, _, ok, err := parseEvents(o.Conn, m.Subject)
	if !ok || err != nil || m.Seq < o.chains[owner].seq {
		return
	}
	next, _, err := o.chainAfter(m)
	if err != nil {
		next = ownerChain{unknown: true}
	}
	next.seq = m.Seq
	o.chains[owner] = next
}

// introduceKey records which key signs checkpoints, unless the stream says so already.
func (o *Store) introduceKey(ctx context.Context) error {
	end, err := o.beginWrite(ctx) // refused if this was replaced already
	if err != nil {
		return err
	}
	defer end()
	if o.keyNamed == o.key.ID() {
		return nil
	}
	change, err := o.key.Introduce(chain.Key{}, o.now())
	if err != nil {
		return err
	}
	body, err := json.Marshal(change)
	if err == nil {
		err = o.saveProof(ctx, keyState, proof{chain.KeyKind, o.key.ID(), body})
	}
	if err == nil {
		o.keyNamed = o.key.ID()
	}
	return err
}

// RecordPolicy adds an event with the policy in force, unless the last such event has the same.
func (o *Store) RecordPolicy(ctx context.Context, text []byte, hash string) error {
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	if o.policyNamed == hash {
		return nil
	}
	if err = o.saveProof(ctx, policyState, proof{chain.PolicyKind, hash, text}); err == nil {
		o.policyNamed = hash
	}
	return err
}

// saveProof writes an event of the owner "". The caller holds writeTurn.
func (o *Store) saveProof(ctx context.Context, name string, p proof) error {
	var item bytes.Buffer
	e := json.NewEncoder(&item)
	e.SetEscapeHTML(false) // so that the body keeps its bytes
	if err := e.Encode(p); err != nil {
		return err
	}
	_, err := o.appendItems(ctx, "record "+p.Kind, o.stateOf("", name), principal.Caller{}, []json.RawMessage{bytes.TrimSpace(item.Bytes())})
	return err
}

// readProof notes what the last message of a state of the owner "" says.
func (o *Store) readProof(name string, item json.RawMessage) error {
	var p proof
	if err := json.Unmarshal(item, &p); err != nil {
		return err
	}
	switch name {
	case keyState:
		o.keyNamed = p.Subject
	case policyState:
		o.policyNamed = p.Subject
	}
	return nil
}
