// Package lograte bounds how many lines strangers can make a log write.
package lograte

import (
	"context"
	"log/slog"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// The limits: a burst shows the problem, and a line now and then that it continues.
const (
	perSecond = 5
	atOnce    = 50
)

// New returns a logger for what strangers cause, which passes a few lines a second on
// to log. A line that follows others which were left out says how many, in the
// attribute "unlogged".
func New(log *slog.Logger) *slog.Logger {
	return slog.New(handler{log.Handler(), &bound{limiter: rate.NewLimiter(perSecond, atOnce)}})
}

// bound is shared by a handler and those made of it.
type bound struct {
	limiter *rate.Limiter
	left    atomic.Uint64 // lines left out since the last one that was not
}

type handler struct {
	slog.Handler
	bound *bound
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.bound.limiter.Allow() {
		h.bound.left.Add(1)
		return nil
	}
	if left := h.bound.left.Swap(0); left > 0 {
		r = r.Clone() // it shares its attributes with the caller's
		r.AddAttrs(slog.Uint64("unlogged", left))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.bound}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.bound}
}
