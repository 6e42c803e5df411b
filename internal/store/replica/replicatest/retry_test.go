package replicatest_test

import (
	"testing"
	"time"

	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
)

// TestOpen_WaitsForServersThatStart opens all stores while two of three servers are down for
// longer than one attempt.
func TestOpen_WaitsForServersThatStart(t *testing.T) {
	t.Parallel()
	three, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	conns := []*conn.Conn{replicatest.Connect(t, three, prefix), replicatest.Connect(t, three, prefix), replicatest.Connect(t, three, prefix)}
	three.Kill(0)
	three.Kill(1)
	ends := make(chan error, 3)
	go func() {
		_, err := alerts.Open(t.Context(), conns[0], time.Now)
		ends <- err
	}()
	go func() {
		_, err := orders.Open(t.Context(), conns[1], time.Now)
		ends <- err
	}()
	go func() {
		m, err := member.Join(t.Context(), conns[2], member.Info{Name: "c"}, replicatest.Quiet())
		if err == nil {
			m.Close()
		}
		ends <- err
	}()
	select {
	case err := <-ends:
		t.Fatalf("without servers: %v", err)
	case <-time.After(6 * time.Second): // one attempt takes five
	}
	replicatest.Restart(t, three, 0, 1)
	for range 3 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}
