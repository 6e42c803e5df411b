package deploy_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestBounds_OfProposals proposes as many strategies as may wait, as may be proposed within a day, and as are kept.
func TestBounds_OfProposals(t *testing.T) {
	t.Parallel()
	j, v := newJournals(), &venue{bars: walk(300, 3), closed: 120}
	var days atomic.Int64
	p := startWith(t, config(j, v, func() time.Time { return v.now().Add(time.Duration(days.Load()) * 24 * time.Hour) }))
	made := 0
	propose := func() (deploy.Deployment, error) {
		made++
		terms := termsOf(v, 60)
		terms.Program.Script = fmt.Sprintf("%s\n// %d", script, made)
		return p.Propose(t.Context(), "agent", deploy.Deployment{Name: fmt.Sprint("x", made), Terms: terms})
	}
	refused := func(text string) {
		t.Helper()
		_, err := propose()
		if f := fault.Of(err); f == nil || f.Code != "too_many_strategies" || !strings.Contains(f.Message, text) {
			t.Errorf("%d: %v, not %q", made, err, text)
		}
	}
	var waiting []string
	for range deploy.MostRunning {
		d, err := propose()
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, d.ID)
	}
	refused("wait for the owner")
	for _, id := range waiting {
		if _, err := p.Decline(t.Context(), "owner", id); err != nil {
			t.Fatal(err)
		}
	}
	started := 0
	run := func() {
		d, err := propose()
		if err == nil {
			_, err = p.Start(t.Context(), "owner", d.ID, deploy.Shadow, nil)
		}
		if err == nil {
			_, err = p.Stop(t.Context(), "owner", d.ID, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		started++
	}
	for range deploy.MostADay - deploy.MostRunning {
		run()
	}
	refused("within a day")
	for started < deploy.MostKept {
		if started%30 == 10 {
			days.Add(2)
		}
		run()
	}
	days.Add(2)
	refused("are kept")
}

// silent is a desk that does not answer while it is off.
type silent struct {
	deploy.Desk
	off atomic.Bool
}

func (s *silent) Place(ctx context.Context, by principal.Caller, r order.Request) (order.Placed, error) {
	if s.off.Load() {
		return order.Placed{}, fault.New(fault.Unavailable, "unavailable", "the venue does not answer")
	}
	return s.Desk.Place(ctx, by, r)
}

// TestStop_WhileTheVenueIsSilent stops a strategy that holds something. It goes on stopping, also after a restart, until
// the venue answers, and then holds nothing.
func TestStop_WhileTheVenueIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const begun = 120
		a := openAccount(t)
		defer a.stop()
		j, v := newJournals(), &venue{bars: smooth(300), closed: begun}
		a.price(v.bars[begun-1].C)
		time.Sleep(2 * time.Second)
		desk := &silent{Desk: a.Desk}
		cfg := config(j, v, time.Now)
		cfg.Brokers = onPaper(desk)
		p := startWith(t, cfg)
		terms := termsOf(v, 60)
		terms.Symbol = papertest.BTCUSDT().Symbol
		terms.Program.Script = strings.Replace(always, "else\n    strategy.close_all()", "", 1)
		d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms})
		if err == nil {
			d, err = p.Start(t.Context(), "owner", d.ID, deploy.Paper, &deploy.Limits{Cap: decimal.NewFromInt(20_000)})
		}
		if err != nil {
			t.Fatal(err)
		}
		held := func() decimal.Decimal {
			_, has, err := a.DeploymentBook(t.Context(), d.ID, terms.Symbol)
			if err != nil {
				t.Fatal(err)
			}
			return has
		}
		for i := begun; held().IsZero(); i++ {
			b := v.bars[i]
			time.Sleep(time.Until(time.Unix(b.T+300, 0)))
			a.paper.Observe(provider.Event{Sub: provider.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, Kind: provider.Closed, Bar: b, Price: b.C, At: time.Now()}, provider.Clock{})
			a.price(b.C)
			synctest.Wait()
			p.Deliver(deploy.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, v.close(i+1))
			p.settled(t, d.ID, b.T)
			synctest.Wait()
		}
		desk.off.Store(true)
		if d, err = p.Stop(t.Context(), "owner", d.ID, true); err != nil || d.State != deploy.Stopping {
			t.Fatalf("%+v %v", d, err)
		}
		time.Sleep(2 * time.Minute)
		p.kill()
		p = startWith(t, cfg)
		time.Sleep(time.Minute)
		if d, err = p.Get(t.Context(), d.ID); err != nil || d.State != deploy.Stopping || held().IsZero() {
			t.Fatalf("%+v %v", d, err)
		}
		desk.off.Store(false)
		time.Sleep(40 * time.Minute) // the market is closed: its last price is old
		if d, err = p.Get(t.Context(), d.ID); err != nil || d.State != deploy.Stopping || held().IsZero() {
			t.Fatalf("%+v %v", d, err)
		}
		for range 12 * 12 {
			a.price(v.bars[begun].C)
			time.Sleep(5 * time.Second)
		}
		if d, err = p.Get(t.Context(), d.ID); err != nil || d.State != deploy.Stopped || !held().IsZero() {
			t.Errorf("%+v %v: it holds %s", d, err, held())
		}
		p.kill()
	})
}
