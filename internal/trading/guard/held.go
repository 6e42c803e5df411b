package guard

import "candela/internal/trading/order"

// Holds reports whether candela holds the stop and target of an order itself: the policy
// allows it, the venue cannot hold them, and nothing else is in the way.
func Holds(p Policy, in Intent, f Facts) bool {
	waits := in.ReduceOnly && in.StopPrice.IsPositive()
	if p.HeldStops != HeldAllow || planOf(in.Spec).IsZero() && !waits {
		return false
	}
	if t := in.TimeInForce; in.Role != order.Entry && t != 0 && t != order.GTC {
		return false // candela ends no order with a session
	}
	native := checkTaken(newCheck(p, State{}, in, f))
	f.Capabilities = f.Capabilities.Held()
	return native != nil && checkTaken(newCheck(p, State{}, in, f)) == nil
}

// checkTaken returns why the venue does not take the order with its legs.
func checkTaken(q *orderCheck) *Denial {
	for _, check := range []func(*orderCheck) *Denial{checkNative, checkTrail, checkWholeLegs, checkFlatEntry} {
		if d := check(q); d != nil {
			return d
		}
	}
	return nil
}

// heldRequired denies an entry whose stop only candela would hold.
func (q *orderCheck) heldRequired(p plan) *Denial {
	stop := argument{"stop_loss", p.StopLoss}
	if p.TrailPercent.IsPositive() {
		stop = argument{"trail_percent", p.TrailPercent}
	}
	return deny(stop.name, stop.value.String(), "a stop that "+q.venue()+" holds",
		"%s %v: %s cannot hold this stop in %v, candela would, and the policy requires one at the venue (require_stop = %q). Ask the owner to set require_stop = \"none\" for %s, or trade a symbol whose stops %s holds.",
		stop.name, stop.value, q.venue(), q.Symbol, string(q.limits.RequireStop), q.Symbol.Name, q.venue())
}
