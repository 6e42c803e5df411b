// Package control is the Unix socket through which the owner's commands reach a running
// candela. It holds the server and one client function per command.
//
// File permissions decide who may connect: the directory is 0700 and the socket 0600. On
// Windows the access list of the directory keeps others out.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
	"candela/internal/store/statedir"
	"candela/internal/trading/guard"
	"candela/internal/trading/policy"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

const (
	// socketName is the file that commands connect to.
	socketName = "control.sock"

	// commandTime bounds a command. Among replicas it is retried for ten seconds while none
	// is ready to trade.
	commandTime = 15 * time.Second
	// endTime bounds a command that ends logins. NATS servers between leaders take up to
	// twenty seconds for it, twenty-five more to count them and four to clean up. After an
	// earlier timeout a second command would report that there were none.
	endTime = 50 * time.Second
)

// Server serves the owner's commands. Commands of nil fields are not served.
type Server struct {
	Home   string
	Locked bool          // the caller holds the lock of the server
	Door   *oauth.Server // nil where nobody is let in
	Pass   *Pass         // nil where nobody is let in
	// Survives reports whether a restart leaves a token of the Door live; nil: none.
	Survives   func(oauth.Token) bool
	Trader     Trader                                // nil without --trade
	ManyOwners bool                                  // the trader has many owners
	Status     func(context.Context) (Status, error) // nil without --trade
	// ApplyPolicy puts the policy of the file in force and returns what changed; nil without --trade.
	ApplyPolicy func(context.Context) (policy.Status, error)
	Owners      *hosting.Desk // nil for one owner
	// ReloadPlans puts the plans of the file in force and returns what changed; nil for one owner.
	ReloadPlans func(context.Context) (owners.PlansReloaded, error)
	Alerts      Alerts     // nil without --trade
	Trades      Trades     // nil without --trade
	Strategies  Strategies // nil without --strategies
	// Console opens the owner's console and returns its address; nil where there is none. It
	// needs Pass.
	Console func(context.Context) (string, error)
	Log     *slog.Logger
}

// Trader halts and resumes trading.
type Trader interface {
	Halt(ctx context.Context, who, reason string) (guard.State, error)
	Resume(ctx context.Context, who string) (guard.State, error)
}

// An AllHalter is a Trader that can cancel also the orders that protect positions.
type AllHalter interface {
	HaltAll(ctx context.Context, who, reason string) (guard.State, error)
}

// An OwnerHalter is a Trader for many owners that can halt and resume one of them.
type OwnerHalter interface {
	HaltOwner(ctx context.Context, owner principal.Owner, who, reason string, all bool) (guard.State, error)
	ResumeOwner(ctx context.Context, owner principal.Owner, who string) (guard.State, error)
}

// ofOwners returns the trader for many owners.
func (s Server) ofOwners() (OwnerHalter, error) {
	if many, ok := s.Trader.(OwnerHalter); ok && s.ManyOwners {
		return many, nil
	}
	return nil, fault.New(fault.Unsupported, "one_owner", "this program has one owner. Run the command without --owner")
}

// halt carries out a halt of an owner, "" for all, of all orders or of those that do not protect a position.
func (s Server) halt(ctx context.Context, owner principal.Owner, reason string, all bool) (guard.State, error) {
	if owner != "" {
		many, err := s.ofOwners()
		if err != nil {
			return guard.State{}, err
		}
		return many.HaltOwner(ctx, owner, ByHalt, reason, all)
	}
	if !all {
		return s.Trader.Halt(ctx, ByHalt, reason)
	}
	trader, ok := s.Trader.(AllHalter)
	if !ok {
		return guard.State{}, fault.New(fault.Unsupported, "halt_all", "this program cannot cancel protective orders. Run candela halt without --all")
	}
	return trader.HaltAll(ctx, ByHalt, reason)
}

// Run serves until ctx ends; commands in progress may finish until hard ends. Another server in
// the state directory is an error.
func (s Server) Run(ctx, hard context.Context, ready func()) error {
	if !s.Locked {
		lock, err := statedir.LockServer(s.Home)
		if err != nil {
			return err
		}
		defer lock.Release()
	}
	ln, err := s.listen(ctx)
	if errors.Is(err, errNoFamily) {
		return s.without(ctx, ready, err)
	}
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: s.handler(), ReadTimeout: 5 * time.Second, WriteTimeout: endTime + 5*time.Second,
		BaseContext: func(net.Listener) context.Context { return hard },
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	return shutdown.Serve(ctx, hard, server, ln, ready)
}

// listen opens the socket. It removes one that a killed server left behind, because this
// process holds the lock of the server.
func (s Server) listen(ctx context.Context) (net.Listener, error) {
	path := filepath.Join(s.Home, socketName)
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

// Attempt is Run for a program that works without the socket, which another server in the
// state directory may have.
func (s Server) Attempt(ctx, hard context.Context, ready func()) error {
	err := s.Run(ctx, hard, ready)
	if ctx.Err() != nil {
		return err
	}
	return s.without(ctx, ready, err)
}

// without waits for the end without a socket: candela auth does not work, and only a restart
// revokes clients.
func (s Server) without(ctx context.Context, ready func(), reason error) error {
	s.Log.WarnContext(ctx, "no control socket: candela halt goes by the halt file", "error", reason)
	ready()
	<-ctx.Done()
	return nil
}

func (s Server) handler() http.Handler {
	mux := http.NewServeMux()
	if s.Door != nil {
		s.handleTokens(mux)
	}
	if s.Trader != nil {
		s.handleTrading(mux)
	}
	if s.Owners != nil {
		s.handleOwners(mux)
	}
	if s.ReloadPlans != nil {
		mux.HandleFunc("POST /plans", func(w http.ResponseWriter, r *http.Request) {
			now, err := s.ReloadPlans(r.Context())
			s.answerTrading(w, r, now, err)
		})
	}
	if s.Alerts != nil {
		s.handleAlerts(mux)
	}
	if s.Trades != nil {
		s.handleTrades(mux)
	}
	if s.Strategies != nil {
		s.handleStrategies(mux)
	}
	if s.Pass != nil {
		mux.HandleFunc("POST /pass", func(w http.ResponseWriter, r *http.Request) {
			s.Log.InfoContext(r.Context(), "a passphrase that is good once was asked for on the control socket")
			fmt.Fprint(w, s.Pass.issue(time.Now()))
		})
	}
	if s.Console != nil && s.Pass != nil {
		s.handleConsole(mux)
	}
	if s.Status != nil {
		mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
			now, err := s.Status(r.Context())
			s.answerTrading(w, r, now, err)
		})
	}
	return mux
}

func (s Server) handleTokens(mux *http.ServeMux) {
	mux.HandleFunc("GET /tokens", func(w http.ResponseWriter, r *http.Request) {
		tokens, err := s.tokens(r.Context(), principal.Owner(r.FormValue("owner")))
		clients := make([]Client, 0, len(tokens))
		for _, t := range tokens {
			clients = append(clients, Client{
				t.ID, t.Key, t.Grant.Subject, t.Grant.ClientName, t.Grant.Access().String(), t.Issued, t.Expires, s.Survives != nil && s.Survives(t),
			})
		}
		s.answer(w, r, clients, err)
	})
	mux.HandleFunc("DELETE /tokens", func(w http.ResponseWriter, r *http.Request) {
		ended, err := s.endTokens(r.Context(), principal.Owner(r.FormValue("owner")))
		s.answer(w, r, ended, err)
	})
	mux.HandleFunc("DELETE /tokens/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Door.RevokeAny(r.Context(), r.PathValue("id")); err != nil {
			s.fail(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// tokens returns the live tokens of an owner, of all if it is "".
func (s Server) tokens(ctx context.Context, owner principal.Owner) ([]oauth.Token, error) {
	if owner == "" {
		return s.Door.AllTokens(ctx)
	}
	return s.Door.Tokens(ctx, owner)
}

// endTokens ends all logins of an owner, of all owners if it is "".
func (s Server) endTokens(ctx context.Context, owner principal.Owner) (ended Ended, err error) {
	if owner == "" {
		ended.Clients, err = s.Door.RevokeAll(ctx)
		return ended, err
	}
	tokens, err := owners.EndLogins(ctx, s.Door, owner)
	for _, t := range tokens {
		if t.Grant.Login {
			ended.Browsers++
		} else {
			ended.Clients++
		}
	}
	return ended, err
}

// resume resumes trading for an owner, "" for all.
func (s Server) resume(ctx context.Context, owner principal.Owner) (guard.State, error) {
	if owner == "" {
		return s.Trader.Resume(ctx, ByResume)
	}
	many, err := s.ofOwners()
	if err != nil {
		return guard.State{}, err
	}
	return many.ResumeOwner(ctx, owner, ByResume)
}

// stateOf converts the state of an account, with the names that owners see.
func (s Server) stateOf(state guard.State) TradingState {
	if s.ManyOwners {
		state = state.OfHost()
	}
	return StateOf(state)
}

func (s Server) handleTrading(mux *http.ServeMux) {
	mux.HandleFunc("POST /halt", func(w http.ResponseWriter, r *http.Request) {
		state, err := s.halt(r.Context(), principal.Owner(r.FormValue("owner")), r.FormValue("reason"), r.FormValue("all") == "true")
		s.answerTrading(w, r, s.stateOf(state), err)
	})
	mux.HandleFunc("POST /resume", func(w http.ResponseWriter, r *http.Request) {
		state, err := s.resume(r.Context(), principal.Owner(r.FormValue("owner")))
		s.answerTrading(w, r, s.stateOf(state), err)
	})
	if s.ApplyPolicy != nil {
		mux.HandleFunc("POST /policy", func(w http.ResponseWriter, r *http.Request) {
			now, err := s.ApplyPolicy(r.Context())
			s.answerTrading(w, r, now, err)
		})
	}
	if desk, ok := s.Trader.(Approver); ok {
		s.handleApprovals(mux, desk)
	}
}

// answerTrading is answer for a command about trading or alerts, whose faults are for the owner.
func (s Server) answerTrading(w http.ResponseWriter, r *http.Request, value any, err error) {
	if f := fault.Of(err); f != nil {
		writeJSON(w, http.StatusConflict, f.Public())
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.Log.WarnContext(r.Context(), "command on the control socket not finished in time", "path", r.URL.Path, "error", err)
		writeJSON(w, http.StatusConflict, "the program runs, and did not finish this in time, so whether it took effect is unknown. With replicas the NATS servers may not be reachable: /readyz and the log say so. Try again.")
		return
	}
	s.answer(w, r, value, err)
}

func (s Server) answer(w http.ResponseWriter, r *http.Request, value any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, value)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the owner's terminal went away
}

func (s Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, oauth.ErrNotFound) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.Log.ErrorContext(r.Context(), "control socket", "error", err)
	w.WriteHeader(http.StatusInternalServerError)
}
