package app

import (
	"context"
	"net/http"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owner"
	"candela/internal/serve/console"
	"candela/internal/trading/desk"
)

// console returns the owner's console, nil where it is off or where tokens come from elsewhere.
func (rt Runtime) console(logins *oauth.Server, t *trading) (http.Handler, error) {
	if !rt.Config.HTTP.Console || logins == nil {
		return nil, nil //nolint:nilnil // no console is not an error
	}
	return console.New(console.Config{
		Owner: owner.New(logins, time.Now), BaseURL: rt.Config.HTTP.BaseURL, Version: rt.release(), Log: rt.Log, Now: time.Now,
		Ports: t.consolePorts(),
	})
}

// consolePorts connects the console with the trading side.
func (t *trading) consolePorts() console.Ports {
	if t == nil {
		return console.Ports{}
	}
	return console.Ports{Account: consoleAccount{t.orders, t}, Alerts: t.alerts}
}

// consoleAccount is the account with its status.
type consoleAccount struct {
	account
	side *trading
}

// Status returns the state of the account.
func (a consoleAccount) Status(ctx context.Context) (desk.Status, []string, bool) {
	return a.side.status(ctx)
}
