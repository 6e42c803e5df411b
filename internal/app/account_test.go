package app

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/store/ledger"
)

// TestAccounts_AreApart holds that no two places where orders can go share books.
func TestAccounts_AreApart(t *testing.T) {
	t.Parallel()
	all := accounts()
	if len(all) != 6 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("the accounts are %q", all)
	}
	at := func(broker, network string, live bool) string {
		return accountOf(config.Trading{Broker: broker, Live: live, Binance: config.BinanceAccount{Network: network}})
	}
	for _, account := range []string{
		at("paper", "testnet", false), at("binance", "testnet", false), at("binance", "demo", false), at("binance", "live", true),
		at("alpaca", "testnet", false), at("alpaca", "live", true),
	} {
		i := slices.Index(all, account)
		if i < 0 {
			t.Fatalf("%q is not listed, or is another's", account)
		}
		all = slices.Delete(all, i, i+1)
	}
}

// TestHalt_EveryAccountThatDoesNotRun has a halt without a program hold wherever
// the next one trades.
func TestHalt_EveryAccountThatDoesNotRun(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	for _, halts := range []bool{true, false} {
		var err error
		if halts {
			_, err = Halt(t.Context(), home, "noise")
		} else {
			_, err = Resume(t.Context(), home)
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(t.Context(), home, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		for _, account := range accounts() {
			state, err := l.State(t.Context(), account, "guard")
			if err != nil || bytes.Contains(state, []byte("owner_halt")) != halts {
				t.Errorf("%s, halted %v: %s %v", account, halts, state, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
