package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"candela/internal/config"
	"candela/internal/fault"
)

// Ended is what it was to end all logins.
type Ended struct {
	Clients int    `json:"clients"` // tokens that were live
	Where   string `json:"-"`       // where the command was carried out
}

// RevokeAll ends all logins: by the server of the state directory, else, where
// replicas share NATS servers, in what those keep.
func RevokeAll(ctx context.Context, cfg *config.Config, log io.Writer) (Ended, error) {
	ended, err := revokeAllHere(ctx, cfg.Home)
	if kind := fault.KindOf(err); cfg.NATS.URL == "" || err == nil || kind != fault.Unavailable && kind != fault.NotFound {
		return ended, err
	}
	rt := Runtime{Config: cfg, Log: cfg.Log.CommandLogger(log)}
	conn, err := rt.connect(ctx)
	if err != nil {
		return Ended{}, err
	}
	defer conn.Close()
	tokens, err := conn.OpenTokens(ctx, nil, maxTokens, rt.Log)
	if err != nil {
		return Ended{}, err
	}
	defer tokens.Close()
	n, err := tokens.EndAll(ctx, time.Now())
	return Ended{n, "at all replicas, by what the NATS servers keep"}, err
}

// revokeAllHere asks the server of a state directory.
func revokeAllHere(ctx context.Context, home string) (Ended, error) {
	answer, err := knock(ctx, home, http.MethodDelete, "/tokens")
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
