package natstest

import (
	"time"

	"go.uber.org/goleak"
)

// leakTime is how long stopped servers may take to end on a loaded machine.
const leakTime = 2 * time.Minute

// Leaks waits until only the caller's goroutine runs and returns an error that lists the others
// after leakTime. It is goleak's check for a TestMain that has stopped servers.
func Leaks() (err error) {
	// A server that is stopped while it recovers a stream leaks the writer of its state.
	const server = "github.com/nats-io/nats-server/v2/server"
	ignored := []goleak.Option{goleak.IgnoreAnyFunction(server + ".(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction(server + "/ats.Register.func1")}
	// Find waits half a second.
	for began := time.Now(); time.Since(began) < leakTime; {
		if err = goleak.Find(ignored...); err == nil {
			return nil
		}
	}
	return err
}
