package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/kit/setting"
	"candela/internal/operate/doctor"
	"candela/internal/store"
	"candela/internal/store/ledger"
	"candela/internal/testkit/fake/fakes"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// toyVenue is a venue as its package would declare it.
func toyVenue() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: "toy", Title: "Toy",
			Settings: []setting.Spec{{Name: "toy-url", Arg: "URL", Default: "https://toy.example", Doc: "Toy's API", Kind: setting.URL()}},
		},
		Kind: provider.Pairs, Example: "BTC.USDT", Separator: ".",
		Open: func(env provider.Env) (provider.Provider, error) {
			s := newShelf(env.Values.Text("toy-url"), false, 100, 10)
			return daily{s}, nil
		},
	}
}

// daily is a shelf of days that is named by a setting.
type daily struct{ *shelf }

func (daily) Name() string { return "toy" }

func (d daily) Capabilities() provider.Caps {
	return provider.Caps{Intervals: []market.Interval{market.Hour4, market.Day1}, PageSize: d.page}
}

func (d daily) Bars(context.Context, provider.BarQuery) (provider.BarPage, error) {
	return provider.BarPage{Bars: d.bars}, nil
}

// toyBroker is a broker as its package would declare it.
func toyBroker() broker.Descriptor {
	return broker.Descriptor{
		Part: setting.Part{
			Name: "toy", Title: "Toy", Networks: []setting.Network{{Name: "sandbox"}, {Name: "beta"}, {Name: "live", Live: true}},
			Keys: setting.Keys{File: "toy-key-file", ID: "toy-key", Secret: "toy-secret"},
			Settings: []setting.Spec{
				{Name: "toy-key-file", Arg: "FILE", Doc: "a file", Kind: setting.Path()},
				{Name: "toy-key", Arg: "TEXT", Doc: "the key", Kind: setting.Secret()},
				{Name: "toy-secret", Arg: "TEXT", Doc: "the secret", Kind: setting.Secret()},
			},
		},
		Open: func(env broker.Env) (broker.Broker, error) { return toyAccount{network: env.Network}, nil },
	}
}

type toyAccount struct {
	broker.Broker
	network string
}

func (toyAccount) Name() string     { return "toy" }
func (toyAccount) Mode() order.Mode { return order.Paper }
func (a toyAccount) Holdings(context.Context) ([]order.Holding, error) {
	return make([]order.Holding, len(a.network)), nil
}

// TestTables_ALineIsEnough adds a venue and a broker with a line each. They get flags, a
// route, the doctor's checks, and accounts that a halt without a running program reaches.
func TestTables_ALineIsEnough(t *testing.T) {
	t.Parallel()
	venues, brokers := append(Venues(), toyVenue()), append(Brokers(), toyBroker())
	in := config.Input{
		Args:    []string{"--mcp", "--trade", "--home", t.TempDir(), "--crypto-venue=toy", "--toy-url=https://gateway.example", "--broker=toy", "--toy-network=beta"},
		Environ: []string{"CANDELA_TOY_KEY=k", "CANDELA_TOY_SECRET=s"},
		Parts:   partsOf(venues, brokers, Sinks()),
	}
	cfg, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	if err := config.WriteHelp(&help, in.Parts); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--toy-url URL\n        Toy's API (CANDELA_TOY_URL, default https://toy.example)", "coinbase, kraken or toy", "network at Toy: sandbox or beta; live only with --live"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("--help lacks %q", want)
		}
	}
	rt := Runtime{Config: cfg, Log: slog.New(slog.DiscardHandler), Deps: Deps{Services: Services{Venues: venues, Brokers: brokers}}}
	b, err := rt.openBars()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	source, err := b.Route(t.Context(), market.Symbol{Name: "BTCUSDT"})
	if err != nil || source.Name() != "toy" {
		t.Errorf("BTCUSDT goes to %v, %v", source, err)
	}
	if got := rt.account(); got != "owner/toy-beta" {
		t.Errorf("orders go to %s", got)
	}
	for _, account := range []string{"owner/toy-sandbox", "owner/toy-beta", "owner/toy-live"} {
		if !slices.Contains(accountsOf(brokers), account) {
			t.Errorf("a halt does not reach %s", account)
		}
	}
	var findings []doctor.Finding
	in.Args = append(in.Args, "--stock-venue=yahoo")
	RunDoctor(t.Context(), in, Deps{Services: Services{Venues: []provider.Descriptor{toyVenue(), withoutOpen("yahoo")}, Brokers: brokers}},
		doctor.Options{Report: func(f doctor.Finding) { findings = append(findings, f) }})
	for _, want := range []doctor.Finding{
		doctor.NewOK("account", "the keys open the paper account at toy; 4 assets in it"),
	} {
		if !slices.Contains(findings, want) {
			t.Errorf("%+v is not in %+v", want, findings)
		}
	}
	if !slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Check == "venue toy" && f.Status == doctor.OK }) {
		t.Errorf("the doctor does not check the venue: %+v", findings)
	}
}

// toyStore is a store as its package would declare it: a ledger in a folder of its own.
func toyStore() store.Descriptor {
	return store.Descriptor{Name: "toy", File: "toy", Open: func(ctx context.Context, home string, now func() time.Time) (store.Store, error) {
		folder := filepath.Join(home, "toy")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		return ledger.Descriptor().Open(ctx, folder, now)
	}}
}

// TestTables_AStoreIsALine runs the program on another store, and then finds that store by
// its file.
func TestTables_AStoreIsALine(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	services := Wired()
	services.Stores = []store.Descriptor{toyStore(), ledger.Descriptor()}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_alerts","arguments":{}}}` + "\n"
	var out bytes.Buffer
	cfg := configure(t, "--mcp", "--trade", "--home", home, "--yahoo=false")
	if err := Run(t.Context(), cfg, Deps{Version: "test", Stdin: strings.NewReader(call), Stdout: &out, Stderr: io.Discard, Services: services}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `\"alerts\"`) && !strings.Contains(out.String(), `"text":"[]"`) {
		t.Errorf("list_alerts answers %s", out.String())
	}
	if _, err := os.Stat(filepath.Join(home, "toy", ledger.FileName)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(home, ledger.FileName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ledger was opened, too: %v", err)
	}
	if got := store.At([]store.Descriptor{ledger.Descriptor(), toyStore()}, home).Name; got != "toy" {
		t.Errorf("the directory has a %s", got)
	}
	if got := store.At(services.Stores, t.TempDir()).Name; got != "toy" {
		t.Errorf("a new directory gets a %s", got)
	}
}

// withoutOpen declares a venue for symbols of stocks that is not opened.
func withoutOpen(name string) provider.Descriptor {
	return provider.Descriptor{Part: setting.Part{Name: name}, Kind: provider.Stocks}
}

// TestTables_EveryVenueHasAFake holds that both tables list the same venues.
func TestTables_EveryVenueHasAFake(t *testing.T) {
	t.Parallel()
	var venues []string
	for _, v := range Venues() {
		if v.Example != "" {
			venues = append(venues, v.Name)
		}
	}
	for _, b := range Brokers() {
		if b.CanTradeLive() && !slices.Contains(venues, b.Name) {
			venues = append(venues, b.Name)
		}
	}
	slices.Sort(venues)
	if fake := fakes.Names(fakes.All()); !slices.Equal(fake, venues) {
		t.Errorf("fakes %q, venues and brokers %q", fake, venues)
	}
}

// TestTables_DescriptorsAreComplete checks what their readers rely on.
func TestTables_DescriptorsAreComplete(t *testing.T) {
	t.Parallel()
	for _, v := range Venues() {
		if v.Name == "" || v.Title == "" || (v.Open == nil) == (v.OpenSeries == nil) || (v.Example != "") != (v.Kind == provider.Pairs || v.Kind == provider.Stocks) {
			t.Errorf("venue %+v is incomplete", v)
		}
	}
	for _, b := range Brokers() {
		if b.Name == "" || b.Title == "" || b.Open == nil || len(b.Networks) == 0 {
			t.Errorf("broker %+v is incomplete", b)
		}
	}
}
