package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"candela/internal/kit/principal"
)

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
