package main

import (
	"context"
	"fmt"
	"strings"

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/control"
	"candela/internal/fault"
)

// halt stops trading. Words before the flags are the reason.
func halt(ctx context.Context, in invocation) error {
	words := 0
	for words < len(in.args) && !strings.HasPrefix(in.args[words], "-") {
		words++
	}
	cfg, err := config.Load(config.Input{Args: in.args[words:], Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	reason := strings.Join(in.args[:words], " ")
	if cfg.NATS.URL != "" {
		state, err := app.HaltReplicas(ctx, cfg, reason, in.Stderr)
		return tellState(in, state, err)
	}
	state, err := app.Halt(ctx, cfg.Home, reason)
	return tellState(in, state, err)
}

// resume takes back what holds trading down, as far as the owner can.
func resume(ctx context.Context, in invocation) error {
	if len(in.args) > 0 && !strings.HasPrefix(in.args[0], "-") {
		return fault.Field("resume", in.args[0], "flags alone")
	}
	cfg, err := config.Load(config.Input{Args: in.args, Environ: in.environ, Inspect: true})
	if err != nil {
		return err
	}
	if cfg.NATS.URL != "" {
		state, err := app.ResumeReplicas(ctx, cfg, in.Stderr)
		return tellState(in, state, err)
	}
	state, err := app.Resume(ctx, cfg.Home)
	return tellState(in, state, err)
}

func tellState(in invocation, s control.TradingState, err error) error {
	if err != nil {
		return err
	}
	if s.Why != "" {
		s.Why = ": " + s.Why
	}
	_, err = fmt.Fprintf(in.Stdout, "Trading is %s%s (%s).\n", s.Level, s.Why, s.Where)
	return err
}
