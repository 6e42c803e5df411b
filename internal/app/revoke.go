package app

import (
	"context"
	"io"
	"time"

	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/operate/control"
	"candela/internal/store/replica/logins"
)

// RevokeAll revokes all logins: through the server of the state directory, or in the
// store that replicas share.
func RevokeAll(ctx context.Context, cfg *config.Config, log io.Writer) (control.Ended, error) {
	ended, err := control.RevokeAll(ctx, cfg.Home)
	if kind := fault.KindOf(err); cfg.NATS.URL == "" || err == nil || kind != fault.Unavailable && kind != fault.NotFound {
		return ended, err
	}
	rt := Runtime{Config: cfg, Log: cfg.Log.CommandLogger(log)}
	conn, err := rt.connect(ctx)
	if err != nil {
		return control.Ended{}, err
	}
	defer conn.Close()
	tokens, err := logins.Open(ctx, conn, nil, maxTokens, rt.Log)
	if err != nil {
		return control.Ended{}, err
	}
	defer tokens.Close()
	n, err := tokens.RevokeAll(ctx, time.Now())
	return control.Ended{Clients: n, Where: "at all replicas"}, err
}
