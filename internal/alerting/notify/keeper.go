package notify

import (
	"context"
	"time"

	"candela/internal/alerting/notify/records"
)

// Members is who takes part.
type Members interface {
	Self() string
	// Live reports whether a replica takes part, as far as this one knows.
	Live(id string) bool
}

// Shared is what the logs of several replicas have in common. Keeper, Members and
// Sync are required.
type Shared struct {
	Store   records.Store
	Members Members

	// CatchUp returns when every entry that was committed before the call has been
	// appended here.
	CatchUp func(ctx context.Context) error

	// TokenEnded reports whether a token, by principal.Caller.Key, has ended for certain. Nil:
	// only its expiry tells.
	TokenEnded func(ctx context.Context, key string) (bool, error)

	// MaxSubscriptions bounds the subscriptions of all owners; 0 for MaxSharedSubscriptions.
	MaxSubscriptions int

	// HandTime is how long a replica waits for another that is live to say how far a
	// stream came or that it goes by a filter; 0 for two seconds.
	HandTime time.Duration
}

// MaxSharedSubscriptions bounds the subscriptions of all replicas together: each
// knows all of them, at about 1 KB.
const MaxSharedSubscriptions = 200_000

// OpenShared returns a log without entries whose readers are those of all replicas.
// cfg has no path. Nothing is taken back when the log is restored: a place beyond
// its entries belongs to a replica that has come further.
func OpenShared(ctx context.Context, cfg Config, with Shared) (*Log, error) {
	if with.MaxSubscriptions == 0 {
		with.MaxSubscriptions = MaxSharedSubscriptions
	}
	if with.HandTime == 0 {
		with.HandTime = handTime
	}
	cfg.Path = ""
	l := newLog(cfg)
	l.shared = newShared(context.WithoutCancel(ctx), with)
	return l, with.Store.Watch(ctx, l.apply)
}
