package app

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"sync"
	"time"

	"candela/internal/oauth"
)

// passLife is how long a passphrase that is good once stays good.
const passLife = time.Minute

// oneTime hands out a passphrase that is good once, for a minute. Only the control
// socket gives it away, and who may open that is the owner: candela doctor lets
// itself in with it, as a client would be let in, without knowing the owner's own.
// It is safe for concurrent use; the zero value has none.
type oneTime struct {
	mu    sync.Mutex
	text  string // "" for none
	until time.Time
}

// issue makes a new one. The one before is no longer good.
func (o *oneTime) issue(now time.Time) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.until = oauth.NewPassphrase(), now.Add(passLife)
	return o.text
}

// take reports whether text is the one, and ends it.
func (o *oneTime) take(text string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text == "" || subtle.ConstantTimeCompare([]byte(text), []byte(o.text)) != 1 {
		return false
	}
	o.text = ""
	return now.Before(o.until)
}

// ownerOrPass is the owner, or whoever the owner's socket gave a passphrase to.
type ownerOrPass struct {
	owner oauth.OwnerAuth
	pass  *oneTime
}

// Authenticate returns the owner for either passphrase.
func (o ownerOrPass) Authenticate(ctx context.Context, passphrase string) (string, error) {
	if o.pass.take(passphrase, time.Now()) {
		return oauth.SoleOwner, nil
	}
	return o.owner.Authenticate(ctx, passphrase)
}

func (c control) handlePass(mux *http.ServeMux) {
	mux.HandleFunc("POST /pass", func(w http.ResponseWriter, r *http.Request) {
		c.log.InfoContext(r.Context(), "a passphrase that is good once was asked for on the control socket")
		fmt.Fprint(w, c.pass.issue(time.Now()))
	})
}
