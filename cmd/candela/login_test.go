package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"candela/e2e/remote"
	"candela/internal/access/oauth"
	"candela/internal/operate/control"
)

// client returns a client of the server at an address, for as long as one may take to
// start.
func client(base string) (c *remote.Client, ctx context.Context, done context.CancelFunc) {
	ctx, done = context.WithTimeout(context.Background(), 2*time.Minute)
	return &remote.Client{Base: base, Name: "script", HTTP: remote.Plain(&http.Transport{DisableKeepAlives: true})}, ctx, done
}

// signIn URL FILE PERSON lets a client in as a person whom the identity provider of the tests knows, and writes its token to a file.
func signIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: signin URL FILE PERSON")
	}
	enter(ts, args[0], args[1], &remote.Owner{Person: args[2]})
}

// letIn URL FILE [PASSPHRASE] lets a client in, with the owner's passphrase where one
// is asked for, and writes its token to a file.
func letIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: letin URL FILE [PASSPHRASE]")
	}
	var owner *remote.Owner
	if len(args) == 3 {
		owner = &remote.Owner{Passphrase: args[2]}
	}
	enter(ts, args[0], args[1], owner)
}

// enter lets a client in at an address and writes its token to a file.
func enter(ts *testscript.TestScript, base, file string, owner *remote.Owner) {
	c, ctx, done := client(base)
	defer done()
	c.Owner = owner
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.Enter(ctx) != nil { // until it listens
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%v", c.Enter(ctx))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(c.Token()), 0o600))
}

// works URL FILE demands that a tool answers to the token in the file, or that it does
// not.
func works(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] works URL FILE")
	}
	c, ctx, done := client(args[0])
	defer done()
	c.SetToken(ts.ReadFile(args[1]))
	_, err := c.Call(ctx, "list_indicators", `{}`)
	status, refused := errors.AsType[*remote.StatusError](err)
	switch {
	case err != nil && (!refused || status.Status != http.StatusUnauthorized):
		ts.Fatalf("%v", err)
	case neg != (err != nil):
		ts.Fatalf("the token works: %v", err == nil)
	}
}

// revoke FILE revokes the client with the token in the file, in the default state directory.
func revoke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: revoke FILE")
	}
	_, ctx, done := client("")
	defer done()
	clients, err := control.Clients(ctx, filepath.Join(ts.Getenv("HOME"), ".candela"), "")
	ts.Check(err)
	key := oauth.HashOf(ts.ReadFile(args[0])).Hex()
	for _, c := range clients {
		if c.Token == key {
			ts.Check(ts.Exec("candela", "auth", "revoke", c.ID))
			return
		}
	}
	ts.Fatalf("no client has the token")
}
