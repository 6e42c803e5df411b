package soak

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/build"
	"candela/internal/testkit/longtest"
)

var (
	soakFor = flag.Duration("soak", longtest.Pick(time.Minute, 20*time.Minute), "how long clients work")
	seeded  = flag.Uint64("seed", longtest.Seed(), "of all random choices")
	agents  = flag.Int("agents", 6, "how many clients work")
	keep    = flag.String("keep", "", "folder for the logs of the nodes; a temporary one when empty")
	symbols = flag.Int("symbols", 12, "in how many symbols")
)

// programs are those that tests of this package run.
var programs build.Programs

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait more than they work.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(programs.Run(m))
}

// newWorld opens a site with markets whose price is 100.
func newWorld(t *testing.T, nodes int, atVenue bool) *world {
	t.Helper()
	w := &world{
		TB: t, site: newSite(t, nodes, atVenue), seed: *seeded, dice: rand.New(rand.NewPCG(*seeded, 1)), over: make(chan struct{}), pace: 200 * time.Millisecond,
		alerts: map[string]*alert{}, notes: map[string]bool{farAway: true}, polled: map[string][]receipt{}, fired: map[string]firing{},
		refusals: map[string]int{}, orders: map[string]*order{}, acked: map[string]string{},
	}
	if atVenue {
		w.fee, w.pace = decimal.New(1, -3), 1500*time.Millisecond // it takes 100 orders in ten seconds
	}
	for i := range *symbols {
		m := &market{symbol: fmt.Sprintf("S%02d%s", i, quote), still: i%3 == 2}
		w.fix(m, decimal.NewFromInt(100))
		w.markets = append(w.markets, m)
	}
	return w
}

// run lets everyone work for the time, and then judges.
func (w *world) run() {
	w.Helper()
	began := time.Now()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	listening, deafen := context.WithCancel(ctx)
	w.listening = listening
	w.busy.Go(func() { w.clock(ctx) })
	w.Logf("seed %d: go test ./e2e/soak -run '^%s$' -v -seed %d -soak %v", w.seed, w.Name(), w.seed, *soakFor)
	w.site.open(ctx)
	o := &operator{person: &person{w: w, name: "owner", all: true}, ctx: ctx, dice: rand.New(rand.NewPCG(w.seed, 2)), deeds: map[string]int{}, reported: map[string]bool{}}
	o.known()
	acting, stop := context.WithCancel(ctx)
	defer stop()
	for i := range *agents {
		o.agents = append(o.agents, &agent{person: &person{w: w, name: fmt.Sprintf("agent %d", i)}, ctx: acting, dice: rand.New(rand.NewPCG(w.seed, uint64(10+i)))})
	}
	done := make(chan struct{}, len(o.agents)+1)
	for _, a := range o.agents {
		go func() { a.work(); done <- struct{}{} }()
	}
	go func() { o.work(min(*soakFor/15, 10*time.Second)); done <- struct{}{} }()
	pause(ctx, *soakFor)
	close(w.over)
	// The outcome of an order may be known after a minute only: such a market is not judged.
	defer time.AfterFunc(longtest.Pick(15*time.Second, recoveryTime), stop).Stop()
	for range cap(done) {
		<-done
	}
	o.audit()
	o.acknowledged()
	o.judge()
	o.silenced()
	o.sample()
	o.flat()
	o.verify()
	deafen()
	o.restore()
	o.logs()
	cancel()
	w.busy.Wait()
	w.Logf("what happened: %v; the account was compared %d times; %s", o.deeds, o.audits, strings.Join(o.diary, ", "))
	faulty, plain := w.delays()
	w.Logf("the longest time from a price to the push of its alert: %v beside faults, %v otherwise", faulty, plain)
	if o.audits == 0 {
		w.violate("account", "", "it was never compared")
	}
	w.report(time.Since(began))
}

// TestSoak_PaperOnOneNode soaks a paper account at one node.
func TestSoak_PaperOnOneNode(t *testing.T) {
	t.Parallel()
	newWorld(t, 1, false).run()
}

// TestSoak_PaperOverThreeReplicas soaks a paper account that three replicas share.
func TestSoak_PaperOverThreeReplicas(t *testing.T) {
	t.Parallel()
	newWorld(t, 3, false).run()
}

// TestSoak_BinanceOnOneNode soaks an account at the fake Binance, which takes its fees of what
// is bought and holds five stops in a symbol.
func TestSoak_BinanceOnOneNode(t *testing.T) {
	t.Parallel()
	newWorld(t, 1, true).run()
}
