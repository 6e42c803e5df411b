package conn

import (
	"context"
	"sync"
	"time"
)

// maxHold bounds how long background reading is held back.
const maxHold = 5 * time.Second

// HoldBack holds back what is read in the background until release is called, but not for long:
// what a replica evaluates is read before what it reads from the servers anyway when a call needs
// it. It must be called before anything is opened.
func (c *Conn) HoldBack() (release func()) {
	held := make(chan struct{})
	c.held = held
	return sync.OnceFunc(func() { close(held) })
}

// AwaitRelease waits until background reading is no longer held back.
func (c *Conn) AwaitRelease(ctx context.Context) {
	if c.held == nil {
		return
	}
	limit := time.NewTimer(maxHold)
	defer limit.Stop()
	select {
	case <-c.held:
	case <-limit.C:
	case <-ctx.Done():
	}
}
