package app

import (
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/usage"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// countCalls counts what each client calls, and what each owner does, of whom meter is nil for one owner.
func countCalls(use *usage.Tracker, meter *metering.Meter) func(principal.Caller, string, mcp.Result, error) {
	return func(caller principal.Caller, name string, result mcp.Result, err error) {
		failed := err != nil || result.IsError
		use.Called(caller.Key, name, failed, time.Now())
		if meter != nil && err == nil { // an error is a tool that does not exist
			meter.Called(caller.Subject, name, failed)
		}
	}
}
