package logins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/conn"
)

var _ oauth.SharedGuesses = (*Store)(nil)

// guesses is how many guesses were made: a bucket whose contents are due back at a time.
type guesses struct {
	FullAt time.Time `json:"full"` // when none of them counts any more
}

// take takes one guess, or returns how long until there is one. left is how many remain.
func (g *guesses) take(r oauth.Rate, now time.Time) (left int, wait time.Duration) {
	due := max(0, g.FullAt.Sub(now))
	if most := time.Duration(r.Burst-1) * r.Every; due > most {
		return 0, due - most
	}
	g.FullAt = now.Add(due + r.Every)
	return r.Burst - 1 - int((due+r.Every-1)/r.Every), 0
}

// guessSubject is among those of the login generation, which nobody follows but the generation itself.
func (t *Store) guessSubject(from string) string {
	if from == "" {
		return t.table.Subject(sealKind, "guesses")
	}
	sum := sha256.Sum256([]byte(from))
	return t.table.Subject(sealKind, "guesses-"+hex.EncodeToString(sum[:16]))
}

// TakeGuess implements oauth.SharedGuesses: guesses at all replicas count together. The records expire,
// and there are no more of them than guesses in total, which are limited.
func (t *Store) TakeGuess(ctx context.Context, from string, one, all oauth.Rate) (left int, wait time.Duration, err error) {
	err = t.table.RetryWrite(ctx, "count a guess", func(ctx context.Context) error {
		now := time.Now()
		var changes []conn.Change
		left, wait = one.Burst, 0
		for _, b := range []struct {
			from string
			rate oauth.Rate
		}{{from, one}, {"", all}} {
			var g guesses
			ch := conn.Change{Subject: t.guessSubject(b.from), CompareAndSet: true}
			m, _, err := t.table.Latest(ctx, ch.Subject)
			if err != nil {
				return err
			}
			if len(m.Data) > 0 {
				if err := json.Unmarshal(m.Data, &g); err != nil {
					return conn.Corrupted("count a guess", err)
				}
			}
			remain, until := g.take(b.rate, now)
			left, wait = min(left, remain), max(wait, until)
			if ch.Data, err = json.Marshal(g); err != nil {
				return conn.Final(err)
			}
			ch.Revision, ch.TTL = m.Seq, max(time.Second, g.FullAt.Sub(now).Round(time.Second))
			changes = append(changes, ch)
		}
		if wait > 0 {
			return nil
		}
		_, err := t.table.Write(ctx, changes...)
		return err
	})
	return left, wait, err
}

// ForgetGuesses implements oauth.SharedGuesses.
func (t *Store) ForgetGuesses(ctx context.Context, from string) error {
	return t.table.RetryWrite(ctx, "forget guesses", func(ctx context.Context) error {
		_, err := t.table.Write(ctx, conn.Change{Subject: t.guessSubject(from), TTL: time.Second})
		return err
	})
}
