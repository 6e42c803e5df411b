package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/store/statedir"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shortDir returns a folder whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c") //nolint:usetesting // t.TempDir has the test's name in it, which is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// answer runs a server until the test ends.
func answer(t *testing.T, s Server) {
	t.Helper()
	s.Log = slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- s.Run(ctx, context.WithoutCancel(ctx), func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// trader records commands and returns a given error.
type trader struct {
	commands []string
	err      error
}

func (d *trader) Halt(_ context.Context, who, reason string) (guard.State, error) {
	d.commands = append(d.commands, who+": "+reason)
	return guard.State{}, d.err
}

func (d *trader) Resume(_ context.Context, who string) (guard.State, error) {
	d.commands = append(d.commands, who)
	return guard.State{}, d.err
}

func TestServer_PassesCommandsToTheTrader(t *testing.T) {
	t.Parallel()
	home, desk := shortDir(t), &trader{}
	answer(t, Server{Home: home, Trader: desk})
	halted, reached, err := Halt(t.Context(), home, "a reason & more")
	if err != nil || !reached || halted.Level != "ACTIVE" || halted.Where != "in the program that runs there" {
		t.Errorf("%+v, %v, %v", halted, reached, err)
	}
	if _, reached, err := Resume(t.Context(), home); err != nil || !reached {
		t.Errorf("%v, %v", reached, err)
	}
	if want := "candela halt: a reason & more|candela resume"; strings.Join(desk.commands, "|") != want {
		t.Errorf("commands %q", desk.commands)
	}
	desk.err = &fault.Error{Kind: fault.Conflict, Message: "the account differs"}
	if _, reached, err := Resume(t.Context(), home); !reached || fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "the account differs") {
		t.Errorf("a refusal: %v, %v", reached, err)
	}
	desk.err = fmt.Errorf("ask the servers: %w", context.DeadlineExceeded)
	if _, reached, err := Resume(t.Context(), home); !reached || err == nil || !strings.Contains(err.Error(), "did not finish this in time") {
		t.Errorf("a command without an end: %v, %v", reached, err)
	}
	desk.err = errors.New("a secret")
	if _, reached, err := Resume(t.Context(), home); !reached || err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "its log says why") {
		t.Errorf("a failure: %v, %v", reached, err)
	}
}

// heldTrader is one of many owners that somebody has halted.
type heldTrader struct{ Trader }

func (heldTrader) Halt(_ context.Context, who, reason string) (guard.State, error) {
	state, _ := guard.State{}.Restrict(guard.Restriction{Kind: guard.OwnerHalt, By: who, Reason: reason})
	return state, nil
}

// A halt of many owners has the name that they see.
func TestServer_NamesTheHaltOfAll(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	answer(t, Server{Home: home, Trader: heldTrader{}, ManyOwners: true})
	halted, _, err := Halt(t.Context(), home, "all stop")
	if want := "host_halt by candela halt: all stop; lifted by the operator of the server, with candela resume or candela owners resume"; err != nil || halted.Why != want {
		t.Errorf("%+v, %v", halted, err)
	}
}

// slowTrader is one whose account is about to move to another replica.
type slowTrader struct{ Trader }

func (slowTrader) Halt(ctx context.Context, _, _ string) (guard.State, error) {
	timer := time.NewTimer(6 * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return guard.State{}, ctx.Err()
}

// A slow command gets its response and is not treated as lost.
func TestServer_WaitsForTheOwnersWord(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	answer(t, Server{Home: home, Trader: slowTrader{}})
	if state, reached, err := Halt(t.Context(), home, ""); err != nil || !reached || !strings.Contains(state.Where, "in the program that runs there") {
		t.Errorf("%+v, %v, %v", state, reached, err)
	}
}

func TestServer_ReturnsTheStatus(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	var failure error
	answer(t, Server{Home: home, Status: func(context.Context) (Status, error) {
		return Status{Running: true, Alerts: 3, Accounts: []AccountStatus{{Account: "paper", TradingState: TradingState{Level: "HALTED"}}}}, failure
	}})
	s, reached, err := ReadStatus(t.Context(), home)
	if err != nil || !reached || !s.Running || s.Alerts != 3 || len(s.Accounts) != 1 || s.Accounts[0].Level != "HALTED" {
		t.Errorf("%+v, %v, %v", s, reached, err)
	}
	failure = errors.New("no prices")
	if _, reached, err := ReadStatus(t.Context(), home); !reached || err == nil {
		t.Errorf("a failure: %v, %v", reached, err)
	}
	failure = fault.New(fault.Unavailable, "unavailable", "The shared store is unavailable. Retry in a moment.")
	if _, reached, err := ReadStatus(t.Context(), home); !reached || err == nil || !strings.Contains(err.Error(), "shared store is unavailable") {
		t.Errorf("servers that do not answer: %v, %v", reached, err)
	}
}

func TestServer_HandsOutAPass(t *testing.T) {
	t.Parallel()
	home, pass := shortDir(t), &Pass{}
	answer(t, Server{Home: home, Pass: pass})
	text, err := NewPass(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	if !pass.Take(text) || pass.Take(text) {
		t.Error("it is not good once")
	}
}

func TestServer_WithNothingToAsk(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	answer(t, Server{Home: home})
	if _, reached, err := Halt(t.Context(), home, ""); reached || err != nil {
		t.Errorf("halt: %v, %v", reached, err)
	}
	if _, reached, err := ReadStatus(t.Context(), home); reached || err != nil {
		t.Errorf("status: %v, %v", reached, err)
	}
	if _, err := RevokeAll(t.Context(), home); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "lets nobody in") {
		t.Errorf("revoke all: %v", err)
	}
	if err := Revoke(t.Context(), home, "x"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("revoke: %v", err)
	}
	if Answers(t.Context(), home) {
		t.Error("it lets nobody in, and says that it does")
	}
}

func TestControl_NobodyThere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, clients := Clients(t.Context(), home, "")
	_, all := RevokeAll(t.Context(), home)
	_, pass := NewPass(t.Context(), home)
	for _, err := range []error{clients, all, pass, Revoke(t.Context(), home, "\x7f")} {
		if fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
	}
	if Answers(t.Context(), home) {
		t.Error("nobody answers")
	}
}

// Another server has the socket: the program works without it.
func TestAttempt_WithoutTheSocket(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	held, err := statedir.LockServer(home)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	s := Server{Home: home, Log: slog.New(slog.DiscardHandler)}
	if err := s.Run(t.Context(), t.Context(), func() { t.Error("ready") }); !statedir.IsLocked(err) {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := s.Attempt(ctx, t.Context(), stop); err != nil {
		t.Error(err)
	}
}

func TestControl_RemovesWhatAKilledServerLeft(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, socketName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := Server{Home: dir}.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if _, err := (Server{Home: filepath.Join(dir, strings.Repeat("long", 40))}).listen(t.Context()); err == nil || !strings.Contains(err.Error(), "shorter --home") {
		t.Error(err)
	}
}

func TestPass_IsGoodOnceAndForAMinute(t *testing.T) {
	t.Parallel()
	var pass Pass
	now := time.Now()
	if pass.take("", now) {
		t.Error("nothing opens")
	}
	text := pass.issue(now)
	if pass.take(text+"x", now) || !pass.take(text, now) || pass.take(text, now) {
		t.Error("not once")
	}
	if text = pass.issue(now); pass.take(text, now.Add(2*time.Minute)) {
		t.Error("too late")
	}
}
