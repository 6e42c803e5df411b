package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	"candela/internal/kit/fault"
)

// Client is an approved client.
type Client struct {
	ID       string    `json:"id"`
	Token    string    `json:"token"` // what stands for it in the audit log
	Name     string    `json:"name"`  // as the client calls itself
	Approved time.Time `json:"approved"`
	Expires  time.Time `json:"expires"`
}

// Clients returns the approved clients of the server, newest first.
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

// Revoke revokes a client.
func Revoke(ctx context.Context, home, id string) error {
	answer, err := command(ctx, home, http.MethodDelete, "/tokens/"+id)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Ended is the result of RevokeAll.
type Ended struct {
	Clients int    `json:"clients"` // tokens that were live
	Where   string `json:"-"`       // where the command was carried out
}

// RevokeAll ends all logins of the server.
func RevokeAll(ctx context.Context, home string) (Ended, error) {
	answer, err := send(ctx, home, http.MethodDelete, "/tokens")
	if err != nil {
		return Ended{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return Ended{}, &fault.Error{Kind: fault.NotFound, Code: "no_logins", Message: fmt.Sprintf("the program that runs in state directory %s lets nobody in: it does not --serve", home)}
	default:
		return Ended{}, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
	}
	var ended Ended
	if err := json.NewDecoder(answer.Body).Decode(&ended); err != nil {
		return Ended{}, fmt.Errorf("control socket: %w", err)
	}
	ended.Where = "by the server that runs there"
	return ended, nil
}

// Answers reports whether a server with logins runs in a state directory.
func Answers(ctx context.Context, home string) bool {
	answer, err := send(ctx, home, http.MethodGet, "/tokens")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// NewPass requests a one-time passphrase from the server.
func NewPass(ctx context.Context, home string) (string, error) {
	answer, err := command(ctx, home, http.MethodPost, "/pass")
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return string(text), err
}

// command sends a command to the server of a state directory.
func command(ctx context.Context, home, method, path string) (*http.Response, error) {
	answer, err := send(ctx, home, method, path)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return answer, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, &fault.Error{Kind: fault.NotFound, Code: "no_such_client", Message: "no client is let in under that ID; candela auth list shows those that are"}
	}
	return nil, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
}

// send sends a request to the server of a state directory.
func send(ctx context.Context, home, method, path string) (*http.Response, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(home, socketName))
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://control"+path, nil)
	if err != nil {
		return nil, fault.Field("id", path, "an ID that candela auth list shows")
	}
	limit := commandTime
	if method == http.MethodDelete {
		limit = endTime
	}
	client := &http.Client{Timeout: limit, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok && !asked.Timeout() {
			err = asked.Err // the URL means nothing to the user
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			err = nil // it does not run; the system's message adds nothing
		}
		return nil, &fault.Error{
			Kind: fault.Unavailable, Code: "no_server", Field: "home", Value: home, Cause: err,
			Message: fmt.Sprintf("no server answers in state directory %s: is candela --serve running, with this --home? Start it with candela --serve", home),
		}
	}
	return answer, nil
}
