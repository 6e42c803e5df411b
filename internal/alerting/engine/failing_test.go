package engine_test

import (
	"context"
	"sync"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
)

// failing is the ledger, which can be made to refuse.
type failing struct {
	*ledger.Ledger
	mu    sync.Mutex
	fires error
	takes time.Duration // the next firing
	puts  time.Duration // each new alert
}

func (f *failing) PutAlert(ctx context.Context, caller principal.Caller, a alert.Alert) error {
	f.mu.Lock()
	puts := f.puts
	f.mu.Unlock()
	time.Sleep(puts)
	return f.Ledger.PutAlert(ctx, caller, a)
}

func (f *failing) FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error) {
	f.mu.Lock()
	err, takes := f.fires, f.takes
	f.takes = 0
	f.mu.Unlock()
	time.Sleep(takes)
	if err != nil {
		return nil, err
	}
	return f.Ledger.FireAlerts(ctx, firings)
}

func (f *failing) refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fires = err
}

// stall has the next firing take a while.
func (f *failing) stall(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes = d
}
