package cluster_test

import (
	"testing"
	"time"

	"candela/internal/store/cluster"
)

// TestOpen_WaitsForServersThatStart opens everything while two of three servers are
// away for longer than they are waited for once.
func TestOpen_WaitsForServersThatStart(t *testing.T) {
	t.Parallel()
	three, prefix := start(t, 3), newPrefix()
	conns := []*cluster.Conn{connect(t, three, prefix), connect(t, three, prefix), connect(t, three, prefix)}
	three.Kill(0)
	three.Kill(1)
	ends := make(chan error, 3)
	go func() {
		_, err := conns[0].OpenStore(t.Context(), time.Now)
		ends <- err
	}()
	go func() {
		_, err := conns[1].OpenOrders(t.Context(), time.Now)
		ends <- err
	}()
	go func() {
		m, err := conns[2].Join(t.Context(), cluster.Who{Name: "c"}, quiet())
		if err == nil {
			m.Close()
		}
		ends <- err
	}()
	select {
	case err := <-ends:
		t.Fatalf("without servers: %v", err)
	case <-time.After(6 * time.Second): // once is five
	}
	restart(t, three, 0, 1)
	for range 3 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}
