package window

import (
	"fmt"
	"os"
	"time"

	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// refusal returns why trading tools are unavailable.
func (w *Window) refusal() error {
	home := w.cfg.Home
	process, ended := statedir.EngineProcess(home)
	if f := w.failed.Load(); f != nil && (ended || process == os.Getpid()) {
		return f
	}
	if ended {
		return vacant(home)
	}
	return elsewhere(home, process)
}

// fail records why trading could not be taken over and reports whether the reason is new.
// The message is complete, as at a start: a client on stdio has started this program.
func (w *Window) fail(err error) bool {
	next := notTakenOver(w.cfg.Home, err)
	last := w.failed.Swap(next)
	return last == nil || last.Message != next.Message
}

// vacant is the error of the trading tools while this process waits to take over trading from one that ended.
func vacant(home string) error {
	return fault.New(fault.Unavailable, "trading_elsewhere", "the candela process that traded in state directory %s has ended and may be restarting; this one takes over within seconds, "+
		"or a minute after candela --serve has ended. Charts and indicators work here", home).About("home", home, "").Retry(10 * time.Second)
}

// notTakenOver is their error after a failed takeover.
func notTakenOver(home string, cause error) *fault.Error {
	return fault.New(fault.Unavailable, "trading_not_taken_over", "no process trades in state directory %s, and this one cannot take over: %v. It takes over within seconds after that is fixed. Charts and indicators work here", home, cause).
		Because(cause).Retry(0)
}

// elsewhere is their error while the process with this id trades in the state directory; 0 is
// an unknown id.
func elsewhere(home string, process int) error {
	other := "another candela process"
	if process > 0 {
		other += fmt.Sprintf(" (pid %d)", process)
	}
	return fault.New(fault.Conflict, "trading_elsewhere", "%s is trading in state directory %s, probably started by another window or client; this one takes over when it ends. "+
		"Use that one, or stop it and retry after a few seconds. To serve several clients, run candela --serve --trade. Charts and indicators work here", other, home).About("home", home, "")
}
