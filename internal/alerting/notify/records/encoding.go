package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Subscription is the data of a SubscriptionKind record.
type Subscription struct {
	Instruments []market.Symbol `json:"instruments,omitempty"`
	Change      string          `json:"change"` // a random ID, by which a write is found after a lost acknowledgement
	Owner       principal.Owner `json:"owner"`
	Client      string          `json:"client,omitempty"`
	Symbols     []market.Symbol `json:"symbols,omitempty"`
	Types       []string        `json:"alert_types,omitempty"`
	Kinds       notify.Kinds    `json:"kinds,omitzero"`
	Since       uint64          `json:"since"`
	Kept        SeqDeltas       `json:"kept,omitempty"`
	Expires     time.Time       `json:"expires,omitzero"`
	Seen        time.Time       `json:"seen"`
}

// Attachment is the data of an AttachmentKind record.
type Attachment struct {
	Owner     principal.Owner `json:"owner"`
	Epoch     uint64          `json:"n,omitempty"`       // counts the token's streams
	Replica   string          `json:"at,omitempty"`      // that serves or served the last of them
	Session   string          `json:"session,omitempty"` // of the stream; distinguishes those of one token
	Open      bool            `json:"open,omitempty"`    // it still does
	FilterRev uint64          `json:"sub,omitempty"`     // the revision of the filter that Replica applies
	Cursor    uint64          `json:"cursor"`
	Seen      time.Time       `json:"seen,omitzero"`
}

// Queue is the data of a QueueKind record.
type Queue struct {
	Cursor   uint64                          `json:"cursor"`           // of alerts
	Orders   uint64                          `json:"orders,omitempty"` // of events of orders
	Returned SeqDeltas                       `json:"back,omitempty"`
	Leases   map[string]map[string]SeqDeltas `json:"out,omitempty"` // by replica and batch
}

// CursorOf returns up to where the entries of a kind were taken.
func (q *Queue) CursorOf(kind notify.Kind) uint64 {
	if kind == notify.Order {
		return q.Orders
	}
	return q.Cursor
}

// Advance moves the cursor of a kind to a sequence number that is not lower.
func (q *Queue) Advance(kind notify.Kind, seq uint64) {
	if kind == notify.Order {
		q.Orders = max(q.Orders, seq)
	} else {
		q.Cursor = max(q.Cursor, seq)
	}
}

// Cursors is the data of a CursorKind record: the epoch and cursor of each token's stream.
// One record holds many streams because the store pays per record and every delivery moves
// a cursor.
type Cursors map[string][2]uint64

// SeqDeltas is an ascending list of sequence numbers, encoded as the differences between
// neighbours so that a hundred thousand fit one message.
type SeqDeltas []uint64

// MarshalJSON encodes the differences.
func (s SeqDeltas) MarshalJSON() ([]byte, error) {
	deltas := make([]uint64, len(s))
	last := uint64(0)
	for i, seq := range s {
		if seq <= last && i > 0 {
			return nil, fmt.Errorf("sequence %d after %d: not ascending", seq, last)
		}
		deltas[i], last = seq-last, seq
	}
	return json.Marshal(deltas)
}

// UnmarshalJSON decodes the differences.
func (s *SeqDeltas) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*[]uint64)(s)); err != nil {
		return err
	}
	last := uint64(0)
	for i := range *s {
		next := last + (*s)[i]
		if next < last || next == last && i > 0 {
			return fmt.Errorf("delta %d: not ascending", i)
		}
		(*s)[i], last = next, next
	}
	return nil
}

// Encode returns the data of a record. Every type above can be encoded.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("notify: encode record: " + err.Error())
	}
	return data
}

// DecodeSubscription decodes a SubscriptionKind record. Without data it returns nil.
func DecodeSubscription(data []byte) (*Subscription, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // a deleted record is not an error
	}
	var s Subscription
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if s.Owner == "" || len(s.Kept) > notify.MaxBacklog {
		return nil, errors.New("invalid subscription record")
	}
	return &s, nil
}

// A Settlement reports whether a client received a batch.
type Settlement struct {
	Batch     string
	Seqs      []uint64
	Delivered bool
}

// AddLease records that a replica has taken a batch. The maps are copied because another
// reader may hold the previous ones.
func (q *Queue) AddLease(replica, batch string, seqs SeqDeltas) {
	q.Leases = maps.Clone(q.Leases)
	if q.Leases == nil {
		q.Leases = map[string]map[string]SeqDeltas{}
	}
	batches := maps.Clone(q.Leases[replica])
	if batches == nil {
		batches = map[string]SeqDeltas{}
	}
	batches[batch] = seqs
	q.Leases[replica] = batches
}

func (q *Queue) removeLease(replica, batch string) bool {
	if _, ok := q.Leases[replica][batch]; !ok {
		return false
	}
	q.Leases = maps.Clone(q.Leases)
	batches := maps.Clone(q.Leases[replica])
	delete(batches, batch)
	if q.Leases[replica] = batches; len(batches) == 0 {
		delete(q.Leases, replica)
	}
	return true
}

func (q *Queue) returnSeqs(seqs []uint64) {
	returned := append(slices.Clone(q.Returned), seqs...)
	slices.Sort(returned)
	q.Returned = slices.Compact(returned)
	q.Returned = q.Returned[max(0, len(q.Returned)-notify.MaxRetained):]
}

// Settle removes the leases of settled batches and returns undelivered entries to the
// queue. It reports whether the queue changed.
func (q *Queue) Settle(replica string, settlements []Settlement) (changed bool) {
	for _, s := range settlements {
		seqs := q.Leases[replica][s.Batch]
		leased := q.removeLease(replica, s.Batch)
		switch {
		case leased && !s.Delivered:
			q.returnSeqs(seqs)
		case !leased && s.Delivered:
			// This replica was considered dead and its lease was reclaimed. The client did
			// receive the entries, so drop those that nobody has taken since.
			rest := slices.DeleteFunc(slices.Clone(q.Returned), func(seq uint64) bool { return slices.Contains(s.Seqs, seq) })
			leased = len(rest) < len(q.Returned)
			q.Returned = rest
		}
		changed = changed || leased
	}
	return changed
}

// Reclaim returns the leases of dead replicas to the queue and reports whether there were
// any.
func (q *Queue) Reclaim(live func(replica string) bool) (changed bool) {
	for replica, batches := range q.Leases {
		if live(replica) {
			continue
		}
		q.Leases = maps.Clone(q.Leases)
		delete(q.Leases, replica)
		for _, seqs := range batches {
			q.returnSeqs(seqs)
		}
		changed = true
	}
	return changed
}

// Undelivered lists the returned and the leased entries.
func (q *Queue) Undelivered() []uint64 {
	seqs := slices.Clone([]uint64(q.Returned))
	for _, batches := range q.Leases {
		for _, leased := range batches {
			seqs = append(seqs, leased...)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
