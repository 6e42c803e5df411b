package cluster

import (
	"context"
	"log/slog"
	"time"

	"candela/internal/kit/fault"
)

const (
	// awaitServers is how long Await waits for servers that do not answer: they may
	// have been started with whoever calls it.
	awaitServers = 30 * time.Second
	askServers   = time.Second
)

// Await is Connect for who can wait a while for servers that are not there yet.
func Await(ctx context.Context, cfg Config, log *slog.Logger) (*Conn, error) {
	for began := time.Now(); ; {
		conn, err := Connect(ctx, cfg, log)
		if err == nil || fault.KindOf(err) != fault.Unavailable || time.Since(began) > awaitServers {
			return conn, err
		}
		log.WarnContext(ctx, "no NATS server answers yet", "error", err)
		timer := time.NewTimer(askServers)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}
