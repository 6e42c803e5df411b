package conn

import (
	"context"
	"errors"
	"log/slog"
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

// MaxDelay is how long after it was sealed a row of tokens or members may be stored, and
// how long before it by a clock that is ahead. It does not count for rows without a body:
// they can only end something, which a wrong clock must not hinder.
// An attempt to write lasts attemptTime and each is sealed anew. The rest is for
// clocks that differ, which are to agree to a second.
const MaxDelay = time.Minute

// Why something of others is passed over, as the counter calls it.
const (
	ForgedRow    = "row"    // a message of a stream
	ReplayedRow  = "replay" // one of ours that was written again, or an older state
	ForgedCall   = "call"   // a call of another replica, forged or replayed
	ForgedAnswer = "answer" // an answer to one
)

// Seals is what a connection knows of its own messages. It is safe for concurrent use.
type Seals struct {
	rows, Calls, Answers *seal.Box
	fingerprint          string           // the fingerprint of the secret
	Now                  func() time.Time // the clock that messages are sealed by
	log                  *slog.Logger     // for what strangers cause
	refusals             counters
}

func newSeals(cfg Config, log *slog.Logger) (*Seals, error) {
	t := &Seals{log: lograte.New(log), refusals: newCounters(ForgedRow, ReplayedRow, ForgedCall, ForgedAnswer), Now: cfg.Now}
	if t.Now == nil {
		t.Now = time.Now
	}
	secret := cfg.Secret
	var err [4]error
	t.rows, err[0] = seal.NewBox(secret, "rows")
	t.Calls, err[1] = seal.NewBox(secret, "calls")
	t.Answers, err[2] = seal.NewBox(secret, "answers")
	t.fingerprint, err[3] = seal.Fingerprint(secret)
	return t, errors.Join(err[:]...)
}

// Refuse counts something that is not ours and tells the log.
func (t *Seals) Refuse(ctx context.Context, kind, subject string, err error) {
	t.refusals[kind].Add(1)
	t.log.WarnContext(ctx, "ignored a message that no replica sent, or that is too old", "kind", kind, "subject", subject, "error", err)
}

var errDelayed = errors.New("it was stored long after or before it was sealed: it was written again by somebody else, or the clocks of servers and replicas differ by more than a minute")

// Unseal returns the message that a server has stored, with forged set to its subject
// when it is not ours. delay is how far from the time at which it was sealed it may have
// been stored, 0 for any time.
func (t *Seals) Unseal(ctx context.Context, m Message, delay time.Duration) Message {
	body, sealed, err := t.rows.Open(seal.Place{Name: m.Subject, Number: m.Seq}, m.Data)
	kind := ForgedRow
	if err == nil && delay > 0 && len(body) > 0 && m.At.Sub(sealed).Abs() > delay {
		kind, err, m.Late = ReplayedRow, errDelayed, body
	}
	if m.Data = body; err != nil {
		t.Refuse(ctx, kind, m.Subject, err)
		m.Data, m.Forged = nil, m.Subject
	}
	return m
}
