package app

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
)

// TestAccounts_KeepTheirNames holds the stored names: under another name an account's
// orders and positions would be lost.
func TestAccounts_KeepTheirNames(t *testing.T) {
	t.Parallel()
	want := []string{"owner", "owner/binance-testnet", "owner/binance-demo", "owner/binance-live", "owner/alpaca-paper", "owner/alpaca-live"}
	if got := accountNames(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, args := range [][]string{
		{"--broker=paper"}, {"--broker=binance"}, {"--broker=binance", "--binance-network=demo"}, {"--broker=binance", "--live"}, {"--broker=alpaca"}, {"--broker=alpaca", "--live"},
	} {
		cfg, err := LoadConfig(config.Input{
			Args:    append([]string{"--mcp", "--trade", "--home", t.TempDir()}, args...),
			Environ: []string{"CANDELA_BINANCE_API_KEY=k", "CANDELA_BINANCE_API_SECRET=s", "CANDELA_ALPACA_KEY_ID=k", "CANDELA_ALPACA_SECRET_KEY=s"},
		})
		if err != nil {
			t.Fatal(err)
		}
		rt := Runtime{Config: cfg, Deps: Deps{Services: Wired()}}
		if got := rt.account(); got != want[i] {
			t.Errorf("%s: account %s, want %s", args, got, want[i])
		}
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
			_, err = Commands(&config.Config{Home: home}, io.Discard).Halt(t.Context(), "noise")
		} else {
			_, err = Commands(&config.Config{Home: home}, io.Discard).Resume(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(t.Context(), home, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		for _, account := range accountNames() {
			state, err := l.State(t.Context(), principal.Owner(account), "guard")
			if err != nil || bytes.Contains(state, []byte("owner_halt")) != halts {
				t.Errorf("%s, halted %v: %s %v", account, halts, state, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
