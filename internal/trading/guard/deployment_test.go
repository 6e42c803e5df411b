package guard_test

import (
	"strings"
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// started is a deployment that runs.
func started() guard.Deployment {
	return guard.Deployment{ID: "d1", Name: "eth-cross", Symbol: symbol, Budget: dec("7000"), Cap: dec("6500")}
}

// deployed makes the order one of the deployment d1, which holds 0.1 as the scene does, beside 0.2 of others.
func (s *scene) deployed(d guard.Deployment) {
	s.Deployment, s.Key, s.Started, s.OthersHeld = "d1", "k", &d, dec("0.2")
	s.Shares = []order.Share{{Quantity: dec("0.2")}}
	s.Quantity = dec("0.001")
}

// beside lets deployments hold 0.3 beside the 0.1 that clients do.
func (s *scene) beside() {
	s.Shares, s.OthersHeld = []order.Share{{Deployment: "d1", Quantity: dec("0.2")}, {Deployment: "d2", Quantity: dec("0.1")}}, dec("0.3")
	s.Running = []guard.Deployment{started()}
}

// perpetualScene makes the order one in a perpetual future.
func (s *scene) inPerpetual() {
	s.Instrument.Class, s.MaxLeverage, s.Capabilities.Perpetuals = provider.Perpetual, limit("5"), true
}

// deploymentRefusals are orders that the rules about deployments deny.
func deploymentRefusals() map[string]refusal {
	return map[string]refusal{
		"a sale of what deployments hold": {
			"deployment_units", "0.1", "0.25", "quantity 0.25: 0.1 of binance:BTCUSDT can be closed by this order; deployment d1 (eth-cross) holds 0.2 and deployment d2 holds 0.1. Its own orders close that; to close it now, stop the deployment and let it close: candela strategies stop d2 --close. The largest quantity is 0.1.", "quantity", "0.1",
			func(s *scene) { s.beside(); s.sell("0.25"); s.AllowShort = true },
		},
		"a sale that only reduces, with nothing of one's own": {
			"deployment_units", "0", "0.05", "deployment d1 (eth-cross) holds 0.2", "quantity", "",
			func(s *scene) { s.beside(); s.sell("0.05"); s.ReduceOnly, s.Held = true, dec("0") },
		},
		"a sale beside an open one": {
			"deployment_units", "0.04", "0.05", "can be closed by this order", "quantity", "0.04",
			func(s *scene) { s.beside(); s.sell("0.05"); s.OpenSell = dec("0.06") },
		},
		"a sale by a deployment of what it does not hold": {
			"deployment_units", "0.1", "0.2", "0.2 was traded by hand or by clients.", "quantity", "0.1",
			func(s *scene) { s.deployed(started()); s.sell("0.2") },
		},
		"a purchase by hand in the perpetual future of a deployment": {
			"deployment_perpetual", "a symbol without another deployment", "binance:BTCUSDT", "deployment d1 (eth-cross) trades in it", "symbol", "",
			func(s *scene) { s.inPerpetual(); s.Running = []guard.Deployment{started()} },
		},
		"a purchase by hand in a perpetual future that a deployment left": {
			"deployment_perpetual", "a symbol without another deployment", "binance:BTCUSDT", "deployment d9 holds 1", "symbol", "",
			func(s *scene) { s.inPerpetual(); s.Shares = []order.Share{{Deployment: "d9", Quantity: dec("1")}} },
		},
		"a second deployment in a perpetual future": {
			"deployment_perpetual", "a symbol without another deployment", "binance:BTCUSDT", "deployment d2 trades in it", "symbol", "",
			func(s *scene) {
				s.deployed(started())
				s.inPerpetual()
				s.Shares, s.Running = nil, []guard.Deployment{{ID: "d2"}}
			},
		},
		"a deployment in a perpetual future that is held by hand": {
			"deployment_perpetual", "a symbol without another deployment", "binance:BTCUSDT", "traded by hand", "symbol", "",
			func(s *scene) { s.deployed(started()); s.inPerpetual() },
		},
		"an entry of a deployment that nobody started": {
			"deployment_state", "orders that only reduce its book", "has ended or is not known", "deployment d1 has ended or is not known, so its orders may only reduce its book; 0.1 of binance:BTCUSDT is held.", "", "",
			func(s *scene) { s.deployed(started()); s.Started = nil },
		},
		"an entry of a deployment that is paused": {
			"deployment_state", "orders that only reduce its book", "is paused (max_loss)", "candela strategies resume d1", "", "",
			func(s *scene) { d := started(); d.Paused = "max_loss"; s.deployed(d) },
		},
		"an entry of a deployment in another symbol": {
			"deployment_state", "orders that only reduce its book", "trades binance:ETHUSDT only", "", "", "",
			func(s *scene) {
				d := started()
				d.Symbol = market.Symbol{Venue: "binance", Name: "ETHUSDT"}
				s.deployed(d)
			},
		},
		"an entry above the cap of a deployment": {
			"deployment_budget", "6500", "6600", "The book of deployment d1 (eth-cross) could reach 0.11 of binance:BTCUSDT, worth 6600; its limit is 6500", "quantity", "",
			func(s *scene) { s.deployed(started()); s.Quantity = dec("0.01") },
		},
		"an entry above the budget with what is open": {
			"deployment_budget", "6100", "6120", "could reach 0.102", "quantity", "",
			func(s *scene) {
				d := started()
				d.Budget = dec("6100")
				s.deployed(d)
				s.OpenBuy = dec("0.001")
			},
		},
	}
}

// TestDeployments_LetPass holds what the rules about deployments do not deny.
func TestDeployments_LetPass(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"a sale of what is one's own":               func(s *scene) { s.beside(); s.sell("0.1") },
		"a purchase beside deployments":             func(s *scene) { s.beside() },
		"a sale of one's own in a perpetual future": func(s *scene) { s.beside(); s.inPerpetual(); s.sell("0.1"); s.ReduceOnly = true },
		"an entry of a deployment":                  func(s *scene) { s.deployed(started()) },
		"an exit of a deployment that is unknown":   func(s *scene) { s.deployed(started()); s.Started = nil; s.sell("0.1"); s.ReduceOnly = true },
		"an exit of one that is paused, larger than its budget": func(s *scene) {
			d := started()
			d.Paused, d.Budget = "slow", dec("1")
			s.deployed(d)
			s.sell("0.05")
		},
		"an order of a deployment that equals a recent one": func(s *scene) {
			s.deployed(started())
			s.Key = ""
			s.recent(1, time.Second)
			s.Recent[0].Quantity = s.Quantity
		},
		"an order of a client that equals one of a deployment": func(s *scene) {
			s.recent(1, time.Second)
			s.Recent[0].Quantity, s.Recent[0].Deployment = s.Quantity, "d1"
		},
	} {
		s := passing()
		change(s)
		if d := s.check(); d != nil {
			t.Errorf("%s: denied by %s: %s", name, d.Rule, d.Text)
		}
	}
}

// TestDeployments_NeedNoApproval holds that the orders of a deployment do not wait for the owner, and that the limits of
// the whole account count with all that is held.
func TestDeployments_NeedNoApproval(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Approval.Above, s.Approval.Expires = limit("10"), time.Hour
	if !guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
		t.Error("an order of a client needs no approval")
	}
	s.deployed(started())
	if guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
		t.Error("an order of a deployment needs approval")
	}
	s.MaxSymbolExposure = limit("18050") // 0.301 at 60000 is more
	if d := s.check(); d == nil || d.Rule != "max_symbol_exposure" || !strings.Contains(d.Text, "0.301") {
		t.Errorf("the whole exposure: %+v", d)
	}
}
