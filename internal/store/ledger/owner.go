package ledger

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"iter"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// The kinds of event about owners. Their owner is "", the operator; their subject is the owner's
// id.
const (
	ownerBegan     = "owner_began"
	ownerSuspended = "owner_suspended"
	ownerResumed   = "owner_resumed"
	ownerLinked    = "owner_linked"
	ownerPlanned   = "owner_plan_set"
	ownerErased    = "owner_erased"
)

// SeeOwner stores that an owner signed in, and makes its record at the first time. It returns the
// record as it is now. The plan of o counts if it is not "".
func (l *Ledger) SeeOwner(ctx context.Context, o owners.Owner) (owners.Owner, error) {
	var now owners.Owner
	err := l.write(ctx, func(t *tx) (err error) {
		at := micro(l.now())
		now, err = t.owner(o.ID)
		switch {
		case noRow(err):
			now = o
			now.State, now.Since, now.First, now.Last = owners.Active, at, at, at
			if err := t.putOwner(now); err != nil {
				return err
			}
			if _, err := t.exec(overwrite); err != nil {
				return err
			}
			return t.record(principal.Caller{}, "", ownerBegan, string(o.ID), []byte("{}"))
		case err != nil:
			return err
		case now.State == owners.Erased:
			return nil
		}
		now.Email, now.Name, now.Last = o.Email, o.Name, at
		if o.Plan != "" {
			now.Plan = o.Plan
		}
		return t.putOwner(now)
	})
	return now, err
}

const ownerColumns = "owner, issuer, subject, email, name, plan, state, since, first, last FROM owners "

func (t *tx) owner(id principal.Owner) (owners.Owner, error) {
	return scanOwner(func(columns ...any) error {
		return t.row("SELECT "+ownerColumns+"WHERE owner = ?", []any{id}, columns...)
	})
}

// ownerLeft returns the record of an owner who was not erased.
func (t *tx) ownerLeft(id principal.Owner) (owners.Owner, error) {
	o, err := t.owner(id)
	switch {
	case noRow(err):
		err = owners.NotFound(id)
	case err == nil && o.State == owners.Erased:
		err = owners.WasErased(o)
	}
	return o, err
}

func (t *tx) putOwner(o owners.Owner) error {
	_, err := t.exec("INSERT OR REPLACE INTO owners (owner, issuer, subject, email, name, plan, state, since, first, last) VALUES (?,?,?,?,?,?,?,?,?,?)",
		o.ID, o.Issuer, o.Subject, o.Email, o.Name, o.Plan, string(o.State), o.Since.UnixMicro(), o.First.UnixMicro(), o.Last.UnixMicro())
	return err
}

func scanOwner(scan scanner) (o owners.Owner, err error) {
	var state string
	var since, first, last int64
	err = scan(&o.ID, &o.Issuer, &o.Subject, &o.Email, &o.Name, &o.Plan, &state, &since, &first, &last)
	o.State, o.Since, o.First, o.Last = owners.State(state), stamp(since).time(), stamp(first).time(), stamp(last).time()
	return o, err
}

// Owner returns the record of an owner.
func (l *Ledger) Owner(ctx context.Context, id principal.Owner) (owners.Owner, error) {
	o, err := scanOwner(l.read.QueryRowContext(ctx, "SELECT "+ownerColumns+"WHERE owner = ?", id).Scan)
	if noRow(err) {
		return o, owners.NotFound(id)
	}
	return o, failure("read an owner", err)
}

// Owners yields the records in the order of their ids, from the first after an id.
func (l *Ledger) Owners(ctx context.Context, after principal.Owner) iter.Seq2[owners.Owner, error] {
	return rows(ctx, l.read, "read the owners", scanOwner, "SELECT "+ownerColumns+"WHERE owner > ? ORDER BY owner", after)
}

// Standings returns those owners who are not active or not on the default plan.
func (l *Ledger) Standings(ctx context.Context) (map[principal.Owner]owners.Standing, error) {
	all := make(map[principal.Owner]owners.Standing)
	for o, err := range rows(ctx, l.read, "read the standings of owners", scanOwner, "SELECT "+ownerColumns+"WHERE state <> ? OR plan <> '' ORDER BY owner", string(owners.Active)) {
		if err != nil {
			return nil, err
		}
		all[o.ID] = owners.Standing{State: o.State, Plan: o.Plan}
	}
	return all, nil
}

// OwnerOf returns the id of the owner that an identity was linked to, "" if it was to none.
func (l *Ledger) OwnerOf(ctx context.Context, issuer, subject string) (id principal.Owner, err error) {
	err = l.read.QueryRowContext(ctx, "SELECT owner FROM identities WHERE issuer = ? AND subject = ?", issuer, subject).Scan(&id)
	if noRow(err) {
		return "", nil
	}
	return id, failure("read an identity", err)
}

// SetOwnerState suspends or resumes an owner.
func (l *Ledger) SetOwnerState(ctx context.Context, id principal.Owner, state owners.State) (owners.Owner, error) {
	return l.changeOwner(ctx, id, func(t *tx, o *owners.Owner) error {
		kind := ownerSuspended
		if state == owners.Active {
			kind = ownerResumed
		}
		o.State, o.Since = state, micro(l.now())
		return t.noteOwner(ctx, kind, id, owners.Note{})
	})
}

// noteOwner records a change of an owner, and who made it.
func (t *tx) noteOwner(ctx context.Context, kind string, id principal.Owner, note owners.Note) error {
	note.By = owners.Actor(ctx)
	body, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return t.record(principal.Caller{}, "", kind, string(id), body)
}

// SetOwnerPlan sets the plan of an owner.
func (l *Ledger) SetOwnerPlan(ctx context.Context, id principal.Owner, plan string) (owners.Owner, error) {
	return l.changeOwner(ctx, id, func(t *tx, o *owners.Owner) error {
		o.Plan = plan
		return t.noteOwner(ctx, ownerPlanned, id, owners.Note{Plan: &plan})
	})
}

// LinkOwner lets a further identity be an owner.
func (l *Ledger) LinkOwner(ctx context.Context, id principal.Owner, issuer, subject string) (owners.Owner, error) {
	return l.changeOwner(ctx, id, func(t *tx, _ *owners.Owner) error {
		_, err := t.exec("INSERT INTO identities (issuer, subject, owner) VALUES (?,?,?)", issuer, subject, id)
		if isDuplicate(err) {
			return &fault.Error{Kind: fault.Conflict, Code: "identity_linked", Field: "subject", Value: subject, Message: "That identity is linked to an owner already."}
		}
		if err != nil {
			return err
		}
		return t.noteOwner(ctx, ownerLinked, id, owners.Note{})
	})
}

// changeOwner changes the record of an owner that was not erased.
func (l *Ledger) changeOwner(ctx context.Context, id principal.Owner, change func(*tx, *owners.Owner) error) (o owners.Owner, err error) {
	err = l.write(ctx, func(t *tx) (err error) {
		if o, err = t.ownerLeft(id); err != nil {
			return err
		}
		if err := change(t, &o); err != nil {
			return err
		}
		return t.putOwner(o)
	})
	return o, err
}

// EraseOwner removes what the store has of a suspended owner, in one transaction: rows are
// deleted, audit events lose what they said and keep their hashes. The record keeps its id. An
// event says how many there were and which was the last.
func (l *Ledger) EraseOwner(ctx context.Context, id principal.Owner) (proof owners.Erasure, err error) {
	err = l.write(ctx, func(t *tx) error {
		o, err := t.ownerLeft(id)
		switch {
		case err != nil:
			return err
		case o.State != owners.Suspended:
			return owners.StillActive(id)
		}
		proof, err = t.erase(o, owners.Actor(ctx))
		return err
	})
	if err == nil {
		l.emptyLog(ctx)
	}
	return proof, err
}

func (t *tx) erase(o owners.Owner, by string) (owners.Erasure, error) {
	proof := owners.Erasure{Owner: o.ID, At: micro(t.l.now()), Rows: make(map[string]int64), By: by}
	if err := t.putOwner(owners.Owner{ID: o.ID, State: owners.Erased, Since: proof.At, First: o.First, Last: o.Last}); err != nil {
		return proof, err
	}
	for table, statement := range erasures() {
		n, err := t.exec(statement, o.ID)
		if err != nil {
			return proof, err
		}
		if proof.Rows[table] = n; n == 0 {
			delete(proof.Rows, table)
		}
	}
	var hash []byte
	err := t.row("SELECT hash FROM events WHERE owner = ? ORDER BY seq DESC LIMIT 1", []any{o.ID}, &hash)
	if err != nil && !noRow(err) {
		return proof, err
	}
	if err == nil {
		proof.LastHash = hex.EncodeToString(hash)
	}
	proof.Events, err = t.exec("UPDATE events SET subject = '', actor = '', client = '', body = '' WHERE owner = ? AND body <> ''", o.ID)
	if err != nil {
		return proof, err
	}
	body, err := json.Marshal(proof)
	if err != nil {
		return proof, err
	}
	return proof, t.record(principal.Caller{}, "", ownerErased, string(o.ID), body)
}

// erasures returns for each table of owners' rows how they are deleted.
func erasures() map[string]string {
	return map[string]string{
		"alerts":     "DELETE FROM alerts WHERE owner = ?",
		"entries":    "DELETE FROM entries WHERE owner = ?",
		"cursors":    "DELETE FROM cursors WHERE owner = ?",
		"states":     "DELETE FROM states WHERE owner = ?",
		"orders":     "DELETE FROM orders WHERE owner = ?",
		"fills":      "DELETE FROM fills WHERE owner = ?",
		"journals":   "DELETE FROM journals WHERE owner = ?",
		"snapshots":  "DELETE FROM snapshots WHERE owner = ?",
		"identities": "DELETE FROM identities WHERE owner = ?",
	}
}

// ExportOwner yields everything that the store has of an owner, one JSON object for each row,
// with the name of its table. All of it is of one moment.
func (l *Ledger) ExportOwner(ctx context.Context, id principal.Owner) iter.Seq2[owners.ExportedRow, error] {
	return func(yield func(owners.ExportedRow, error) bool) {
		tx, err := snapshot(ctx, l.read)
		if err != nil {
			yield(owners.ExportedRow{}, err)
			return
		}
		defer func() { _ = tx.Rollback() }() // nothing to undo
		for _, e := range exports() {
			scan := func(scan scanner) (owners.ExportedRow, error) {
				row, err := column[[]byte](scan)
				return owners.ExportedRow{Table: e[0], JSON: row}, err
			}
			for row, err := range rows(ctx, tx, "read "+e[0], scan, e[1], id) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// exports returns the tables and how their rows are read, in the order of an export.
func exports() [][2]string {
	return [][2]string{
		{"owners", "SELECT json_object('owner', owner, 'issuer', issuer, 'subject', subject, 'email', email, 'name', name, 'plan', plan, 'state', state, 'since', since, 'first', first, 'last', last) FROM owners WHERE owner = ?"},
		{"identities", "SELECT json_object('issuer', issuer, 'subject', subject) FROM identities WHERE owner = ?"},
		{"alerts", "SELECT json_object('id', id, 'symbol', symbol, 'instrument', instrument, 'interval', interval, 'type', type, 'threshold', threshold, 'indicator', indicator, 'signal', signal, 'created', created, 'expires', expires, 'note', note, 'since', since, 'rule', rule, 'fires', fires, 'fired', fired, 'side', side) FROM alerts WHERE owner = ? ORDER BY created, id"},
		{"notifications", "SELECT json_object('seq', seq, 'symbol', symbol, 'type', kind, 'at', at, 'data', json(data)) FROM entries WHERE owner = ? ORDER BY seq"},
		{"cursors", "SELECT json_object('reader', reader, 'seq', seq) FROM cursors WHERE owner = ? ORDER BY reader"},
		{"states", "SELECT json_object('name', name, 'value', json(value)) FROM states WHERE owner = ? ORDER BY name"},
		{"orders", "SELECT json_object('id', id, 'key', key, 'created', created, 'status', status, 'order', json(body)) FROM orders WHERE owner = ? ORDER BY created, id"},
		{"fills", "SELECT json_object('symbol', symbol, 'trade', trade, 'side', side, 'order_id', order_id, 'fill', json(body)) FROM fills WHERE owner = ? ORDER BY order_id, trade"},
		{"journal", "SELECT json_object('name', name, 'seq', seq, 'entry', json(entry)) FROM journals WHERE owner = ? ORDER BY name, seq"},
		{"audit", "SELECT json_object('seq', seq, 'at', at, 'kind', kind, 'subject', subject, 'actor', actor, 'client', client, 'body', body, 'prev', lower(hex(prev)), 'hash', lower(hex(hash))) FROM events WHERE owner = ? ORDER BY seq"},
	}
}

// Adopt gives what one owner has to another, whose record it makes: the way from one owner to
// many. Audit events keep whom they name.
func (l *Ledger) Adopt(ctx context.Context, from principal.Owner, to owners.Owner) (moved map[string]int64, err error) {
	err = l.write(ctx, func(t *tx) error {
		moved = make(map[string]int64)
		at := micro(l.now())
		to.State, to.Since, to.First, to.Last = owners.Active, at, at, at
		if _, err := t.owner(to.ID); err == nil {
			return &fault.Error{Kind: fault.Conflict, Code: "owner_exists", Field: "owner", Value: string(to.ID), Message: "That owner has a record already: adopt before the first sign-in."}
		} else if !noRow(err) {
			return err
		}
		if err := t.putOwner(to); err != nil {
			return err
		}
		for table, statement := range adoptions() {
			n, err := t.exec(statement, to.ID, from)
			if err != nil {
				return err
			}
			moved[table] = n
		}
		body, err := json.Marshal(map[string]any{"from": from, "rows": moved})
		if err != nil {
			return err
		}
		return t.record(principal.Caller{}, "", "owner_adopted", string(to.ID), body)
	})
	return moved, err
}

// adoptions returns how rows get another owner. Orders and journals stay with the account of the
// installation, whose book is made of its audit events.
func adoptions() map[string]string {
	return map[string]string{
		"alerts":  "UPDATE alerts SET owner = ? WHERE owner = ?",
		"entries": "UPDATE entries SET owner = ? WHERE owner = ?",
		"cursors": "UPDATE cursors SET owner = ? WHERE owner = ?",
		"records": "UPDATE states SET owner = ? WHERE owner = ? AND name >= 'kept ' AND name < 'kept!'",
	}
}
