// Command server is candela with a fixed bearer token in place of the
// authorization server, for the end-to-end tests. It is built from the same parts
// as the program and never shipped.
//
// usage: server TOKEN [flags of candela]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: server TOKEN [flags of candela]")
	}
	tokens := httpdtest.Tokens{args[0]: principal.Caller{Subject: "owner", Key: "e2e", Scope: principal.Trade}}
	cfg, err := app.LoadConfig(config.Input{Args: args[1:], Environ: os.Environ()})
	if err != nil {
		return err
	}
	services := app.Wired()
	services.Serve = app.ServeMCP(func(app.Runtime) (httpd.Authorizer, error) { return tokens, nil }) //nolint:contextcheck // a visit of the console carries the context of its request
	return app.Run(ctx, cfg, app.Deps{Version: "e2e", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Services: services})
}
