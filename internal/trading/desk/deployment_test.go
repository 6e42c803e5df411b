package desk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// runs lets the desk know the deployment d1.
func (p *onPaper) runs(change ...func(*guard.Deployment)) {
	p.t.Helper()
	d := guard.Deployment{ID: "d1", Name: "btc-cross", Symbol: papertest.BTCUSDT().Symbol, Budget: dec("50000"), Cap: dec("40000")}
	for _, c := range change {
		c(&d)
	}
	if err := p.SetDeployments(p.t.Context(), []guard.Deployment{d}); err != nil {
		p.t.Fatal(err)
	}
}

// strategy is the deployment as a caller.
func strategy() principal.Caller { return desk.DeploymentCaller(owner, "d1", "btc-cross") }

// byStrategy places an order of the deployment.
func (p *onPaper) byStrategy(r order.Request, key string) order.Placed {
	p.t.Helper()
	r.Deployment, r.Key = "d1", key
	placed, err := p.Place(p.t.Context(), strategy(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return placed
}

// denied holds that an order of a caller is denied by a rule, with a text.
func (p *onPaper) denied(by principal.Caller, r order.Request, rule, text string) {
	p.t.Helper()
	_, err := p.Place(p.t.Context(), by, r)
	if f := fault.Of(err); f == nil || !strings.Contains(f.Message, rule+": ") || !strings.Contains(f.Message, text) {
		p.t.Errorf("%v, want %s with %q", err, rule, text)
	}
}

// TestDeployment_KeepsItsUnits holds that nobody sells what a deployment holds, that it sells nothing else, and that
// its stops stay, over a restart too.
func TestDeployment_KeepsItsUnits(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		p.runs()
		entry := p.byStrategy(bracket(buy("0.5")), "s1-a")
		p.wants(p.place(buy("0.2")), order.Filled)
		time.Sleep(2 * time.Second)
		for range 2 {
			for _, reduce := range []bool{true, false} {
				r := sell("0.5")
				r.ReduceOnly = reduce
				p.denied(caller(), r, "deployment_units", "deployment d1")
			}
			stop := sell("0.5")
			stop.Protect.StopLoss = dec("45000")
			p.denied(caller(), stop, "deployment_units", "holds 0.5")
			more := sell("0.6")
			more.Deployment, more.Key = "d1", "s1-more "+time.Now().String()
			p.denied(strategy(), more, "deployment_units", "0.2 was traded by hand or by clients")
			p.stops("0.5")
			p.stop()
			p.open()
			time.Sleep(2 * time.Second)
		}
		own := sell("0.2")
		own.Protect.StopLoss = dec("45000")
		if placed := p.placed(own); len(placed.Plan) != 2 || placed.Plan[0].Deployment != "d1" || placed.Plan[1].Deployment != "" {
			p.t.Errorf("the plan is %+v", placed.Plan)
		}
		p.wants(p.place(sell("0.2")), order.Filled)
		p.stops("0.5")
		p.wants(p.byStrategy(sell("0.3"), "s1-b").Order, order.Filled) // nobody has set the deployment since the restart
		time.Sleep(2 * time.Second)
		p.stops("0.2")
		book, has, err := p.DeploymentBook(p.t.Context(), "d1", papertest.BTCUSDT().Symbol)
		if err != nil || !has.Equal(dec("0.2")) || len(book.Trades) != 1 || !book.Position(papertest.BTCUSDT().Symbol).Quantity.Equal(has) {
			p.t.Errorf("the book is %+v, %v", book, err)
		}
		for _, o := range p.exits(entry.ID) {
			if o.Deployment != "d1" {
				p.t.Errorf("an order that protects the book is %+v", o)
			}
		}
		p.feed("47000", 10)
		time.Sleep(2 * time.Second)
		if book, has, err = p.DeploymentBook(p.t.Context(), "d1", papertest.BTCUSDT().Symbol); err != nil || !has.IsZero() || len(book.Trades) != 2 || book.Trades[0].Reason != order.ByStop {
			p.t.Errorf("after its stop the book is %+v, %v", book, err)
		}
	})
}

// TestDeployment_OfOthers holds that a client neither speaks for a deployment, nor uses its keys, nor changes its orders, and
// that the owner can end them.
func TestDeployment_OfOthers(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		p.runs()
		entry := p.byStrategy(bracket(limit("0.5", "49000")), "s1-a")
		code := func(err error, want string) {
			p.t.Helper()
			if f := fault.Of(err); f == nil || f.Code != want {
				p.t.Errorf("%v, want %s", err, want)
			}
		}
		asD1 := buy("0.1")
		asD1.Deployment, asD1.Key = "d1", "s1-x"
		_, err := p.Place(p.t.Context(), caller(), asD1)
		code(err, "not_your_deployment")
		asD1.Key = ""
		_, err = p.Place(p.t.Context(), strategy(), asD1)
		code(err, "not_your_deployment")
		key := buy("0.1")
		key.Key = "s1-0123456789abcdef0123456789abcdef01234567"
		_, err = p.Place(p.t.Context(), caller(), key)
		code(err, "invalid_argument")
		same := bracket(limit("0.5", "49000"))
		same.Key = "s1-a"
		_, err = p.Place(p.t.Context(), caller(), same)
		code(err, "idempotency_key_used")
		for _, id := range []string{entry.ID, entry.Legs[0].ID} {
			_, err = p.Cancel(p.t.Context(), caller(), id)
			code(err, "deployment_order")
			r := limit("0.4", "48500")
			r.Replaces = id
			_, err = p.Place(p.t.Context(), caller(), r)
			if id == entry.ID {
				code(err, "deployment_order")
			}
		}
		if again := p.byStrategy(bracket(limit("0.5", "49000")), "s1-a"); again.ID != entry.ID {
			p.t.Errorf("a repeat is %+v", again)
		}
		if o, err := p.Cancel(p.t.Context(), principal.Caller{Subject: owner, Key: principal.ConsoleKey}, entry.ID); err != nil || o.Status != order.Canceled {
			p.t.Errorf("the owner's cancel: %v, %v", o.Status, err)
		}
		other := p.byStrategy(limit("0.1", "49000"), "s1-b")
		if o, err := p.Cancel(p.t.Context(), strategy(), other.ID); err != nil || o.Status != order.Canceled {
			p.t.Errorf("its own cancel: %v, %v", o.Status, err)
		}
	})
}

// TestDeployment_Limits holds that what the desk is given of a deployment bounds its entries, that they do not wait for
// the owner, and that a released book belongs to nobody.
func TestDeployment_Limits(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		p.policy.Approval.Above, p.policy.Approval.Expires = guard.Limit{Value: dec("100")}, time.Hour
		if err := p.SetPolicy(p.t.Context(), p.policy); err != nil {
			p.t.Fatal(err)
		}
		entry := func(quantity, key string) order.Request {
			r := buy(quantity)
			r.Deployment, r.Key = "d1", key
			return r
		}
		p.denied(strategy(), entry("0.1", "s1-a"), "deployment_state", "not known")
		p.runs(func(d *guard.Deployment) { d.Paused = "max_loss" })
		p.denied(strategy(), entry("0.1", "s1-b"), "deployment_state", "max_loss")
		p.runs()
		p.wants(p.byStrategy(bracket(buy("0.5")), "s1-c").Order, order.Filled)
		p.denied(strategy(), entry("0.4", "s1-d"), "deployment_budget", "worth 45000")
		if err := p.SetDeployments(p.t.Context(), nil); err != nil {
			p.t.Fatal(err)
		}
		if err := p.ReleaseDeployment(p.t.Context(), principal.Caller{Subject: owner}, "d1"); err != nil {
			p.t.Fatal(err)
		}
		p.stop()
		p.open()
		time.Sleep(2 * time.Second)
		p.stops("0.5")
		p.wants(p.place(sell("0.5")), order.Filled)
		p.level(guard.Active)
	})
}

// TestDeployment_Assigned holds that units pass between a book and what no deployment holds, and no more than there are.
func TestDeployment_Assigned(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		p.runs()
		p.byStrategy(buy("0.3"), "s1-a")
		p.placed(buy("0.2"))
		by, s := principal.Caller{Subject: owner}, papertest.BTCUSDT().Symbol
		for quantity, want := range map[string]string{"0.3": "0.2", "-0.4": "-0.3"} {
			if err := p.AssignUnits(p.t.Context(), by, "d1", s, dec(quantity), dec("50000")); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
				p.t.Errorf("%s: %v", quantity, err)
			}
		}
		for _, quantity := range []string{"0.2", "-0.4"} {
			if err := p.AssignUnits(p.t.Context(), by, "d1", s, dec(quantity), dec("50000")); err != nil {
				p.t.Fatal(err)
			}
		}
		p.stop()
		p.open()
		time.Sleep(2 * time.Second)
		book, has, err := p.DeploymentBook(p.t.Context(), "d1", s)
		if err != nil || !has.Equal(dec("0.1")) || !book.Position(s).Quantity.Equal(has) || len(book.Trades) != 1 {
			p.t.Errorf("the book is %+v, %v", book, err)
		}
		p.wants(p.place(sell("0.4")), order.Filled)
	})
}

// TestDeployment_LeavesOthersAlone holds that the book of an account without deployments is what it was: the same orders of a
// client with a deployment beside it have the same lines, fills and results.
func TestDeployment_LeavesOthersAlone(t *testing.T) {
	t.Parallel()
	var plans [2][]order.Line
	for i, beside := range []bool{false, true} {
		inPaper(t, func(p *onPaper) {
			if p.runs(); beside {
				p.byStrategy(bracket(buy("0.3")), "s1-a")
			}
			p.placed(bracket(buy("0.5")))
			p.placed(buy("0.2"))
			time.Sleep(2 * time.Second)
			p.placed(sell("0.3"))
			time.Sleep(2 * time.Second)
			lines := p.store.Book(owner).Lines(papertest.BTCUSDT().Symbol)
			lines = slices.DeleteFunc(lines, func(l order.Line) bool { return l.Deployment != "" })
			for j := range lines {
				lines[j].ID, lines[j].By = "", ""
			}
			plans[i] = lines
		})
	}
	if diff := cmp.Diff(plans[0], plans[1]); diff != "" || len(plans[0]) != 1 {
		t.Errorf("%+v: %s", plans[0], diff)
	}
}

// TestDeployment_InAPerpetual holds that nobody trades beside a deployment in a perpetual future, and that a liquidation ends its
// book with its funding and its loss.
func TestDeployment_InAPerpetual(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		p.runs(func(d *guard.Deployment) { d.Symbol = perpetual().Symbol })
		p.denied(caller(), short("0.1"), "deployment_perpetual", "btc-cross")
		p.wants(p.byStrategy(short("0.5"), "s1-a").Order, order.Filled)
		p.denied(caller(), cover("0.1"), "deployment_units", "btc-cross")
		p.denied(caller(), short("0.1"), "deployment_perpetual", "btc-cross")
		if err := p.SetDeployments(p.t.Context(), nil); err != nil {
			p.t.Fatal(err)
		}
		p.denied(caller(), short("0.1"), "deployment_perpetual", "d1")
		p.wants(p.byStrategy(cover("0.1"), "s1-b").Order, order.Filled)
		p.bar(50000, 61000, 50000, 60900)
		time.Sleep(time.Minute)
		book, has, err := p.DeploymentBook(p.t.Context(), "d1", perpetual().Symbol)
		account := p.store.Book(owner).Position(perpetual().Symbol)
		if err != nil || !has.IsZero() || len(book.Trades) != 2 || book.Trades[0].Reason != order.ByLiquidation {
			p.t.Fatalf("the book is %+v, %v", book, err)
		}
		if own := book.Position(perpetual().Symbol); !own.Realised.Equal(account.Realised) || !own.Quantity.Equal(account.Quantity) || !own.Fees["USDT"].Equal(account.Fees["USDT"]) {
			p.t.Errorf("the book is %+v, the account %+v", own, account)
		}
	})
}

// TestDeployment_ClosedByTheVenue holds that what a venue closes by itself while candela is down leaves the book, and that a repeat of
// an intent under its key is not sent twice.
func TestDeployment_ClosedByTheVenue(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		d := guard.Deployment{ID: "d1", Symbol: brokertest.MemorySymbol(), Budget: dec("1000000"), Cap: dec("1000000")}
		if err := w.SetDeployments(w.t.Context(), []guard.Deployment{d}); err != nil {
			w.t.Fatal(err)
		}
		r := buy("0.5")
		r.Deployment, r.Key = "d1", "s1-a"
		first, err := w.Place(w.t.Context(), strategy(), r)
		if err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.stop()
		w.venue.Force(dec("0.2"), order.ByADL)
		w.start()
		time.Sleep(time.Minute)
		again, err := w.Place(w.t.Context(), strategy(), r)
		if err != nil || again.ID != first.ID || w.taken(first.ID) != 1 {
			w.t.Errorf("the repeat is %+v, %v", again, err)
		}
		book, has, err := w.DeploymentBook(w.t.Context(), "d1", brokertest.MemorySymbol())
		if err != nil || !has.Equal(dec("0.3")) || len(book.Trades) != 1 || book.Trades[0].Reason != order.ByADL {
			w.t.Errorf("the book is %+v, %v", book, err)
		}
	})
}
