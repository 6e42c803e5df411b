package conn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/store/replica/conn"
)

func TestHoldBack_EndsWhenItIsReleasedOrAfterAWhile(t *testing.T) {
	t.Parallel()
	waits := func(c *conn.Conn, ctx context.Context) time.Duration {
		began := time.Now()
		c.AwaitRelease(ctx)
		return time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		if took := waits(&conn.Conn{}, t.Context()); took != 0 {
			t.Errorf("without a hold it waits %s", took)
		}
		var c conn.Conn
		release := c.HoldBack()
		if took := waits(&c, t.Context()); took != 5*time.Second {
			t.Errorf("nobody releases it: %s", took)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if took := waits(&c, ended); took != 0 {
			t.Errorf("after the end of the context it waits %s", took)
		}
		time.AfterFunc(time.Second, release)
		if took := waits(&c, t.Context()); took != time.Second {
			t.Errorf("released after a second: %s", took)
		}
		release()
		if took := waits(&c, t.Context()); took != 0 {
			t.Errorf("released: %s", took)
		}
	})
}
