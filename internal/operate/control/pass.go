package control

import (
	"crypto/subtle"
	"sync"
	"time"

	"candela/internal/access/oauth"
)

// passLife is the lifetime of a one-time passphrase.
const passLife = time.Minute

// Pass issues a passphrase that is valid once, for a minute. Only the control socket issues
// one, so only the owner gets it; candela doctor signs in with it as a client would. It is
// safe for concurrent use; the zero value has none.
type Pass struct {
	mu    sync.Mutex
	text  string // "" for none
	until time.Time
}

// issue creates a new one and invalidates the previous one.
func (p *Pass) issue(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.until = oauth.NewPassphrase(), now.Add(passLife)
	return p.text
}

// take reports whether text is the current one, and invalidates it.
func (p *Pass) take(text string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == "" || subtle.ConstantTimeCompare([]byte(text), []byte(p.text)) != 1 {
		return false
	}
	p.text = ""
	return now.Before(p.until)
}

// Take reports whether a passphrase is the current one, and invalidates it.
func (p *Pass) Take(passphrase string) bool { return p.take(passphrase, time.Now()) }
