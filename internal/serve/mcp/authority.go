package mcp

import (
	"candela/internal/kit/principal"
	"candela/internal/serve/rpc"
)

// Errors of calls whose token has ended.
var (
	errNotBegun = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token has ended; this call was not executed"}
	errCutOff   = &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: the bearer token ended during this call; it may have been executed"}
)

// TokenEnded reports whether the token of the job has ended, so that the remaining calls
// were not executed.
func (j *Job) TokenEnded() bool { return principal.TokenEnded(j.ctx) }
