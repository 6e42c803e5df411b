package conn

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"candela/internal/kit/lograte"
	"candela/internal/kit/meter"
	"candela/internal/kit/seal"
)

// The servers are not trusted. Every message is sealed for its subject, and in the order stream
// also for its sequence number, with a secret that the servers do not know. Messages that do
// not open are ignored, counted and logged.
//
// Servers can still remove messages, which ends logins and loses alerts, or replay old ones.
// Sequence numbers (orders, login generations), remembered ends (tokens, codes) and MaxDelay
// protect against replays.

// MaxDelay limits the time between sealing and storing a message about tokens or replicas, in
// either direction. It covers AttemptTimeout and differing clocks. Messages without a body are
// exempt: they only end something, which a wrong clock must not prevent.
const MaxDelay = time.Minute

// Reasons for ignoring a message, as the counter labels them.
const (
	ForgedRow    = "row"    // a message of a stream
	ReplayedRow  = "replay" // a message of a replica that was stored again, or an older state
	ForgedCall   = "call"   // a call of another replica, forged or replayed
	ForgedAnswer = "answer" // an answer to one
)

// Seals seals and opens the messages of a connection. It is safe for concurrent use.
type Seals struct {
	rows, Calls, Answers *seal.Box
	Files                *seal.Box        // what a replica keeps on its own disk
	ReceiptSeed          [32]byte         // of the key of receipts
	fingerprint          string           // of the secret
	Now                  func() time.Time // the clock for sealing messages
	log                  *slog.Logger     // rate-limited: strangers can cause entries
	refusals             meter.Counters
}

func newSeals(cfg Config, log *slog.Logger) (*Seals, error) {
	t := &Seals{log: lograte.New(log), refusals: meter.NewCounters(ForgedRow, ReplayedRow, ForgedCall, ForgedAnswer), Now: cfg.Now}
	if t.Now == nil {
		t.Now = time.Now
	}
	secret := cfg.Secret
	var err [6]error
	t.rows, err[0] = seal.NewBox(secret, "rows")
	t.Calls, err[1] = seal.NewBox(secret, "calls")
	t.Answers, err[2] = seal.NewBox(secret, "answers")
	t.fingerprint, err[3] = seal.Fingerprint(secret)
	t.Files, err[4] = seal.NewBox(secret, "files")
	t.ReceiptSeed, err[5] = seal.Seed(secret, "receipts")
	return t, errors.Join(err[:]...)
}

// Refuse counts and logs an ignored message.
func (t *Seals) Refuse(ctx context.Context, kind, subject string, err error) {
	t.refusals.Add(kind)
	t.log.WarnContext(ctx, "message ignored: not from a replica, or too old", "kind", kind, "subject", subject, "error", err)
}

var errDelayed = errors.New("stored long before or after it was sealed: replayed, or the clocks of servers and replicas differ by more than a minute")

// Unseal opens a stored message and sets Forged if no replica sealed it. maxDelay limits the time
// between sealing and storing, 0 for no limit.
func (t *Seals) Unseal(ctx context.Context, m Message, maxDelay time.Duration) Message {
	body, sealed, err := t.rows.Open(seal.Place{Name: m.Subject, Number: m.Seq}, m.Data)
	kind := ForgedRow
	if err == nil && maxDelay > 0 && len(body) > 0 && m.At.Sub(sealed).Abs() > maxDelay {
		kind, err, m.Late = ReplayedRow, errDelayed, body
	}
	if m.Data = body; err != nil {
		t.Refuse(ctx, kind, m.Subject, err)
		m.Data, m.Forged = nil, m.Subject
	}
	return m
}
