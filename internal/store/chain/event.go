package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"candela/internal/kit/principal"
)

// Kinds of events. Those of keys and policies belong to the owner "", checkpoints to the owner of the chain.
const (
	OrderKind      = "order_" // begins those about orders; order.Kind follows. The ledger's index events_of_orders knows it too.
	StateKind      = "state_set"
	CheckpointKind = "chain_checkpoint"
	KeyKind        = "receipt_key_changed"
	PolicyKind     = "policy_loaded" // its subject is the hash of its body, the policy in canonical form
)

// SealEvery is after how many events of an owner a checkpoint is written, so how many hashes a stretch of a receipt has
// at most.
const SealEvery = 256

// Due reports whether a checkpoint comes before an event that is written now: it is the 257th since the last one, or the first of
// a UTC day. last is the time of the event before it.
func Due(events, sealed uint64, last, now time.Time) bool {
	return events > sealed && (events-sealed >= SealEvery || day(now) != day(last))
}

func day(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// Event is one line of the audit log.
type Event struct {
	Seq     uint64    // ascending from 1 without a gap
	At      time.Time // when it was written, by the ledger's clock
	Owner   principal.Owner
	Kind    string // such as "alert_set"
	Subject string // the id of what it is about
	Actor   string // what stands for the token that asked; "" for the service itself
	Client  string // as the client calls itself, not verified
	Body    []byte // one JSON object
	Prev    Hash   // of the event before, zero for the first
	Hash    Hash
	Erased  bool // with its owner: what it said is gone, its hash stays
}

// domain begins what is hashed, so that no hash of this log can be one of
// something else.
const domain = "candela event 1\n"

// Sum returns the hash that e should carry: SHA-256 over the domain, Prev, Seq and
// At (unix microseconds) as 8 bytes each, and Owner, Kind, Subject, Actor, Client
// and Body, each after its length in 8 bytes. All numbers are big-endian. The
// lengths keep a byte from moving between neighbours unseen.
func (e *Event) Sum() Hash {
	buf := make([]byte, 0, 512)
	buf = append(buf, domain...)
	buf = append(buf, e.Prev[:]...)
	buf = binary.BigEndian.AppendUint64(buf, e.Seq)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.At.UnixMicro()))
	for _, text := range [...]string{string(e.Owner), e.Kind, e.Subject, e.Actor, e.Client} {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(e.Body)))
	buf = append(buf, e.Body...)
	return sha256.Sum256(buf)
}
