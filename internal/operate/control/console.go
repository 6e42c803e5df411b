package control

import (
	"context"
	"errors"
	"net/http"
	"time"

	"candela/lib/fault"
)

// Console is where the owner's console is, with a passphrase that is good once.
type Console struct {
	URL        string `json:"url"`
	Passphrase string `json:"passphrase"`
}

// handleConsole serves the command that opens the console.
func (s Server) handleConsole(mux *http.ServeMux) {
	mux.HandleFunc("POST /console", func(w http.ResponseWriter, r *http.Request) {
		url, err := s.Console(r.Context())
		if err != nil {
			s.answerTrading(w, r, nil, err)
			return
		}
		s.Log.InfoContext(r.Context(), "console opened from the control socket", "url", url)
		s.answer(w, r, Console{URL: url, Passphrase: s.Pass.issue(time.Now())}, nil)
	})
}

// OpenConsole asks the program that runs in a state directory for its console.
func OpenConsole(ctx context.Context, home string) (Console, error) {
	c, err := call[Console](ctx, home, http.MethodPost, "/console")
	if errors.Is(err, errNotFound) {
		err = fault.New(fault.Unsupported, "no_console", "the program that runs in state directory %s has no console: it was started with --console=false, or without --trade on stdio", home).About("home", home, "")
	}
	return c, err
}
