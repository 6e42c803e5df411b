// Package consolelocal serves the console on loopback beside stdio.
package consolelocal

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owner"
	"candela/internal/kit/shutdown"
	"candela/internal/serve/console"
)

// Server serves the console on loopback beside stdio, from the first time that the owner
// asks for it. Only one-time passphrases of the control socket open it.
type Server struct {
	cfg Config

	mu     sync.Mutex
	asked  chan struct{} // closed by the first open
	opened chan struct{} // closed when url or err is set
	url    string
	err    error
}

// Config is what a Server shows, and to whom.
type Config struct {
	Ports   console.Ports
	Version string
	Pass    func(passphrase string) bool // takes a one-time passphrase
	Log     *slog.Logger
}

// New returns a Server that listens once it runs and is asked for.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, asked: make(chan struct{}), opened: make(chan struct{})}
}

// Open returns the address of the console.
func (l *Server) Open(ctx context.Context) (string, error) {
	l.mu.Lock()
	select {
	case <-l.asked:
	default:
		close(l.asked)
	}
	l.mu.Unlock()
	select {
	case <-l.opened:
		return l.url, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Run waits until the owner asks, then serves until ctx ends. A console that cannot be opened
// does not stop trading.
func (l *Server) Run(ctx, hard context.Context, ready func()) error {
	ready()
	select {
	case <-l.asked:
	case <-ctx.Done():
		return nil
	}
	server, ln, err := l.prepare(ctx, hard)
	l.err = err
	close(l.opened)
	if err != nil {
		l.cfg.Log.ErrorContext(ctx, "console not opened", "error", err)
		<-ctx.Done()
		return nil
	}
	return shutdown.Serve(ctx, hard, server, ln, func() {})
}

// prepare opens the listener and builds the console on its address.
func (l *Server) prepare(ctx, hard context.Context) (*http.Server, net.Listener, error) {
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listen on loopback: %w", err)
	}
	base := "http://" + ln.Addr().String()
	logins, err := l.logins(base)
	if err == nil {
		var handler *console.Console
		//nolint:contextcheck // a visit carries the context of its request
		handler, err = console.New(console.Config{
			Owner: owner.New(logins, time.Now), BaseURL: base, Version: l.cfg.Version, Log: l.cfg.Log, Now: time.Now, Ports: l.cfg.Ports,
		})
		if err == nil {
			l.url = base + console.Root
			return &http.Server{
				Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
				MaxHeaderBytes: 32 << 10, BaseContext: func(net.Listener) context.Context { return shutdown.With(hard, ctx) },
			}, ln, nil
		}
	}
	_ = ln.Close() // the error before says more
	return nil, nil, err
}

// logins keeps the sessions in memory. Nobody knows the passphrase of the owner.
func (l *Server) logins(base string) (*oauth.Server, error) {
	nobody, err := oauth.NewOwner(oauth.NewPassphrase(), oauth.Cost{Memory: 8, Passes: 1, Threads: 1})
	if err != nil {
		return nil, err
	}
	return oauth.New(oauth.NewMemory(oauth.MaxTokens), nobody, oauth.Config{BaseURL: base, Name: "candela", Pass: l.cfg.Pass, Log: l.cfg.Log})
}
