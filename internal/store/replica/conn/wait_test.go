package conn_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// onWrite is called for each line of a log.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestConnectWait_ConnectsToServersThatStartLater starts the server after the first failed attempt.
func TestConnectWait_ConnectsToServersThatStartLater(t *testing.T) {
	t.Parallel()
	one := replicatest.Start(t, 1)
	cfg := conn.Config{URL: one.URL(), Prefix: replicatest.NewPrefix(), AllowSingle: true, Secret: natstest.Secret()}
	one.Kill(0)
	back := sync.OnceFunc(func() {
		if err := one.Restart(0); err != nil {
			t.Error(err)
		}
	})
	conn, err := conn.ConnectWait(t.Context(), cfg, slog.New(slog.NewTextHandler(onWrite(back), nil)))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestConnectWait_EndsWithItsContextAndOnPermanentErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	log := slog.New(slog.NewTextHandler(onWrite(cancel), nil))
	if _, err := conn.ConnectWait(ctx, conn.Config{URL: "nats://127.0.0.1:1", Prefix: "p", Secret: natstest.Secret()}, log); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := conn.ConnectWait(t.Context(), conn.Config{Prefix: "p"}, replicatest.Quiet()); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
