package app

import (
	"context"
	"io"

	"candela/internal/config"
	"candela/internal/operate/control"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// The commands candela approvals, approve and refuse. They need a program that trades, or
// with replicas one that does somewhere: an approval needs the price of now.

// Approvals lists the orders that wait for the owner. What a connection to NATS logs goes to
// log.
func Approvals(ctx context.Context, cfg *config.Config, log io.Writer) ([]control.Pending, error) {
	all, reached, err := control.Approvals(ctx, cfg.Home)
	if reached || err != nil {
		return all, err
	}
	orders, err := askElsewhere(ctx, cfg, log, func(ctx context.Context, d *deskproxy.Desk) ([]order.Order, error) { return d.Pending(ctx) })
	return control.PendingOf(orders), err
}

// Approve sends an order that waits for the owner, if every rule still passes.
func Approve(ctx context.Context, cfg *config.Config, id string, log io.Writer) (control.Decided, error) {
	d, reached, err := control.Approve(ctx, cfg.Home, id)
	if reached || err != nil {
		return d, err
	}
	o, err := askElsewhere(ctx, cfg, log, func(ctx context.Context, d *deskproxy.Desk) (order.Order, error) {
		return d.Approve(ctx, id, control.ByApprove)
	})
	return control.DecidedOf(o), err
}

// Refuse ends an order that waits for the owner. The client reads the reason.
func Refuse(ctx context.Context, cfg *config.Config, id, reason string, log io.Writer) (control.Decided, error) {
	d, reached, err := control.Refuse(ctx, cfg.Home, id, reason)
	if reached || err != nil {
		return d, err
	}
	o, err := askElsewhere(ctx, cfg, log, func(ctx context.Context, d *deskproxy.Desk) (order.Order, error) {
		return d.Refuse(ctx, id, control.ByRefuse, reason)
	})
	return control.DecidedOf(o), err
}

// askElsewhere calls the replica that trades. Without replicas it is an error: no program
// runs in the state directory.
func askElsewhere[T any](ctx context.Context, cfg *config.Config, log io.Writer, ask func(context.Context, *deskproxy.Desk) (T, error)) (answer T, err error) {
	if cfg.NATS.URL == "" {
		return answer, fault.New(fault.Unavailable, "no_server",
			"no program trades in state directory %s, so no order can be decided; nothing was done. Start candela with --trade, with this --home. An order that nobody decides is not sent.", cfg.Home).About("home", cfg.Home, "")
	}
	rt := Runtime{Config: cfg, Log: cfg.Log.CommandLogger(log)}
	conn, err := rt.connect(ctx)
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	answer, reached, err := askTrading(ctx, conn, rt, ask)
	if err == nil && !reached {
		err = command{}.notReceived()
	}
	return answer, err
}
