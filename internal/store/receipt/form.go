// Package receipt has receipts of orders: the events of an order with proof that they are in the chain of their owner, signed
// so that a stranger can verify them without the log. docs/receipts.md is the specification. It also has the key, in its file in
// the state directory. It reads the log through a Source, which package ledger implements.
package receipt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/store/chain"
)

const (
	domain       = "candela receipt 1\n"
	documentType = "candela.order"
	version      = 1

	maxEvents = 1000    // of one receipt
	maxLinks  = 4096    // of one stretch; between two checkpoints there are at most 256
	maxSize   = 4 << 20 // bytes of a receipt that is read
)

// Document is a receipt with its signature.
type Document struct {
	Receipt   Receipt         `json:"receipt"`
	Signature chain.Signature `json:"signature"`
}

// Receipt is what is signed.
type Receipt struct {
	Type         string    `json:"type"`
	Version      int       `json:"version"`
	OrderID      string    `json:"order_id"`
	IssuedAt     string    `json:"issued_at"`
	Installation string    `json:"installation"` // ID of its first key
	Mode         string    `json:"mode"`         // paper or live
	Policy       *Policy   `json:"policy,omitempty"`
	Events       []Event   `json:"events"`
	Chain        []Stretch `json:"chain"`
}

// Policy names the policy under which the order was placed.
type Policy struct {
	Hash string `json:"hash"`
	Seq  uint64 `json:"seq"` // of the event policy_loaded that has its text
}

// Event is an event of the log, with everything that its hash is over.
type Event struct {
	Seq     uint64          `json:"seq"`
	At      int64           `json:"at"` // unix microseconds
	Owner   principal.Owner `json:"owner"`
	Kind    string          `json:"kind"`
	Subject string          `json:"subject"`
	Actor   string          `json:"actor"`
	Client  string          `json:"client"`
	Body    string          `json:"body"` // JSON, byte for byte as in the log
	Prev    chain.Hash      `json:"prev"`
}

// Stretch is a part of the owner's chain that ends with a checkpoint.
type Stretch struct {
	Before chain.Hash `json:"before"` // of the chain before the first link
	// Links has one text for each event of the owner: its hash, or "" for the next event of the receipt.
	Links      []string         `json:"links"`
	Checkpoint chain.Checkpoint `json:"checkpoint"`
	Signature  chain.Signature  `json:"signature"`
}

func toEvent(e *chain.Event) Event {
	return Event{e.Seq, e.At.UnixMicro(), e.Owner, e.Kind, e.Subject, e.Actor, e.Client, string(e.Body), e.Prev}
}

// sum returns the hash of the event.
func (e Event) sum() chain.Hash {
	stored := chain.Event{Seq: e.Seq, At: time.UnixMicro(e.At), Owner: e.Owner, Kind: e.Kind, Subject: e.Subject, Actor: e.Actor, Client: e.Client, Body: []byte(e.Body), Prev: e.Prev}
	return stored.Sum()
}

// createdKind is the kind of the event that creates an order.
const createdKind = "order_created"

// origin is what the event of an order's creation says of it.
type origin struct {
	Mode   string `json:"mode"`
	Policy string `json:"policy"`
	Note   string `json:"note"`
}

func (e Event) origin() (origin, error) {
	var body struct {
		Origin origin `json:"origin"`
	}
	if err := json.Unmarshal([]byte(e.Body), &body); err != nil {
		return origin{}, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return body.Origin, nil
}

// Text returns the document in canonical form.
func (d Document) Text() ([]byte, error) { return strictjson.CanonicalOf(d) }

// Parse reads a document. White space and the order of keys do not matter; another member, a missing one, or a value that is
// written in another way than the specification says is an error.
func Parse(data []byte) (Document, error) {
	var d Document
	if len(data) > maxSize {
		return d, fmt.Errorf("it has %d bytes; a receipt has at most %d", len(data), maxSize)
	}
	text, err := strictjson.Canonical(data)
	if err != nil {
		return d, fmt.Errorf("not a receipt: %w", err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("not a receipt: %w", err)
	}
	// A text that is read and written again must be the same.
	again, err := d.Text()
	if err != nil || !bytes.Equal(again, text) {
		return d, fmt.Errorf("not a receipt of type %s, version %d: it has other members than the specification, or values in another form", documentType, version)
	}
	return d, nil
}
