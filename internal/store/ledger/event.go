package ledger

import "candela/internal/kit/principal"

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
	if err := t.checkpoint(owner); err != nil {
		return err
	}
	return t.append(by, owner, kind, subject, body)
}

// append is record without a checkpoint.
func (t *tx) append(by principal.Caller, owner principal.Owner, kind, subject string, body []byte) error {
	e := Event{
		Seq: t.head.event + 1, At: t.l.now(), Owner: owner, Kind: kind, Subject: subject,
		Actor: by.Key, Client: by.Client, Body: body, Prev: t.head.hash,
	}
	e.Hash = e.Sum()
	_, err := t.exec("INSERT INTO events (seq, at, owner, kind, subject, actor, client, body, prev, hash) VALUES (?,?,?,?,?,?,?,?,?,?)",
		e.Seq, e.At.UnixMicro(), e.Owner, e.Kind, e.Subject, e.Actor, e.Client, string(e.Body), e.Prev[:], e.Hash[:])
	if err != nil {
		return err
	}
	t.head.event, t.head.hash = e.Seq, e.Hash
	return t.extend(&e)
}
