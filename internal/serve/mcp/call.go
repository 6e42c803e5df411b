package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// toolCall is a tool and its arguments.
type toolCall struct {
	name      string
	arguments json.RawMessage
}

func (j *Job) appendToolCall(ctx context.Context, dst []byte, m rpc.Message, line *logRecord, as rendering) ([]byte, *rpc.Error) {
	name, arguments, failure := callParams(m.Params)
	if failure != nil {
		return dst, failure
	}
	line.tool = name
	called := toolCall{name, arguments}
	if state, _ := member(m.Params, "requestState", '"'); j.modern != nil && state != nil {
		return j.appendRetry(ctx, dst, m, called, state)
	}
	task, result, err := j.call(ctx, called)
	line.cancelled = errors.Is(context.Cause(ctx), errCancelled)
	if ended := principal.TokenEnded(ctx); line.cancelled || ended {
		if result.OnSent != nil {
			result.OnSent(false)
		}
		if ended {
			return dst, errCutOff
		}
		return dst, nil // a cancelled request gets no response
	}
	if err != nil {
		return dst, j.failure(ctx, name, err)
	}
	if task != nil {
		return j.appendLater(dst, m, task), nil
	}
	if result.Task != nil && j.modern != nil {
		if dst, done := j.appendWaiting(dst, m, called, result.Task); done {
			return dst, nil
		}
	}
	if line.toolError = result.IsError; result.IsError {
		line.outcome = failedAs + outcome(result.Kind)
		if ctx.Err() != nil {
			line.outcome = cancelled // the client disconnected
		}
	}
	if result.OnSent != nil {
		j.onSent = append(j.onSent, result.OnSent)
	}
	dst = rpc.AppendResultOpen(dst, m.ID)
	dst = appendResult(dst, &result, as)
	return append(dst, '}'), nil
}

// call runs a tool, as a task if it may take long and the client takes tasks. A panic becomes an error: one
// defective tool must not end a server that may have open orders.
func (j *Job) call(ctx context.Context, called toolCall) (*Task, Result, error) {
	s, m := j.server, j.server.modern
	run := func(ctx context.Context, arguments json.RawMessage) (result Result, err error) {
		defer recoverTo(&err)
		result, err = s.tools.Call(ctx, j.from.Caller, called.name, arguments)
		if s.called != nil {
			s.called(j.from.Caller, called.name, result, err)
		}
		return result, err
	}
	if j.modern == nil || m.tasks == nil || !slices.Contains(m.long, called.name) || !j.modern.takesTasks() {
		result, err := run(ctx, called.arguments)
		return nil, result, err
	}
	arguments := bytes.Clone(called.arguments) // the request may end first
	return m.tasks.Run(ctx, j.from.Caller, func(ctx context.Context) (Result, error) {
		result, err := run(ctx, arguments)
		if err != nil {
			return result, j.failure(ctx, called.name, err)
		}
		return result, nil
	})
}

// failure is the error of a call that reached no tool, or whose tool failed.
func (j *Job) failure(ctx context.Context, tool string, err error) *rpc.Error {
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return refusal
	}
	j.server.log.LogAttrs(ctx, slog.LevelError, "[MCP] tool failed", slog.String("tool", tool), slog.String("request_id", j.from.RequestID), slog.Any("error", err))
	return internalError(j.from.RequestID)
}

// recoverTo is deferred. It converts a panic into err.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

func internalError(requestID string) *rpc.Error {
	message := "internal error"
	if requestID != "" {
		message += "; request " + requestID + " in the server's log"
	}
	return &rpc.Error{Code: rpc.CodeInternal, Message: message}
}

// callParams reads the params of tools/call. Absent or null arguments mean an empty
// object.
func callParams(params json.RawMessage) (name string, arguments json.RawMessage, failure *rpc.Error) {
	arguments = json.RawMessage("{}")
	named := false
	for key, value := range strictjson.Fields(params) {
		switch key {
		case "name":
			name, named = strictjson.Text(value)
			if !named {
				return "", nil, invalidParams("name must be a string")
			}
		case "arguments":
			switch value[0] {
			case '{':
				arguments = value
			case 'n':
			default:
				return "", nil, invalidParams("arguments must be an object")
			}
		}
	}
	if !named {
		return "", nil, invalidParams("name is required: the name of a tool from tools/list")
	}
	return name, arguments, nil
}
