// Package httpdtest has an Authorizer for tests, until and beside the real one.
package httpdtest

import (
	"context"
	"errors"

	"candela/internal/fault"
	"candela/internal/mcp"
)

// Tokens is a fixed set of good tokens and who they stand for. The token "down"
// stands for an authorizer that cannot answer.
type Tokens map[string]mcp.Caller

// Authorize looks the token up.
func (t Tokens) Authorize(_ context.Context, token string) (mcp.Caller, error) {
	if caller, ok := t[token]; ok {
		return caller, nil
	}
	if token == "down" {
		return mcp.Caller{}, errors.New("store is down")
	}
	return mcp.Caller{}, &fault.Error{Kind: fault.Unauthorized, Code: "invalid_token", Message: "unknown token"}
}

// One returns Tokens with one good token "good" of the subject "owner".
func One() Tokens { return Tokens{"good": {Subject: "owner", Key: "key-of-good"}} }
