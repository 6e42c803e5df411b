package control

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"sync"
	"time"

	"candela/internal/access/oauth"
)

// passLife is how long a passphrase that is good once stays good.
const passLife = time.Minute

// Pass hands out a passphrase that is good once, for a minute. Only the control
// socket gives it away, and who may open that is the owner: candela doctor lets
// itself in with it, as a client would be let in, without knowing the owner's own.
// It is safe for concurrent use; the zero value has none.
type Pass struct {
	mu    sync.Mutex
	text  string // "" for none
	until time.Time
}

// issue makes a new one. The one before is no longer good.
func (p *Pass) issue(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.until = oauth.NewPassphrase(), now.Add(passLife)
	return p.text
}

// take reports whether text is the one, and ends it.
func (p *Pass) take(text string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == "" || subtle.ConstantTimeCompare([]byte(text), []byte(p.text)) != 1 {
		return false
	}
	p.text = ""
	return now.Before(p.until)
}

// Take reports whether a passphrase is the one that was given out, and ends it.
func (p *Pass) Take(passphrase string) bool { return p.take(passphrase, time.Now()) }

func (s Server) handlePass(mux *http.ServeMux) {
	mux.HandleFunc("POST /pass", func(w http.ResponseWriter, r *http.Request) {
		s.Log.InfoContext(r.Context(), "a passphrase that is good once was asked for on the control socket")
		fmt.Fprint(w, s.Pass.issue(time.Now()))
	})
}
