package conn

import (
	"context"
	"log/slog"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
)

const (
	// maxConnectWait bounds the wait for servers that start at the same time as candela.
	maxConnectWait    = 30 * time.Second
	connectRetryEvery = time.Second
)

// ConnectWait is Connect with retries while no server answers.
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
