// Command gosdk drives the official Go SDK for the table of clients. drive.mjs has the
// protocol between it and the driver.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	module   = "github.com/modelcontextprotocol/go-sdk"
	redirect = "http://localhost:41999/callback"
)

// driver is the other end of stdin and stdout.
type driver struct{ answers *bufio.Scanner }

// request asks for something that a client cannot do, and waits for it.
func (d *driver) request(message any) (answer struct{ To string }, err error) {
	if err := json.NewEncoder(os.Stdout).Encode(message); err != nil {
		return answer, err
	}
	if !d.answers.Scan() {
		return answer, errors.New("the driver does not answer")
	}
	return answer, json.Unmarshal(d.answers.Bytes(), &answer)
}

// login returns a handler that keeps its token in memory, as the SDK does.
func (d *driver) login() (auth.OAuthHandler, error) {
	return auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "Go SDK", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none"},
		},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			answer, err := d.request(map[string]any{"open": args.URL})
			if err != nil {
				return nil, err
			}
			to, err := url.Parse(answer.To)
			if err != nil {
				return nil, err
			}
			q := to.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
}

// transport returns how candela is reached.
func (d *driver) transport(ctx context.Context) (mcp.Transport, error) {
	if address := os.Getenv("E2E_URL"); address != "" {
		handler, err := d.login()
		return &mcp.StreamableClientTransport{Endpoint: address, OAuthHandler: handler}, err
	}
	var command []string
	if err := json.Unmarshal([]byte(os.Getenv("E2E_COMMAND")), &command); err != nil {
		return nil, err
	}
	return &mcp.CommandTransport{Command: exec.CommandContext(ctx, command[0], command[1:]...)}, nil
}

// call calls a tool and decodes its text.
func call(ctx context.Context, session *mcp.ClientSession, name string, arguments, into any) error {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || result.IsError {
		return fmt.Errorf("%s: %v", name, result.Content[0])
	}
	return json.Unmarshal([]byte(text.Text), into)
}

func chart(ctx context.Context, session *mcp.ClientSession) error {
	var summary struct{ Price struct{ Bars int } }
	err := call(ctx, session, "generate_chart", map[string]any{"symbol": "BTCUSDT", "format": "summary", "bars": 60}, &summary)
	if err == nil && summary.Price.Bars != 60 {
		err = fmt.Errorf("%d bars", summary.Price.Bars)
	}
	return err
}

// alarm receives in the middleware, the only place of the SDK that could see a method which
// it does not know.
type alarm struct{ acknowledged, fired chan struct{} }

func newAlarm() alarm { return alarm{make(chan struct{}, 9), make(chan struct{}, 9)} }

func (a alarm) watch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		switch method {
		case "notifications/subscriptions/acknowledged":
			a.acknowledged <- struct{}{}
		case "notifications/alert_triggered", "notifications/resources/updated":
			a.fired <- struct{}{}
		}
		return next(ctx, method, request)
	}
}

// subscribe asks for alerts as the revision of the session does, and waits until they come.
func (a alarm) subscribe(ctx context.Context, session *mcp.ClientSession) error {
	if os.Getenv("E2E_SERVES") == "" {
		return call(ctx, session, "subscribe_notifications", map[string]any{}, &struct{}{})
	}
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: "candela://alerts/fired"}); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	select {
	case <-a.acknowledged:
		return nil
	case <-time.After(time.Minute):
		return errors.New("the subscription is not acknowledged")
	}
}

// push reports whether the client gets the notification of an alert.
func push(ctx context.Context, session *mcp.ClientSession, a alarm) (string, error) {
	if err := a.subscribe(ctx, session); err != nil {
		return "", err
	}
	alert := map[string]any{"symbol": "BTCUSDT", "condition": map[string]any{"price_above": 0.5}}
	if err := call(ctx, session, "set_alert", alert, &struct{}{}); err != nil {
		return "", err
	}
	seconds, err := strconv.Atoi(os.Getenv("E2E_WAIT"))
	select {
	case <-a.fired:
		return "yes", err
	case <-time.After(time.Duration(seconds) * time.Second):
		return "no", err
	}
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version[1:]
		}
	}
	return "-"
}

func run(ctx context.Context, d *driver, row map[string]any) error {
	alarm := newAlarm()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	client.AddReceivingMiddleware(alarm.watch)
	transport, err := d.transport(ctx)
	if err != nil {
		return err
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	row["tools"] = len(tools.Tools)
	if err := chart(ctx, session); err != nil {
		return err
	}
	row["call"] = "yes"
	if row["push"], err = push(ctx, session, alarm); err != nil {
		return err
	}
	row["connects"] = "yes"
	if os.Getenv("E2E_URL") == "" {
		return session.Close()
	}
	row["oauth"] = "yes"
	// A session that stays open ends at a restart: its stream does not log in.
	if err := session.Close(); err != nil {
		return err
	}
	if _, err := d.request(map[string]any{"restart": true}); err != nil {
		return err
	}
	if session, err = client.Connect(ctx, transport, nil); err != nil {
		return err
	}
	if err := chart(ctx, session); err != nil {
		return err
	}
	row["back"] = "yes"
	return session.Close()
}

func main() {
	row := map[string]any{"version": version(), "connects": "no"}
	if err := run(context.Background(), &driver{bufio.NewScanner(os.Stdin)}, row); err != nil {
		row["error"] = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"row": row}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
