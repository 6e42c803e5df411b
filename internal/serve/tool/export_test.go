package tool

import (
	"context"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// ScopeOf returns the scope that a tool needs.
func (r *Registry) ScopeOf(name string) principal.Scope {
	return r.tools[slices.Index(r.names, name)].scope
}

// BuildWithScope builds a tool that does nothing.
func BuildWithScope(scope principal.Scope) error {
	_, err := toolSpec{
		name: "nothing", scope: scope,
		call: calling(noArgs, func(context.Context, principal.Caller, *struct{}) (mcp.Result, error) { return mcp.Result{}, nil }),
	}.build()
	return err
}
