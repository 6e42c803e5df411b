package alerts

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"candela/internal/alerting/engine"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
)

// unread is the part of the stream that a feed has not read when it opened. The feed follows what
// came later.
type unread struct {
	after, through uint64 // sequence numbers
	recent         recentAlerts
}

// takeUnread returns what is left to read, nil if nothing is or the servers have lost it.
func (t *ChangeFeed) takeUnread() *unread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unread
}

// finishUnread records that everything was read. Alerts that were read are older than those that
// were followed meanwhile.
func (t *ChangeFeed) finishUnread(u *unread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unread != u {
		return // the stream was lost since
	}
	if t.unread = nil; t.recent.floor == 0 {
		t.recent = recentAlerts{sets: slices.Concat(u.recent.sets, t.recent.sets), floor: u.recent.floor}
	}
}

// read yields the unread changes in order, and remembers how far it came. A server that lags
// behind sends alerts that have ended since; their ends follow.
func (t *ChangeFeed) read(ctx context.Context, u *unread) iter.Seq2[alertChange, error] {
	return func(yield func(alertChange, error) bool) {
		brief := newBriefReader()
		for m, err := range t.store.alerts.ReadThrough(ctx, u.after, u.through, t.filter()) {
			if err != nil {
				yield(alertChange{}, conn.Unavailable("read alerts", err))
				return
			}
			if c, ok := t.readChange(ctx, brief, m); ok {
				if !c.ended && c.alert.State.Fires == 0 {
					u.recent.add(m.Seq, c.name.ID)
				}
				if !yield(c, nil) {
					return
				}
			}
			u.after = m.Seq
		}
	}
}

// readChange returns the change in a message. Of an alert that has ended it reads no more than its
// name: half of what a replica reads are notifications.
func (t *ChangeFeed) readChange(ctx context.Context, brief *briefReader, m conn.Message) (alertChange, bool) {
	if t.store.alerts.IsBarrier(m) || t.store.isNotes(m) {
		return alertChange{}, false
	}
	if len(m.Data) == 0 { // an alert of a saved list may have ended, and its notification pruned
		name, ok := t.ended(m)
		return alertChange{name: name, ended: true}, ok
	}
	if bytes.HasPrefix(m.Data, []byte(firedPrefix)) {
		if name, ok := nameOf(m.Subject); ok {
			return alertChange{name: name, ended: true}, true
		}
	}
	r, err := brief.decode(m.Data)
	if err != nil {
		t.skip(ctx, m.Subject, m.Seq, err)
		return alertChange{}, false
	}
	return r.change(), true
}

// firedPrefix begins the record of an alert that fired.
const firedPrefix = `{"state":"` + fired + `",`

// nameOf returns the name in the subject of an alert of one of many owners:
// alert.<part>.<owner>.<instrument>.<id> after the prefix.
func nameOf(subject string) (n engine.Name, ok bool) {
	rest, id, ok := cutLast(subject)
	rest, _, there := cutLast(rest)
	_, owner, named := cutLast(rest)
	if !ok || !there || !named {
		return n, false
	}
	name, err := conn.DecodeToken(owner)
	return engine.Name{Owner: principal.Owner(name), ID: id}, err == nil
}

func cutLast(subject string) (before, last string, ok bool) {
	i := strings.LastIndexByte(subject, '.')
	if i < 0 {
		return "", subject, false
	}
	return subject[:i], subject[i+1:], true
}
