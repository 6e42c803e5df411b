package auditlog

import (
	"bytes"
	"encoding/json"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
)

// tail is an owner's chain after the owner's last message.
type tail struct {
	chain.Chain

	sealed uint64    // events that the last checkpoint has
	at     time.Time // of the last event
}

// message is the data of a message.
type message struct {
	ID     string            `json:"id"` // by which its writer finds it after a lost acknowledgement
	Chain  chain.Chain       `json:"chain"`
	Sealed uint64            `json:"sealed,omitempty"`
	Marks  map[string]uint64 `json:"marks,omitempty"` // up to where what the log follows was moved, by its name
	Events []stored          `json:"events"`
}

// stored is an event without what follows from its place.
type stored struct {
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"`
	Subject string          `json:"subject,omitempty"`
	Actor   string          `json:"actor,omitempty"`
	Client  string          `json:"client,omitempty"`
	Body    json.RawMessage `json:"body"`
}

// encode keeps the bytes of bodies.
func (m *message) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(m)
	return b.Bytes(), err
}

// events returns the events of a message of an owner, and the chain after them.
func (m *message) events(owner principal.Owner) ([]chain.Event, tail) {
	next := tail{Chain: m.Chain, sealed: m.Sealed}
	events := make([]chain.Event, len(m.Events))
	for i, one := range m.Events {
		if one.Kind == chain.CheckpointKind {
			next.sealed = next.Events
		}
		events[i] = chain.Event{Owner: owner, Kind: one.Kind, Subject: one.Subject, At: one.At, Actor: one.Actor, Client: one.Client, Body: one.Body}
		next.extend(&events[i])
	}
	return events, next
}

// extend completes an event and adds it. Events that are moved here may be older than the one before them.
func (t *tail) extend(e *chain.Event) {
	e.Seq, e.Prev = t.Events+1, t.Hash
	e.Hash = e.Sum()
	t.Add(e.Hash)
	if e.At.After(t.at) {
		t.at = e.At
	}
}
