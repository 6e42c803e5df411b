package tool

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/lib/ta"
)

// Bounds returns the numbers between which the lines of an indicator stay.
func Bounds(s *ta.Selection) (lo, hi float64, ok bool) { return bounds(s) }

// BuildWithScope builds a tool that does nothing.
func BuildWithScope(scope principal.Scope) error {
	_, err := toolSpec{
		name: "nothing", scope: scope,
		call: calling(noArgs, func(context.Context, principal.Caller, *struct{}) (mcp.Result, error) { return mcp.Result{}, nil }),
	}.build()
	return err
}
