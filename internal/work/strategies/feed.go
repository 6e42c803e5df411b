package strategies

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"candela/internal/alerting/engine"
	"candela/internal/data/provider"
	"candela/internal/trading/deploy"
	"candela/internal/work/charting"
)

// Feed lets the deployments of all owners follow closed bars through one stream.
type Feed struct {
	Source charting.BarSource
	Open   func(ctx context.Context, subs []engine.BarSub) (*engine.BarStream, error)
	Log    *slog.Logger

	following sync.Mutex // while the stream gets what all follow
	mu        sync.Mutex
	readers   map[*deploy.Deployments][]deploy.Sub // of those that follow something
	stream    *engine.BarStream                    // nil while none is open
	ctx       context.Context                      //nolint:containedctx // of the stream
}

// New returns deployments that follow bars through the feed.
func (f *Feed) New(cfg deploy.Config) *deploy.Deployments {
	var own *deploy.Deployments
	cfg.Bars = &Bars{Source: f.Source, Subs: func(subs []deploy.Sub) { f.follow(own, subs) }}
	own = deploy.New(cfg)
	return own
}

// follow replaces what deployments follow, nothing for none.
func (f *Feed) follow(own *deploy.Deployments, subs []deploy.Sub) {
	f.following.Lock()
	defer f.following.Unlock()
	f.mu.Lock()
	if f.readers == nil {
		f.readers = make(map[*deploy.Deployments][]deploy.Sub)
	}
	if f.readers[own] = subs; len(subs) == 0 {
		delete(f.readers, own)
	}
	stream, ctx := f.stream, f.ctx
	f.mu.Unlock()
	if stream == nil {
		return
	}
	if err := stream.Follow(ctx, f.all()); err != nil && ctx.Err() == nil {
		f.Log.WarnContext(ctx, "bars of strategies not followed", "error", err)
	}
}

// all returns what all deployments follow, each once.
func (f *Feed) all() []engine.BarSub {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, all := make(map[deploy.Sub]bool), []engine.BarSub{}
	for _, subs := range f.readers {
		for _, s := range subs {
			if !known[s] {
				known[s], all = true, append(all, engine.BarSub{Sub: provider.Sub{Symbol: s.Symbol, Interval: s.Interval}})
			}
		}
	}
	return all
}

// Run delivers bars until ctx ends.
func (f *Feed) Run(ctx context.Context, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := f.Open(ctx, nil)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.stream, f.ctx = stream, ctx
	f.mu.Unlock()
	f.follow(nil, nil) // what was asked for before
	ready()
	for b := range stream.Bars {
		sub := deploy.Sub{Symbol: b.Symbol, Interval: b.Interval}
		for _, own := range f.readersOf(sub) {
			own.Deliver(sub, b.Bar)
		}
	}
	return nil
}

// readersOf returns the deployments that follow bars.
func (f *Feed) readersOf(sub deploy.Sub) (all []*deploy.Deployments) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for own, subs := range f.readers {
		if slices.Contains(subs, sub) {
			all = append(all, own)
		}
	}
	return all
}
