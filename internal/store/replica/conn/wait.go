package conn

import (
	"context"
	"log/slog"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
)

const (
	// maxConnectWait is how long Await waits for servers that do not answer: they may
	// have been started with whoever calls it.
	maxConnectWait    = 30 * time.Second
	connectRetryEvery = time.Second
)

// ConnectWait is Connect for who can wait a while for servers that are not there yet.
func ConnectWait(ctx context.Context, cfg Config, log *slog.Logger) (*Conn, error) {
	for began := time.Now(); ; {
		conn, err := Connect(ctx, cfg, log)
		if err == nil || fault.KindOf(err) != fault.Unavailable || time.Since(began) > maxConnectWait {
			return conn, err
		}
		log.WarnContext(ctx, "waiting for NATS", "error", err)
		if err := retry.Sleep(ctx, connectRetryEvery); err != nil {
			return nil, err
		}
	}
}
