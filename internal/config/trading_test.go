package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoad_Locks holds every lock before trading with money shut, one at a time.
// The list of symbols is the last one; package app holds it.
func TestLoad_Locks(t *testing.T) {
	t.Parallel()
	const trade, live, binance, alpaca = "--trade", "--live", "--broker=binance", "--broker=alpaca"
	keys := []string{"CANDELA_BINANCE_API_KEY=hunter2", "CANDELA_BINANCE_API_SECRET=hunter2"}
	stocks := []string{"CANDELA_ALPACA_KEY_ID=hunter2", "CANDELA_ALPACA_SECRET_KEY=hunter2"}
	cases := starts{
		"paper needs nothing":              {args: []string{trade}},
		"binance, all locks open":          {args: []string{trade, live, binance}, env: keys},
		"alpaca, all locks open":           {args: []string{trade, live, alpaca}, env: stocks},
		"everyone let in to the money":     {args: []string{"--serve", trade, live, binance, "--oauth-auto-approve"}, env: keys, want: "use one or the other"},
		"live without a broker":            {args: []string{trade, live}, env: keys, want: "--live (--live) needs --broker binance"},
		"live with the paper broker":       {args: []string{trade, live, "--broker=paper"}, env: keys, want: "needs --broker binance"},
		"live without keys":                {args: []string{trade, live, binance}, want: "needs the keys of an account: set CANDELA_BINANCE_API_KEY"},
		"live with the keys of another":    {args: []string{trade, live, alpaca}, env: keys, want: "needs the keys of an account: set CANDELA_ALPACA_KEY_ID"},
		"the live exchange without live":   {args: []string{trade, binance, "--binance-network=live"}, env: keys, want: "needs --live: it trades with real money"},
		"live on the testnet":              {args: []string{trade, live, binance, "--binance-network=testnet"}, env: keys, want: "exclude each other"},
		"live by a word":                   {args: []string{trade, binance, "--live=yes"}, env: keys, want: `--live: invalid value "yes"; use true, false, 1, 0`},
		"live by a capital word":           {args: []string{trade, binance}, env: append([]string{"CANDELA_LIVE=True"}, keys...), want: `CANDELA_LIVE: invalid value "True"`},
		"live by a number":                 {args: []string{trade, binance}, file: "live = 2", env: keys, want: "live"},
		"live without trading":             {args: []string{"--serve", live}, want: "--live has no effect without --trade"},
		"a broker without trading":         {args: []string{"--mcp", binance}, env: keys, want: "--broker has no effect without --trade"},
		"a broker that does not exist":     {args: []string{trade, "--broker=binanse"}, want: `did you mean "binance"?`},
		"the testnet without keys":         {args: []string{trade, binance}, want: "needs the keys of an account"},
		"half a key":                       {args: []string{trade, binance}, env: keys[:1], want: "belong together"},
		"two keys":                         {args: []string{trade, binance, "--binance-key-file=x"}, env: keys, want: "remove one"},
		"a key as a flag":                  {args: []string{trade, binance, "--binance-api-secret=hunter2"}, env: keys, want: "--binance-api-secret is no flag"},
		"a key in the file":                {args: []string{trade, binance}, file: `binance_api_key = "hunter2"`, env: keys, want: "cannot stand in the file"},
		"its setting without trading":      {args: []string{"--serve", "--paper-size=2"}, want: "--paper-size has no effect without --trade"},
		"another policy without trading":   {args: []string{"--serve", "--policy=x"}, want: "--policy has no effect without --trade"},
		"other days are no problem":        {args: []string{"--serve"}, env: []string{"CANDELA_LIVE=1", "CANDELA_BROKER=binance"}},
		"the keys of a venue for its bars": {args: []string{trade}, env: keys},
	}
	cases.check(t)
}

func TestLoad_TradingDefaults(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cfg, err := Load(Input{Parts: parts(), Args: []string{"--trade", "--home", home}})
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Trading
	if got.Broker != "paper" || got.Live || got.Policy != filepath.Join(home, "policy.toml") || got.Network != "" || cfg.Values.Text("binance-network") != "testnet" {
		t.Errorf("%+v", got)
	}
	cfg, err = Load(Input{Parts: parts(), Args: []string{"--trade", "--live", "--broker=binance", "--home", home}, Environ: []string{"CANDELA_BINANCE_API_KEY=k", "CANDELA_BINANCE_API_SECRET=s"}})
	if err != nil || cfg.Trading.Network != "live" {
		t.Errorf("%+v %v", cfg, err)
	}
}

func TestLoad_BinanceKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pem := "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"
	for name, tc := range map[string]struct {
		text, secret string
		mode         os.FileMode
		want         string
	}{
		"two lines":          {"key\nhunter2\n", "hunter2", 0o600, ""},
		"a private key":      {"key\r\n" + pem + "\n", pem, 0o600, ""},
		"one line":           {"hunter2", "", 0o600, "does not hold the key"},
		"a blank first line": {"\nhunter2\n", "", 0o600, "does not hold the key"},
		"others may read it": {"key\nhunter2\n", "", 0o644, "chmod 600"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		cfg, err := Load(Input{Parts: parts(), Args: []string{"--trade", "--broker=binance", "--home", dir, "--binance-key-file", path}})
		if tc.want == "" {
			if err != nil || cfg.Values.Secret("binance-api-key").Reveal() != "key" || cfg.Values.Secret("binance-api-secret").Reveal() != tc.secret {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
