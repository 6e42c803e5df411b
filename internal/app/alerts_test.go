package app

import (
	"io"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/config"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/operate/commands"
	"candela/internal/operate/control"
	"candela/internal/store/ledger"
	"candela/lib/fault"
	"candela/lib/market"
)

// The commands about alerts work on the store where no program runs. One record that cannot be read
// hides no other and can be cancelled.
func TestAlertCommands_WorkWithoutAProgram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cfg := &config.Config{Home: home}
	if _, err := Commands(cfg, io.Discard).ListAlerts(t.Context(), ""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("without a store: %v", err)
	}
	kept, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	by := principal.Caller{Subject: accountOwner}
	set := func(c alert.Condition, interval market.Interval) alert.Alert {
		a := alert.Alert{
			ID: id.New(time.Now()), Owner: accountOwner, Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
			Interval: interval, Condition: c, Created: time.Now().Truncate(time.Millisecond).UTC(),
		}
		if err := kept.PutAlert(t.Context(), by, a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	good := set(alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(7)}, 0)
	gone := set(alert.Condition{Type: alert.IndicatorSignal, Indicator: "mine@0123456789ab", Signal: "never"}, market.Hour1)
	bomb := set(alert.Condition{Type: alert.IndicatorSignal, Indicator: "rsi", Signal: "rsi_oversold_enter"}, market.Hour1)
	aside := bomb
	aside.Idle = &alert.Idle{State: alert.SetAside, Reason: "candela ended", At: time.Now()}
	if _, err := kept.ReportAlerts(t.Context(), []alert.Firing{alert.Report(aside, time.Now())}); err != nil {
		t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	want := func(states map[string]string) {
		t.Helper()
		all, err := Commands(cfg, io.Discard).ListAlerts(t.Context(), "")
		if err != nil || len(all) != len(states) {
			t.Fatalf("listed %+v, %v", all, err)
		}
		for _, a := range all {
			if a.State != states[a.ID] || (a.Reason == "") != (a.State == control.AlertWaiting) {
				t.Errorf("%+v is not %s", a, states[a.ID])
			}
		}
	}
	want(map[string]string{good.ID: control.AlertWaiting, gone.ID: alert.Broken, bomb.ID: alert.SetAside})
	s, err := Commands(&config.Config{Home: home}, io.Discard).ReadStatus(t.Context())
	if err != nil || s.Alerts != 3 || s.Broken != 1 || s.SetAside != 1 {
		t.Errorf("status %+v, %v", s, err)
	}
	if s, err = countStored(t.Context(), cfg); err != nil || s.Alerts != 3 || s.Broken != 1 || s.SetAside != 1 {
		t.Errorf("the doctor counts %+v %v", s, err)
	}
	if _, err := Commands(cfg, io.Discard).ResumeAlert(t.Context(), "", bomb.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := Commands(cfg, io.Discard).ResumeAlert(t.Context(), "", good.ID); fault.Of(err) == nil || fault.Of(err).Code != "alert_not_set_aside" {
		t.Errorf("an alert that is not set aside: %v", err)
	}
	if _, err := Commands(cfg, io.Discard).CancelAlert(t.Context(), "", gone.ID); err != nil {
		t.Fatal(err)
	}
	want(map[string]string{good.ID: control.AlertWaiting, bomb.ID: control.AlertWaiting})
	for _, owner := range []principal.Owner{"someone", ""} {
		many := commands.OwnerAlerts{ManyOwners: owner == ""}
		if _, err := many.List(t.Context(), owner); err == nil {
			t.Errorf("owner %q, many %v: no error", owner, many.ManyOwners)
		}
	}
}
