// Scenes serves charts of random requests to a browser: for each the JSON that the pages get, the picture, and what the
// scene of the picture has, so that a test can compare it with what the browser draws.
//
// usage: scenes ADDRESS FOLDER SEED
//
// FOLDER has bars as CSV, as candela reads them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/internal/kit/principal"
	"candela/internal/serve/webchart"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/ta"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: scenes ADDRESS FOLDER SEED")
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	files, err := csv.New(csv.Config{Dir: args[1]})
	if err != nil {
		return err
	}
	service, err := marketdata.New(marketdata.Config{
		Providers: []provider.Provider{files}, Routes: marketdata.Routes{Preferred: []string{"csv"}, Crypto: "csv", Other: "csv"},
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer service.Close()
	charts := charting.New(charting.Config{Bars: service, Renderer: chart.NewRenderer(), Log: slog.New(slog.DiscardHandler)})
	s := &site{charts: charts, seed: seed}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", page)
	mux.HandleFunc("GET /scene", s.scene)
	mux.HandleFunc("GET /picture", s.picture)
	for _, m := range webchart.Modules() {
		mux.HandleFunc("GET /"+m.Name, script(m.Source))
	}
	library, err := webchart.Script()
	if err != nil {
		return err
	}
	mux.HandleFunc("GET /library.js", script(library))
	for name, font := range webchart.Fonts() {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(font) })
	}
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Println("ready")
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func script(source []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(source)
	}
}

func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><style>
@font-face{font-family:Roboto;src:url(/roboto.woff)}@font-face{font-family:Roboto;font-weight:500;src:url(/roboto-medium.woff)}
html,body{margin:0;height:100%;background:#131722}body[data-theme=light]{background:#fff}#chart{position:relative;width:100%;height:100vh}
.legend{position:absolute;left:12px;z-index:3;pointer-events:none;font:13px/21px Roboto;color:#868b98;white-space:nowrap}.legend b{font-weight:500}.legend i{font-style:normal}.legend span{margin-right:7px}
</style><body><div id="chart" tabindex="0"></div><script src="/library.js"></script><script type="module">
import { View } from '/chart.mjs'
await Promise.all([document.fonts.load('12px Roboto'), document.fonts.load('500 12px Roboto')])
let view
window.draw = (scene, theme, now) => {
  document.body.dataset.theme = theme
  view?.remove()
  view = window.view = new View(document.querySelector('#chart'), LightweightCharts, theme, { now: () => now ?? Date.now() })
  view.setSeries(scene)
  const n = scene.bars.length
  view.chart.timeScale().setVisibleLogicalRange({ from: -2, to: n + 3 + (scene.look.ahead ?? 0) })
}
window.ready = true
</script>`))
}

// site makes the scenes.
type site struct {
	charts *charting.Charting
	seed   uint64
}

// The sizes of the pictures that are compared: nothing is left out for want of room.
const (
	wide = 2400
	high = 2000
)

// drawn is a request: the one of a number, or what the address asks for.
func (s *site) drawn(r *http.Request) (charting.Drawn, error) {
	q := r.URL.Query()
	d := charting.Drawn{Width: wide, Height: high, Scale: 1}
	if n, err := strconv.ParseUint(q.Get("n"), 10, 64); err == nil {
		return s.random(n, d)
	}
	var err error
	if d.Symbol, err = market.ParseSymbol(q.Get("symbol")); err != nil {
		return d, err
	}
	if d.Interval, err = market.ParseInterval(q.Get("interval")); err != nil {
		return d, err
	}
	d.Bars, _ = strconv.Atoi(q.Get("bars"))
	if d.Width, err = strconv.Atoi(q.Get("width")); err == nil {
		d.Height, err = strconv.Atoi(q.Get("height"))
	}
	if err != nil {
		return d, err
	}
	if q.Get("theme") == "light" {
		d.Theme = chart.Light
	}
	d.Indicators, err = named(strings.Split(q.Get("indicators"), ","))
	if other := q.Get("compare"); other != "" && err == nil {
		var symbol market.Symbol
		symbol, err = market.ParseSymbol(other)
		d.Compare = []market.Symbol{symbol}
	}
	return d, err
}

// named resolves indicators; those that begin with "pine" are scripts of this package.
func named(names []string) (all []charting.NamedIndicator, err error) {
	for _, name := range names {
		if name == "" {
			continue
		}
		if source, ok := scripts[name]; ok {
			def, err := pine.Compile(name, source, nil)
			if err != nil {
				return nil, err
			}
			selection, err := ta.Library{Scripts: one{def}}.Resolve(ta.Request{Name: name})
			if err != nil {
				return nil, err
			}
			all = append(all, charting.NamedIndicator{Name: name, Selection: selection})
			continue
		}
		found, err := charting.Named(ta.Library{}, []string{name})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// random returns the request of a number.
func (s *site) random(n uint64, d charting.Drawn) (charting.Drawn, error) {
	r := rand.New(rand.NewPCG(s.seed, n))
	kinds := []struct {
		symbol   string
		interval market.Interval
	}{{"csv:BTCUSDT", market.Hour1}, {"csv:ETHUSDT", market.Hour1}, {"csv:BTCUSDT", market.Hour4}, {"csv:AAPL", market.Day1}}
	kind := kinds[r.IntN(len(kinds))]
	var err error
	if d.Symbol, err = market.ParseSymbol(kind.symbol); err != nil {
		return d, err
	}
	d.Interval, d.Bars, d.Theme = kind.interval, 40+r.IntN(180), []chart.Theme{chart.Dark, chart.Light}[r.IntN(2)]
	names, catalogue := []string{}, ta.Names()
	for range 1 + r.IntN(6) {
		names = append(names, catalogue[r.IntN(len(catalogue))])
	}
	if r.IntN(3) == 0 {
		names = append(names, scriptNames[r.IntN(len(scriptNames))])
	}
	if r.IntN(6) == 0 && kind.symbol == "csv:BTCUSDT" {
		d.Compare = []market.Symbol{{Venue: "csv", Name: "ETHUSDT"}}
	}
	d.Indicators, err = named(names)
	return d, err
}

func (s *site) scene(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(r)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

func (s *site) answer(r *http.Request) ([]byte, error) {
	q, err := s.drawn(r)
	if err != nil {
		return nil, err
	}
	caller := principal.Caller{Subject: "owner", Scope: principal.Charts}
	q.Format = charting.Scene
	made, err := s.charts.Make(r.Context(), caller, q)
	if err != nil {
		return nil, err
	}
	shown, err := s.charts.Chart(r.Context(), caller, q.Request)
	if err != nil {
		return nil, err
	}
	expect, err := pictured(charting.Picture(chart.Spec{Width: wide, Height: high, Scale: 1, Theme: q.Theme}, shown))
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, ind := range q.Indicators {
		names = append(names, ind.Name)
	}
	about := fmt.Sprintf("%s %s %d bars: %s", q.Symbol, q.Interval, q.Bars, strings.Join(names, ", "))
	return json.Marshal(map[string]any{"about": about, "theme": []string{"dark", "light"}[q.Theme], "scene": json.RawMessage(made.JSON), "expect": expect})
}

func (s *site) picture(w http.ResponseWriter, r *http.Request) {
	q, err := s.drawn(r)
	if err != nil {
		refuse(w, err)
		return
	}
	q.Format = charting.PNG
	made, err := s.charts.Make(r.Context(), principal.Caller{Subject: "owner", Scope: principal.Charts}, q)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(made.Picture)
}

func refuse(w http.ResponseWriter, err error) {
	text := err.Error()
	if f := fault.Of(err); f != nil {
		text = f.Code + ": " + f.Message
	}
	http.Error(w, text, http.StatusUnprocessableEntity)
}
