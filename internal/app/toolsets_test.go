package app

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	fakebinance "candela/internal/testkit/fake/binance"
	fakeyahoo "candela/internal/testkit/fake/yahoo"
	"candela/internal/testkit/porttest"
	"candela/lib/chart"
	"candela/lib/market"
)

// listed returns the names of the tools in an answer to tools/list.
func listed(t *testing.T, answer string) []string {
	t.Helper()
	var list struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatalf("%v: %.200s", err, answer)
	}
	var names []string
	for _, each := range list.Result.Tools {
		names = append(names, each.Name)
	}
	return names
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// overStdio returns the answers of the program to lines on its input.
func overStdio(t *testing.T, lines string, flags ...string) []string {
	t.Helper()
	return overStdioIn(t, filepath.Join(t.TempDir(), "home"), lines, flags...)
}

// overStdioIn is overStdio with a state directory.
func overStdioIn(t *testing.T, home, lines string, flags ...string) []string {
	t.Helper()
	cfg := configure(t, append([]string{"--mcp", "--home", home, "--yahoo=false"}, flags...)...)
	in, feed := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Run(context.WithoutCancel(t.Context()), cfg, Deps{Version: "test", Stdin: in, Stdout: answers, Stderr: io.Discard, Services: Wired()})
		_, _ = in.CloseWithError(cmp.Or(err, io.EOF)), answers.Close()
		done <- err
	}()
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 1<<20)
	var all []string
	for line := range strings.Lines(lines) {
		if _, err := fmt.Fprintln(feed, strings.TrimSpace(line)); err != nil || !scan.Scan() {
			t.Fatal(err, scan.Err())
		}
		all = append(all, scan.Text())
	}
	_ = feed.Close()
	for scan.Scan() {
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return all
}

// overHTTP returns the answer of the server to GET / and to a message.
func overHTTP(t *testing.T, message string, flags ...string) (root, answer string) {
	t.Helper()
	port := porttest.Free(t)
	cfg, err := LoadConfig(config.Input{Args: append([]string{"--serve", "--port", port, "--home", filepath.Join(t.TempDir(), "home"), "--shutdown-timeout", "5m"}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	services := Wired()
	services.Serve = ServeMCP(func(Runtime) (httpd.Authorizer, error) { return httpdtest.One(), nil })
	stop := runUntil(t, cfg, services)
	url := "http://127.0.0.1:" + port
	_, root = ask(t, http.MethodGet, url+"/", "", "")
	status, answer := askRaw(t, url+"/mcp", message)
	if status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
	stop()
	return root, answer
}

func askRaw(t *testing.T, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer good")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestToolsets_OverEachTransport holds that the tools are exactly fifteen without the
// flag, and that every number of tools follows from the registry.
func TestToolsets_OverEachTransport(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"", tool.MarketSet, tool.AccountSet, tool.ResearchSet, tool.AllSets} {
		var extra []string
		for _, set := range tooltest.Sets() {
			if set != tool.StrategiesSet && (flag == set || flag == tool.AllSets) { // no strategy runs here
				extra = append(extra, tooltest.InSet(set)...)
			}
		}
		slices.Sort(extra)
		t.Run("toolsets "+flag, func(t *testing.T) {
			t.Parallel()
			var flags []string
			if flag != "" {
				flags = []string{"--toolsets", flag}
			}
			line := overStdio(t, listTools, flags...)[0]
			std := listed(t, line)
			if most, ok := map[string]int{"": 13_130, tool.AllSets: 27_400}[flag]; ok && len(line) > most { // every client has it in every conversation
				t.Errorf("the list has %d bytes, more than %d", len(line), most)
			}
			modernLine := overStdio(t, modern("1", "tools/list", ""), flags...)[0]
			if newer := listed(t, modernLine); !slices.Equal(newer, std) || flag == "" && len(modernLine)+len("\n") > 13_400 {
				t.Errorf("the newer list has %d bytes and the tools %v", len(modernLine), newer)
			}
			windowed := listed(t, overStdio(t, listTools, append([]string{"--trade"}, flags...)...)[0])
			root, answer := overHTTP(t, listTools, flags...)
			web := listed(t, answer)
			if len(std) != 15+len(extra) || !slices.Equal(slices.Sorted(slices.Values(std[15:])), extra) || !slices.Equal(std, web) || !slices.Equal(std, windowed) {
				t.Errorf("stdio %d %v, http %d, trading %d", len(std), std, len(web), len(windowed))
			}
			if want := fmt.Sprintf(`"tools":%d,`, len(std)); !strings.Contains(root, want) {
				t.Errorf("no %s in %s", want, root)
			}
		})
	}
}

func TestInstructions_NameTheSetsThatAreOff(t *testing.T) {
	t.Parallel()
	for _, trade := range []bool{false, true} {
		none, one, all := instructions(trade, nil), instructions(trade, []string{"market"}), instructions(trade, []string{"market", "account", "scripts", "research", "drawings"})
		if !strings.Contains(none, "--toolsets market,account,scripts,research,drawings") || !strings.Contains(one, "--toolsets account,scripts,research,drawings") || strings.Contains(all, "--toolsets") {
			t.Errorf("%s\n%s\n%s", none, one, all)
		}
		if len(none) > 700 || !strings.HasPrefix(none, "Call list_indicators with brief first (3 KB), then group or name.") {
			t.Errorf("%d bytes: %s", len(none), none)
		}
	}
}

// wired returns the tools as the program has them, over fakes of two venues.
func wired(t *testing.T) (*bars, *tool.Registry) {
	t.Helper()
	pairs := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(pairs.Close)
	stocks := httptest.NewServer(fakeyahoo.New(fakeyahoo.Config{Now: time.Now, Seed: 7}))
	t.Cleanup(stocks.Close)
	rt := Runtime{Config: configure(t, "--mcp", "--home", t.TempDir(), "--binance-url="+pairs.URL, "--yahoo-url="+stocks.URL), Log: quiet()}
	rt.Venues = Venues()
	b, err := rt.openBars()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(b, chart.NewRenderer(), nil), Symbols: b, Toolsets: []string{tool.MarketSet}, Log: rt.Log})
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

// TestSymbols_MistakesLeadToInstruments asks for names as people and other programs write
// them. The error offers an instrument, and the first that the fakes have can be drawn.
func TestSymbols_MistakesLeadToInstruments(t *testing.T) {
	t.Parallel()
	_, r := wired(t)
	for asked, want := range map[string]string{
		"bitcoin": "BTCUSDT", "BTC": "BTCUSDT", "btc": "BTCUSDT", "ETH": "ETHUSDT", "ethereum": "ETHUSDT", "Apple": "AAPL", "tesla": "TSLA", "BTCUSTD": "BTCUSDT",
		"BTC-USDT-SWAP": "BTCUSDT.P", "BTC/USDT:USDT": "BTCUSDT.P", "BTC-PERP": "BTCUSDT.P", "BTCUSDT_260327": "BTCUSDT", "BYBIT:BTCUSDT": "BTCUSDT",
		"EUR/USD": "EURUSD=X", "EURUSD": "EURUSD=X", "euro": "EURUSD=X", "S&P 500": "^GSPC", "SPX": "^GSPC", "nasdaq:AAPL": "AAPL", "NYSE:BRK.B": "BRK-B",
		"XBTUSD": "BTC-USD", "BTCUSD": "BTC-USD", "COINBASE:BITCOIN": "coinbase:BTC-USD", "gold": "GC=F", "GOLD": "GC=F", "silver": "SI=F", "oil": "CL=F", "yen": "USDJPY=X",
		"dax": "^GDAXI", "vix": "^VIX", "10y": "^TNX", "AAPL.US": "AAPL", "nvidia": "NVDA",
	} {
		text, failed := call(t, r, "get_indicators", map[string]any{"symbol": asked, "indicators": []string{"rsi"}})
		var f struct {
			Code        string   `json:"code"`
			Suggestions []string `json:"suggestions"`
		}
		if err := json.Unmarshal([]byte(text), &f); err != nil || !failed || len(f.Suggestions) == 0 || f.Suggestions[0] != want {
			t.Errorf("%s: %s", asked, text)
			continue
		}
		if slices.Contains([]string{"BTCUSDT", "BTCUSDT.P", "ETHUSDT", "AAPL", "EURUSD=X", "^GSPC", "BTC-USD", "BRK-B", "NVDA", "TSLA"}, want) {
			waitFor(t, func() bool { // a client asks again what failed for now
				text, failed = call(t, r, "get_indicators", map[string]any{"symbol": f.Suggestions[0], "indicators": []string{"rsi"}})
				return !strings.Contains(text, `"code":"unavailable"`)
			})
			if failed {
				t.Errorf("%s leads to %s: %s", asked, want, text)
			}
		}
	}
}

// TestSymbols_CanonicalIsIdempotent holds that the name of an instrument is its own name,
// in whatever spelling it was asked for.
func TestSymbols_CanonicalIsIdempotent(t *testing.T) {
	t.Parallel()
	b, _ := wired(t)
	for _, d := range Venues() {
		if d.Listed == nil || d.Name == "kraken" { // whose spelling is that of its own list
			continue
		}
		for _, l := range d.Listed() {
			asked := market.Symbol{Venue: d.Name, Name: l.Name}
			first, err := b.canonical(t.Context(), asked)
			if err != nil || first != asked {
				t.Errorf("%v is called %v, %v", asked, first, err)
			}
			again, err := b.canonical(t.Context(), first)
			if err != nil || again != first {
				t.Errorf("%v is called %v, %v", first, again, err)
			}
		}
	}
}

// A chart on the command line suggests as the tools do.
func TestDrawOnce_SuggestsInstruments(t *testing.T) {
	t.Parallel()
	stocks := httptest.NewServer(fakeyahoo.New(fakeyahoo.Config{Now: time.Now, Seed: 7}))
	t.Cleanup(stocks.Close)
	cfg := configure(t, "--symbol", "bitcoin", "--output", filepath.Join(t.TempDir(), "chart.png"), "--home", filepath.Join(t.TempDir(), "home"), "--yahoo-url="+stocks.URL)
	err := Run(t.Context(), cfg, Deps{Version: "test", Stdout: io.Discard, Stderr: io.Discard, Services: Wired()})
	if err == nil || !strings.Contains(err.Error(), "BTCUSDT (Binance)") {
		t.Errorf("%v", err)
	}
}
