package store

import (
	"context"
	"log/slog"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/retry"
)

const (
	pruneEvery = time.Hour
	pruneStep  = 1000 // notifications removed in one write
)

// Prune removes the notifications that no client may fetch any more.
func Prune(ctx context.Context, from Entries) error {
	for {
		n, err := from.PruneEntries(ctx, time.Now().Add(-notify.PollTTL), notify.MaxRetained, pruneStep)
		if err != nil || n < pruneStep {
			return err
		}
	}
}

// KeepPruned calls prune every hour until ctx ends, under hard.
func KeepPruned(ctx, hard context.Context, log *slog.Logger, prune func(context.Context) error) error {
	for retry.Sleep(ctx, pruneEvery) == nil {
		if err := prune(hard); err != nil {
			log.ErrorContext(ctx, "pruning notifications failed", "error", err)
		}
	}
	return nil
}
