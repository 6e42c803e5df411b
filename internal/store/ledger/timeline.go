package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/id"
	"candela/internal/store/chain"
)

const (
	maxPage  = 500     // events of a page
	maxRead  = 50_000  // events read for a page
	maxTrail = 200_000 // events read for a trail

	// followWithin is how long after a firing an order counts as the client's answer to it.
	followWithin = 15 * time.Minute
)

// Audit returns a reader of the audit log of an open store. It must not be closed.
func (l *Ledger) Audit() *Audit { return &Audit{l.read} }

// Opened returns the audit log that open returns, which is nil before the store opens and after it closes.
func Opened(open func() *Audit) (*Audit, error) {
	if log := open(); log != nil {
		return log, nil
	}
	return nil, owners.ErrNotOpen
}

// Filter selects events of the audit log. Zero fields select all.
type Filter struct {
	Before string    // where an earlier page ended, its Next; "" for the newest
	Since  time.Time // events written then or later
	Kinds  []string  // prefixes of the kinds
	Skip   []string  // kinds that are left out
	Apart  []string  // subjects that are left out
	Actor  string    // the token, or how its name begins
	Text   string    // in the kind, subject, client or body, in any case; or the number of an event
	Limit  int       // 1 to 500
}

// Page is a part of the audit log.
type Page struct {
	Events []Event // newest first
	Next   string  // Before of the next page, "" after the last
}

// Page returns the newest events that match. It reads a bounded part of the log, so a page
// may have fewer events than the limit although there are more.
func (a *Audit) Page(ctx context.Context, f Filter) (Page, error) {
	h, err := readHead(ctx, a.db)
	if err != nil && !noRow(err) {
		return Page{}, failure("read the head", err)
	}
	before := h.event + 1
	if asked, err := strconv.ParseUint(f.Before, 10, 62); err == nil && asked > 0 && asked < before {
		before = asked
	}
	limit := min(max(f.Limit, 1), maxPage)
	floor := before - min(before, maxRead)
	where, args := f.where()
	args = append([]any{before, floor}, append(args, limit)...)
	p := Page{}
	p.Events, err = collect(rows(ctx, a.db, "read the events", scanEvent, selectEvents+"WHERE seq < ? AND seq >= ?"+where+" ORDER BY seq DESC LIMIT ?", args...))
	switch {
	case err != nil:
		return Page{}, err
	case len(p.Events) == limit && p.Events[limit-1].Seq > 1:
		p.Next = strconv.FormatUint(p.Events[limit-1].Seq, 10)
	case len(p.Events) < limit && floor > 1 && !a.older(ctx, floor, f.Since):
		p.Next = strconv.FormatUint(floor, 10)
	}
	return p, nil
}

// older reports whether an event was written before a time.
func (a *Audit) older(ctx context.Context, seq uint64, since time.Time) bool {
	at, err := a.at(ctx, seq)
	return err == nil && at.Before(since)
}

// Matches reports whether an event, whatever its number, is one of those that the filter selects.
func (f Filter) Matches(e *Event) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(e.Kind, prefix) }
	switch {
	case e.At.Before(f.Since), !strings.HasPrefix(e.Actor, f.Actor), slices.Contains(f.Skip, e.Kind), slices.Contains(f.Apart, e.Subject):
		return false
	case len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds, begins):
		return false
	case f.Text == "":
		return true
	}
	number, err := strconv.ParseUint(strings.ReplaceAll(f.Text, ",", ""), 10, 62)
	text := strings.ToLower(e.Kind + " " + e.Subject + " " + e.Client + " " + string(e.Body))
	return err == nil && number == e.Seq || strings.Contains(text, strings.ToLower(f.Text))
}

// where returns the conditions of the filter.
func (f Filter) where() (text string, args []any) {
	var b strings.Builder
	add := func(condition string, values ...any) {
		b.WriteString(" AND " + condition)
		args = append(args, values...)
	}
	if !f.Since.IsZero() {
		add("at >= ?", f.Since.UnixMicro())
	}
	if f.Actor != "" {
		add("substr(actor, 1, ?) = ?", len(f.Actor), f.Actor)
	}
	if len(f.Kinds) > 0 {
		each := make([]string, 0, len(f.Kinds))
		for _, kind := range f.Kinds {
			each = append(each, "substr(kind, 1, ?) = ?")
			args = append(args, len(kind), kind)
		}
		b.WriteString(" AND (" + strings.Join(each, " OR ") + ")")
	}
	for _, kind := range f.Skip {
		add("kind <> ?", kind)
	}
	for _, subject := range f.Apart {
		add("subject <> ?", subject)
	}
	if f.Text != "" {
		number, err := strconv.ParseUint(strings.ReplaceAll(f.Text, ",", ""), 10, 62)
		if err != nil {
			number = 0
		}
		add("(seq = ? OR instr(lower(kind || ' ' || subject || ' ' || client || ' ' || body), lower(?)) > 0)", number, f.Text)
	}
	return b.String(), args
}

// at returns when an event was written.
func (a *Audit) at(ctx context.Context, seq uint64) (time.Time, error) {
	var micros int64
	err := a.db.QueryRowContext(ctx, "SELECT at FROM events WHERE seq = ?", seq).Scan(&micros)
	return time.UnixMicro(micros).UTC(), failure("read the events", err)
}

// seqAt returns the number of the first event that was written at a time or later. The
// times ascend with the numbers but for a clock that was set back.
func (a *Audit) seqAt(ctx context.Context, at time.Time) (uint64, error) {
	h, err := readHead(ctx, a.db)
	if err != nil {
		return 0, failure("read the head", err)
	}
	low, high := uint64(1), h.event+1
	for low < high {
		middle := (low + high) / 2
		written, err := a.at(ctx, middle)
		if err != nil {
			return 0, err
		}
		if written.Before(at) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// Trail returns the events about an order or alert, oldest first. It finds them by the time
// in the id, or by that of the order.
func (a *Audit) Trail(ctx context.Context, subject string) ([]Event, error) {
	from, err := a.made(ctx, subject)
	if err != nil || from == 0 {
		return nil, err
	}
	return collect(rows(ctx, a.db, "read the events", scanEvent, selectEvents+"WHERE seq >= ? AND seq < ? AND subject = ? ORDER BY seq LIMIT ?", from, from+maxTrail, subject, maxPage))
}

// made returns the number of an event shortly before an id was made, 0 for a text that is
// no id.
func (a *Audit) made(ctx context.Context, subject string) (uint64, error) {
	at, ok := id.Time(subject)
	if !ok {
		var micros int64
		err := a.db.QueryRowContext(ctx, "SELECT created FROM orders WHERE id = ?", subject).Scan(&micros)
		if noRow(err) {
			return 0, nil
		}
		if err != nil {
			return 0, failure("read an order", err)
		}
		at = stamp(micros).time()
	}
	return a.seqAt(ctx, at.Add(-time.Second))
}

// Cause returns the firing of an alert that an order answered, and false if there is none:
// the last one in the same symbol within 15 minutes before the order, of an alert that the
// same client had set.
func (a *Audit) Cause(ctx context.Context, orderID string) (Event, bool, error) {
	created, ok, err := a.first(ctx, orderID, chain.OrderKind+"created")
	if err != nil || !ok || created.Actor == "" {
		return Event{}, false, err
	}
	from, err := a.seqAt(ctx, created.At.Add(-followWithin))
	if err != nil {
		return Event{}, false, err
	}
	fired, err := collect(rows(ctx, a.db, "read the events", scanEvent, selectEvents+"WHERE seq >= ? AND seq < ? AND kind = ? ORDER BY seq DESC LIMIT ?", max(from, created.Seq-min(created.Seq, maxRead)), created.Seq, alertFired, maxPage))
	if err != nil {
		return Event{}, false, err
	}
	for _, e := range fired {
		if answers, err := a.answers(ctx, created, e); err != nil || answers {
			return e, answers, err
		}
	}
	return Event{}, false, nil
}

// Answers returns the orders that a client created after an alert of its own had fired, in
// the same symbol and within 15 minutes, oldest first, as their first events.
func (a *Audit) Answers(ctx context.Context, alertID string) ([]Event, error) {
	trail, err := a.Trail(ctx, alertID)
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, fired := range trail {
		if fired.Kind != alertFired {
			continue
		}
		until, err := a.seqAt(ctx, fired.At.Add(followWithin))
		if err != nil {
			return nil, err
		}
		created, err := collect(rows(ctx, a.db, "read the events", scanEvent, selectEvents+"WHERE seq > ? AND seq < ? AND kind = ? ORDER BY seq LIMIT ?", fired.Seq, min(until, fired.Seq+maxRead), chain.OrderKind+"created", maxPage))
		if err != nil {
			return nil, err
		}
		for _, e := range created {
			answers, err := a.answers(ctx, e, fired)
			if err != nil {
				return nil, err
			}
			if answers {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// maxLoginChanges bounds what LoginChanges returns.
const maxLoginChanges = 10_000

// LoginChanges returns the newest events since a time that end logins or change what they may do,
// newest first.
func (a *Audit) LoginChanges(ctx context.Context, since time.Time) ([]Event, error) {
	if _, err := readHead(ctx, a.db); noRow(err) {
		return nil, nil // nothing was written yet
	}
	from, err := a.seqAt(ctx, since)
	if err != nil {
		return nil, err
	}
	return collect(rows(ctx, a.db, "read the events", scanEvent,
		selectEvents+"WHERE seq >= ? AND kind IN ('token_revoked', 'logins_ended', 'scope_changed') ORDER BY seq DESC LIMIT ?", from, maxLoginChanges))
}

// Setter returns the event with which an alert was set, and false if it is not in the log.
func (a *Audit) Setter(ctx context.Context, alertID string) (Event, bool, error) {
	return a.first(ctx, alertID, alertSet)
}

// first returns the first event of a kind about an id.
func (a *Audit) first(ctx context.Context, subject, kind string) (Event, bool, error) {
	from, err := a.made(ctx, subject)
	if err != nil || from == 0 {
		return Event{}, false, err
	}
	found, err := collect(rows(ctx, a.db, "read the events", scanEvent, selectEvents+"WHERE seq >= ? AND seq < ? AND subject = ? AND kind = ? ORDER BY seq LIMIT 1", from, from+maxRead, subject, kind))
	if err != nil || len(found) == 0 {
		return Event{}, false, err
	}
	return found[0], true, nil
}

// answers reports whether the creation of an order follows from a firing: the symbol is the
// same, and the client is the one that set the alert, if that is known.
func (a *Audit) answers(ctx context.Context, created, fired Event) (bool, error) {
	if created.Actor == "" || !sameSymbol(created.Body, fired.Body) {
		return false, nil
	}
	set, ok, err := a.first(ctx, fired.Subject, alertSet)
	return err == nil && (!ok || set.Actor == created.Actor), err
}

// sameSymbol compares the symbol of an order with that of a firing, which may have no venue.
func sameSymbol(created, fired []byte) bool {
	var o struct {
		Origin struct {
			Symbol string `json:"symbol"`
		} `json:"origin"`
	}
	var f struct {
		Record struct {
			Symbol string `json:"symbol"`
		} `json:"record"`
	}
	if json.Unmarshal(created, &o) != nil || json.Unmarshal(fired, &f) != nil || o.Origin.Symbol == "" {
		return false
	}
	ordered, alerted := o.Origin.Symbol, f.Record.Symbol
	if !strings.Contains(alerted, ":") {
		_, name, ok := strings.Cut(ordered, ":")
		return ok && name == alerted || ordered == alerted
	}
	return ordered == alerted
}
