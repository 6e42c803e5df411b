package mcp

import (
	"candela/internal/kit/principal"
	"candela/internal/serve/rpc"
)

// The answers to calls whose token has ended.
var (
	errNotBegun = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token has ended; this call was not carried out"}
	errCutOff   = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token ended during this call; it may have been carried out"}
)

// TokenEnded reports whether the token of the job has ended, and with it what was not
// done by then.
func (j *Job) TokenEnded() bool { return principal.TokenEnded(j.ctx) }
