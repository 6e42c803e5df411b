package app

import (
	"context"
	"encoding/json"
	"time"

	"candela/internal/access/metering"
	"candela/internal/access/usage"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// countedTools is the tools of the program, with a count of what each client calls.
type countedTools struct {
	mcp.ToolSet
	use   *usage.Tracker
	meter *metering.Meter // of owners; nil for one owner
}

// Call calls a tool and counts the call.
func (c countedTools) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	result, err := c.ToolSet.Call(ctx, caller, name, arguments)
	failed := err != nil || result.IsError
	c.use.Called(caller.Key, name, failed, time.Now())
	if c.meter != nil && err == nil { // an error is a tool that does not exist
		c.meter.Called(caller.Subject, name, failed)
	}
	return result, err
}
