package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"candela/internal/kit/lograte"
	"candela/internal/kit/seal"
)

// The servers are not trusted. Everything that is handed to them is sealed with keys
// of a secret that they never see, for the subject that it is written to; in the
// stream of orders also for its number. What does not open is passed over as if it was
// not there, counted and told to the log.
//
// Rows can still be taken away, which ends logins and loses alerts, and rows that were
// ours can be shown again. Against the second there are numbers (orders, eras), the
// memory of what has ended (tokens, codes), and maxDelay.

// maxDelay is how long after it was sealed a row of tokens or members may be stored, and
// how long before it by a clock that is ahead. It does not count for rows without a body:
// they can only end something, which a wrong clock must not hinder.
// An attempt to write lasts attemptTime and each is sealed anew. The rest is for
// clocks that differ, which are to agree to a second.
const maxDelay = time.Minute

// Why something of others is passed over, as the counter calls it.
const (
	forgedRow    = "row"    // a message of a stream
	replayedRow  = "replay" // one of ours that was written again, or an older state
	forgedCall   = "call"   // a call of another replica, forged or replayed
	forgedAnswer = "answer" // an answer to one
)

// trust is what a connection knows of its own messages. It is safe for concurrent use.
type trust struct {
	rows, calls, answers *seal.Box
	mark                 string       // the fingerprint of the secret
	shift                atomic.Int64 // nanoseconds by which the clock is wrong; only tests set it
	log                  *slog.Logger // for what strangers cause
	refusals             map[string]*atomic.Uint64
}

func newTrust(secret []byte, log *slog.Logger) (*trust, error) {
	t := &trust{log: lograte.New(log), refusals: make(map[string]*atomic.Uint64)}
	var err [4]error
	t.rows, err[0] = seal.NewBox(secret, "rows")
	t.calls, err[1] = seal.NewBox(secret, "calls")
	t.answers, err[2] = seal.NewBox(secret, "answers")
	t.mark, err[3] = seal.Fingerprint(secret)
	for _, kind := range []string{forgedRow, replayedRow, forgedCall, forgedAnswer} {
		t.refusals[kind] = new(atomic.Uint64)
	}
	return t, errors.Join(err[:]...)
}

// now returns the time that messages are sealed with.
func (t *trust) now() time.Time { return time.Now().Add(time.Duration(t.shift.Load())) }

// refuse counts something that is not ours and tells the log.
func (t *trust) refuse(ctx context.Context, kind, subject string, err error) {
	t.refusals[kind].Add(1)
	t.log.WarnContext(ctx, "ignored a message that no replica sent, or that is too old", "kind", kind, "subject", subject, "error", err)
}

// counts returns how much was refused, by kind.
func (t *trust) counts() map[string]uint64 {
	all := make(map[string]uint64, len(t.refusals))
	for kind, n := range t.refusals {
		all[kind] = n.Load()
	}
	return all
}

var errLate = errors.New("it was stored long after or before it was sealed: it was written again by somebody else, or the clocks of servers and replicas differ by more than a minute")

// opened returns the message that a server has stored, with forged set to its subject
// when it is not ours. delay is how far from the time at which it was sealed it may have
// been stored, 0 for any time.
func (t *trust) opened(ctx context.Context, m message, delay time.Duration) message {
	body, sealed, err := t.rows.Open(seal.Place{Name: m.subject, Number: m.seq}, m.data)
	kind := forgedRow
	if err == nil && delay > 0 && len(body) > 0 && m.at.Sub(sealed).Abs() > delay {
		kind, err, m.late = replayedRow, errLate, body
	}
	if m.data = body; err != nil {
		t.refuse(ctx, kind, m.subject, err)
		m.data, m.forged = nil, m.subject
	}
	return m
}
