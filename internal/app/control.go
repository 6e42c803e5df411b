package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"candela/internal/fault"
	"candela/internal/oauth"
	"candela/internal/statedir"
)

const (
	controlName = "control.sock"

	// commandTime is how long a command waits for its answer. Among replicas the owner's
	// word is said again for ten seconds while nobody trades.
	commandTime = 15 * time.Second
)

// control answers the owner's commands on a socket in the state directory. Who
// may open it is a matter of the file system: the directory is 0700 and the
// socket 0600. On Windows the access list of the directory keeps others out.
type control struct {
	home string
	door *oauth.Server // nil where nobody is let in
	desk account       // nil without --trade
	log  *slog.Logger
	pass *oneTime // nil where nobody is let in

	status func(context.Context) (Status, error) // nil without --trade
}

// Client is a token as the owner sees it.
type Client struct {
	ID       string    `json:"id"`
	Token    string    `json:"token"` // what stands for it in the audit log
	Name     string    `json:"name"`  // as the client calls itself
	Approved time.Time `json:"approved"`
	Expires  time.Time `json:"expires"`
}

func (c control) run(ctx, hard context.Context, ready func()) error {
	lock, err := statedir.LockServer(c.home)
	if err != nil {
		return err
	}
	defer lock.Release()
	ln, err := c.listen(ctx)
	if errors.Is(err, errNoFamily) {
		return c.without(ctx, ready, err)
	}
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: c.handler(), ReadTimeout: 5 * time.Second, WriteTimeout: commandTime + 5*time.Second,
		BaseContext: func(net.Listener) context.Context { return hard },
		ErrorLog:    slog.NewLogLogger(c.log.Handler(), slog.LevelWarn),
	}
	return serveUntil(ctx, hard, server, ln, ready)
}

// listen opens the socket. One that a killed server left behind is in the way and
// belongs to nobody, because this process holds the lock.
func (c control) listen(ctx context.Context) (net.Listener, error) {
	path := filepath.Join(c.home, controlName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "unix", path)
	if err != nil {
		// Most systems allow about a hundred bytes for a socket's path.
		return nil, fmt.Errorf("control socket (%d bytes of path; choose a shorter --home if that is why): %w", len(path), err)
	}
	if err := os.Chmod(path, 0o600); err != nil && runtime.GOOS != "windows" { // which has no such bits
		_ = ln.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return ln, nil
}

// attempt is run for a program that can do without it: where another one answers in
// the state directory already.
func (c control) attempt(ctx, hard context.Context, ready func()) error {
	err := c.run(ctx, hard, ready)
	if ctx.Err() != nil {
		return err
	}
	return c.without(ctx, ready, err)
}

// without waits for the end where there is no socket: candela auth does not work, and
// a restart is what throws a client out.
func (c control) without(ctx context.Context, ready func(), reason error) error {
	c.log.WarnContext(ctx, "no control socket: candela halt goes by the halt file", "error", reason)
	ready()
	<-ctx.Done()
	return nil
}

func (c control) handler() http.Handler {
	mux := http.NewServeMux()
	if c.door != nil {
		c.handleTokens(mux)
	}
	if c.desk != nil {
		c.handleTrading(mux)
	}
	if c.pass != nil {
		c.handlePass(mux)
	}
	if c.status != nil {
		c.handleStatus(mux)
	}
	return mux
}

func (c control) handleTokens(mux *http.ServeMux) {
	mux.HandleFunc("GET /tokens", func(w http.ResponseWriter, r *http.Request) {
		tokens, err := c.door.Tokens(r.Context(), oauth.SoleOwner)
		if err != nil {
			c.fail(w, r, err)
			return
		}
		clients := make([]Client, 0, len(tokens))
		for _, t := range tokens {
			clients = append(clients, Client{t.ID, t.Key, t.Grant.ClientName, t.Issued, t.Expires})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(clients) // the owner's terminal went away
	})
	mux.HandleFunc("DELETE /tokens", func(w http.ResponseWriter, r *http.Request) {
		ended, err := c.door.EndAll(r.Context())
		if err != nil {
			c.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(Ended{Clients: ended}) // the owner's terminal went away
	})
	mux.HandleFunc("DELETE /tokens/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := c.door.Revoke(r.Context(), oauth.SoleOwner, r.PathValue("id")); err != nil {
			c.fail(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func (c control) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, oauth.ErrNotFound) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	c.log.ErrorContext(r.Context(), "control socket", "error", err)
	w.WriteHeader(http.StatusInternalServerError)
}

// Clients lists what the server of a state directory has let in, newest first.
func Clients(ctx context.Context, home string) ([]Client, error) {
	answer, err := command(ctx, home, http.MethodGet, "/tokens")
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	var clients []Client
	if err := json.NewDecoder(answer.Body).Decode(&clients); err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return clients, nil
}

// Revoke throws a client out.
func Revoke(ctx context.Context, home, id string) error {
	answer, err := command(ctx, home, http.MethodDelete, "/tokens/"+id)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// command asks the server of a state directory.
func command(ctx context.Context, home, method, path string) (*http.Response, error) {
	answer, err := knock(ctx, home, method, path)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, &fault.Error{Kind: fault.NotFound, Code: "no_such_client", Message: "no client is let in under that ID; candela auth list shows those that are"}
	}
	return nil, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
}

// knock sends a request to the server of a state directory, whatever it answers.
func knock(ctx context.Context, home, method, path string) (*http.Response, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(home, controlName))
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://control"+path, nil)
	if err != nil {
		return nil, fault.Field("id", path, "an ID that candela auth list shows")
	}
	client := &http.Client{Timeout: commandTime, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok && !asked.Timeout() {
			err = asked.Err // what was asked for means nothing to whoever typed a command
		}
		return nil, &fault.Error{
			Kind: fault.Unavailable, Code: "no_server", Field: "home", Value: home, Cause: err,
			Message: fmt.Sprintf("no server answers in state directory %s: is candela --serve running, with this --home?", home),
		}
	}
	return answer, nil
}
