package deskproxy

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
)

// Strategies are those that run by themselves on the trading replica.
type Strategies interface {
	// Run runs them for one term, once the desk accepts calls. Those of many owners run with their accounts.
	Run(ctx, hard context.Context) error
	// Ask answers a call to those of an owner. It is called during a term alone.
	Ask(ctx context.Context, owner principal.Owner, a deploy.Ask) (deploy.Answer, error)
}

type (
	askCall struct {
		Owner principal.Owner
		Ask   deploy.Ask
	}
	askReply struct {
		Answer deploy.Answer
		failure
	}
)

var _ failing = (*askReply)(nil)

// registerStrategies is the part of register for strategies.
func (d *Desk) registerStrategies() {
	if d.cfg.Strategies == nil {
		return
	}
	ask := func(ctx context.Context, _ Trader, c askCall) (a askReply, err error) {
		a.Answer, err = d.cfg.Strategies.Ask(ctx, c.Owner, c.Ask)
		return a, err
	}
	d.look, d.act = newReadMethod(d, "desk.strategies", ask), newMethod(d, "desk.strategy", ask)
}

// AskStrategies answers a call to the strategies of an owner, whichever replica runs them.
func (d *Desk) AskStrategies(ctx context.Context, owner principal.Owner, a deploy.Ask) (deploy.Answer, error) {
	if a.Reads() {
		out, err := d.look(ctx, askCall{owner, a})
		return out.Answer, err
	}
	if err := d.members.Conn().CheckLost("change a strategy"); err != nil {
		return deploy.Answer{}, err
	}
	out, err := d.act(ctx, askCall{owner, a})
	return out.Answer, withRemedy(err, false, "The trading replica did not reply, so the strategy may have been changed. "+
		"Look at it before you repeat the call.")
}
