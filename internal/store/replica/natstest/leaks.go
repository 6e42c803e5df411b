package natstest

import (
	"time"

	"go.uber.org/goleak"
)

// leakTime is how long servers that were stopped may take to end on a loaded machine.
const leakTime = 2 * time.Minute

// Leaks waits until no goroutine runs but the caller's, and returns which do when they do
// not end. It is goleak's check for a TestMain that has stopped servers.
func Leaks() (err error) {
	// A server that is stopped while it recovers a stream leaves what writes its state.
	const server = "github.com/nats-io/nats-server/v2/server"
	ignored := []goleak.Option{goleak.IgnoreAnyFunction(server + ".(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction(server + "/ats.Register.func1")}
	// Find gives what ends half a second.
	for began := time.Now(); time.Since(began) < leakTime; {
		if err = goleak.Find(ignored...); err == nil {
			return nil
		}
	}
	return err
}
