package app

import (
	"context"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market/upstream"
	"candela/internal/operate/doctor"
	"candela/internal/trading/broker"
)

// account asks the venue that orders go to what the account holds, and for the time
// there. Amounts are nobody's business and are not told. Paper needs no one.
func (x *examination) account(ctx context.Context) {
	const check = "account"
	if !x.Config.Trade || x.Config.Trading.Broker == "paper" {
		return
	}
	x.wait("asking for the account")
	hosts := upstream.NewHosts(nil)
	defer func() { _ = hosts.Close() }() // only read from
	ctx, cancel := context.WithTimeout(ctx, askVenue)
	defer cancel()
	at, err := (&trading{bars: &bars{hosts: hosts}}).newVenue(x.Runtime, nil)
	if err != nil {
		x.say(doctor.Wrong(check, "correct what is named", "%s", err))
		return
	}
	held, err := at.Holdings(ctx)
	if err != nil {
		what := err.Error()
		if f := fault.Of(err); f != nil {
			what = f.Public()
		}
		x.say(doctor.Wrong(check, "check that the keys are those of this account and network, may read and trade, and allow this machine's address; "+venueFix(err), "%s: %s", at.Name(), what))
		return
	}
	x.say(doctor.Fine(check, "the keys open the %s account at %s; %d assets in it", at.Mode(), at.Name(), len(held)))
	if clock, ok := at.Broker.(broker.Clock); ok {
		if skew, err := clock.Skew(ctx); err == nil && skew.Abs() > time.Second {
			x.say(doctor.Wrong("clock", "synchronize it: orders carry the time, and the venue and the policy refuse those that are off", "this machine's clock differs by %v from that of %s, where orders go", skew.Round(time.Second), at.Name()))
		}
	}
}
