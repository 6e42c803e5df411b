package tool

import (
	"encoding/base64"

	"candela/internal/serve/mcp"
	"candela/internal/work/charting"
)

// bounded returns the result of a tool, or an error in place of one that is too large.
func bounded(name string, r mcp.Result) (mcp.Result, error) {
	size := len(r.Structured)
	for i := range r.Content {
		c := &r.Content[i]
		size += len(c.Text) + base64.StdEncoding.EncodedLen(len(c.Image)) + len(c.Meta)
	}
	if size <= charting.MaxAnswer {
		return r, nil
	}
	if r.OnSent != nil {
		r.OnSent(false)
	}
	return mcp.Result{}, charting.TooLarge(name, size)
}
