package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// domain begins what is hashed, so that no hash of this log can be one of
// something else.
const domain = "candela event 1\n"

// sum returns the hash that e should carry: SHA-256 over the domain, Prev, Seq and
// At (unix microseconds) as 8 bytes each, and Owner, Kind, Subject, Actor, Client
// and Body, each after its length in 8 bytes. All numbers are big-endian. The
// lengths keep a byte from moving between neighbours unseen.
func (e *Event) sum() Hash {
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

// head is what the logs must end with.
type head struct {
	event uint64
	hash  Hash
	entry uint64
}

const selectHead = "SELECT event, hash, entry FROM head"

// loadHead reads the head in the transaction, because another process may have
// written since.
func (t *tx) loadHead() error {
	var hash []byte
	if err := t.row(selectHead, nil, &t.head.event, &hash, &t.head.entry); err != nil {
		return err
	}
	copy(t.head.hash[:], hash)
	return nil
}

// saveHead writes the head where it has moved.
func (t *tx) saveHead(before head) error {
	if t.head == before {
		return nil
	}
	_, err := t.exec("UPDATE head SET event = ?, hash = ?, entry = ?", t.head.event, t.head.hash[:], t.head.entry)
	return err
}

// record appends an event about something of an owner, asked for by a caller. The
// zero caller is the service itself.
func (t *tx) record(by principal.Caller, owner principal.Owner, kind, subject string, body []byte) error {
	e := Event{
		Seq: t.head.event + 1, At: t.l.now(), Owner: owner, Kind: kind, Subject: subject,
		Actor: by.Key, Client: by.Client, Body: body, Prev: t.head.hash,
	}
	e.Hash = e.sum()
	_, err := t.exec("INSERT INTO events (seq, at, owner, kind, subject, actor, client, body, prev, hash) VALUES (?,?,?,?,?,?,?,?,?,?)",
		e.Seq, e.At.UnixMicro(), e.Owner, e.Kind, e.Subject, e.Actor, e.Client, string(e.Body), e.Prev[:], e.Hash[:])
	if err != nil {
		return err
	}
	t.head.event, t.head.hash = e.Seq, e.Hash
	return nil
}
