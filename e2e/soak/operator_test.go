package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/build"
)

// operator is the owner: commands, faults, and the checks of the whole account.
type operator struct {
	*person
	ctx      context.Context
	dice     *rand.Rand
	agents   []*agent
	copied   string            // the last backup
	then     map[string]*order // the orders at that time
	samples  []sample
	audits   int // that found everything equal
	diary    []string
	deeds    map[string]int
	reported map[string]bool // symbols whose figures, and orders whose loss, were reported
}

// deed is something that the owner does, or that happens to the program.
type deed struct {
	name string
	do   func()
}

// work does one thing after the other until the run ends: each kind once, in a random order, and
// again.
func (o *operator) work(pauses time.Duration) {
	for !o.w.ending() {
		deeds := []deed{{"kill -9", o.kill}, {"halt", o.halt}, {"revocation", o.revoke}, {"kill -9", o.kill}}
		if len(o.w.site.nodes) == 1 {
			deeds = append(deeds, deed{"backup", o.backup})
		} else {
			deeds = append(deeds, deed{"kill of a NATS server", o.killServer})
		}
		o.dice.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
		for _, d := range deeds {
			for next := time.Now().Add(pauses/2 + time.Duration(o.dice.Int64N(int64(pauses)))); !o.w.ending() && time.Now().Before(next); {
				o.auditQuiet()
				pause(o.ctx, min(time.Second, time.Until(next)))
			}
			if !o.w.ending() {
				o.diary = append(o.diary, clock(time.Now())+" "+d.name)
				d.do()
				o.deeds[d.name]++
			}
		}
		o.sample()
	}
}

func (o *operator) any() *node { return o.w.site.nodes[o.dice.IntN(len(o.w.site.nodes))] }

// kill ends a node as a crash does, and starts it again.
func (o *operator) kill() {
	n := o.any()
	defer o.w.begin(false)()
	n.end(os.Kill)
	pause(o.ctx, time.Duration(o.dice.IntN(1000))*time.Millisecond)
	n.start()
	if !n.ready(o.ctx) && o.ctx.Err() == nil {
		o.w.violate("access", "", "%s is not ready after a crash", n.name)
	}
}

// killServer ends one of three NATS servers, and starts it again.
func (o *operator) killServer() {
	defer o.w.begin(false)()
	i := o.dice.IntN(3)
	o.w.site.nats.Kill(i)
	pause(o.ctx, time.Duration(500+o.dice.IntN(2000))*time.Millisecond)
	if err := errors.Join(o.w.site.nats.Restart(i), o.w.site.nats.Settle()); err != nil {
		o.w.violate("access", "", "NATS: %v", err)
	}
}

// halt stops trading for a moment.
func (o *operator) halt() {
	n := o.any()
	defer o.w.begin(true)()
	if out, err := n.command(o.ctx, "halt", "soak"); err != nil || !strings.Contains(out, "HALTED") {
		o.w.violate("access", "", "halt: %v: %s", err, out)
	}
	pause(o.ctx, time.Duration(300+o.dice.IntN(1000))*time.Millisecond)
	// A position whose exit has no answer restricts trading by itself, which a resume does not lift.
	if out, err := n.command(o.ctx, "resume"); err != nil || !strings.Contains(out, "ACTIVE") && (!strings.Contains(out, "unprotected") || strings.Contains(out, "owner_halt")) {
		o.w.violate("access", "", "resume: %v: %s", err, out)
	}
}

// revoke revokes the token of an agent while it works, and goes on using it.
func (o *operator) revoke() {
	l := o.agents[o.dice.IntN(len(o.agents))].present(o.ctx)
	if l == nil {
		return
	}
	n := o.any()
	out, err := n.command(o.ctx, "auth", "list")
	found := regexp.MustCompile(`(?m)^(\S+) .*"` + regexp.QuoteMeta(l.Name) + `"`).FindStringSubmatch(out)
	if err != nil || found == nil {
		o.w.violate("revocation", "", "auth list does not name %s: %v: %s", l.Name, err, out)
		return
	}
	o.w.revoking.Store(true)
	defer o.w.revoking.Store(false)
	o.w.busy.Go(func() { o.haunt(l) })
	pause(o.ctx, time.Duration(o.dice.IntN(200))*time.Millisecond)
	l.mu.Lock()
	l.revoking = time.Now()
	l.mu.Unlock()
	if out, err := n.command(o.ctx, "auth", "revoke", found[1]); err != nil {
		o.w.violate("revocation", "", "auth revoke: %v: %s", err, out)
		return
	}
	l.mu.Lock()
	l.revoked = time.Now()
	l.mu.Unlock()
}

// haunt sets alerts with a token until some time after it was revoked.
func (o *operator) haunt(l *login) {
	for began := time.Now(); time.Since(began) < 15*time.Second && o.ctx.Err() == nil; pause(o.ctx, 50*time.Millisecond) {
		asked := time.Now()
		limit, cancel := context.WithTimeout(o.ctx, 10*time.Second)
		_, err := l.Call(limit, "set_alert", `{"symbol":"`+o.w.markets[0].symbol+`","condition":{"price_above":1000000},"note":"`+farAway+`"}`)
		cancel()
		o.w.calls.Add(1)
		revoked, _ := l.ends()
		if revoked.IsZero() {
			continue
		}
		if late := asked.Sub(revoked); err == nil && late > o.w.patience(grace) {
			o.w.violate("revocation", "", "%s set an alert %v after its revocation was acknowledged", l.Name, late)
		} else if late > o.w.patience(2*grace) {
			return
		}
	}
}

// backup copies the store while nobody acts, and notes what must be in it.
func (o *operator) backup() {
	if !o.pause() {
		return
	}
	defer o.w.quiet.Unlock()
	folder := filepath.Join(build.Folder(o.w.TB), "copy")
	o.collect()
	if out, err := o.w.site.nodes[0].command(o.ctx, "backup", folder); err != nil {
		o.w.violate("backup", "", "%v: %s", err, out)
		return
	}
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	o.copied, o.then = folder, maps.Clone(o.w.orders)
}

// restore brings the last backup back: what was acknowledged before it is there again, and
// what was later is not. Prices that have moved since may trade at once.
func (o *operator) restore() {
	n := o.w.site.nodes[0]
	if o.copied == "" || len(o.w.site.nodes) > 1 || o.w.site.real {
		return
	}
	n.end(os.Interrupt)
	if out, err := n.command(o.ctx, "restore", o.copied); err != nil {
		o.w.violate("backup", "", "restore: %v: %s", err, out)
	}
	o.w.revoking.Store(true)
	n.start()
	if !n.ready(o.ctx) {
		o.w.violate("backup", "", "not ready after the restore")
		return
	}
	var all []order
	if err := o.read(o.ctx, "get_orders", `{"limit":500}`, &all); err != nil {
		o.w.violate("backup", "", "%v", err)
		return
	}
	here := map[string]*order{}
	for i := range all {
		here[all[i].ID] = &all[i]
		if _, known := o.w.orders[all[i].ID]; known && o.then[all[i].ID] == nil {
			o.w.violate("backup", all[i].Symbol, "order %s was placed after the backup and is there", all[i].ID)
		}
	}
	for id, one := range o.then {
		if got := here[id]; len(all) < 500 && (got == nil || got.Filled.LessThan(one.Filled)) {
			o.w.violate("backup", one.Symbol, "order %s, %s, filled %s, is not there after the restore: %+v", id, one.Status, one.Filled, got)
		}
	}
	o.verify()
}

// verify checks the chain of the audit log.
func (o *operator) verify() {
	if len(o.w.site.nodes) > 1 {
		return // replicas have none
	}
	if out, err := o.w.site.nodes[0].command(o.ctx, "audit", "verify"); err != nil || !strings.Contains(out, "unbroken") {
		o.w.violate("account", "", "audit verify: %v: %s", err, out)
	}
}

// sample is what a node holds.
type sample struct {
	goroutines, files, heap float64
}

// sample reads what the nodes hold, and keeps the most.
func (o *operator) sample() {
	var most sample
	for _, n := range o.w.site.nodes {
		page, err := n.page(o.ctx, "/metrics")
		if err != nil {
			return
		}
		read := func(name string, into *float64) {
			for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
				if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
					value, _ := strconv.ParseFloat(text, 64)
					*into = max(*into, value)
				}
			}
		}
		read("go_goroutines", &most.goroutines)
		read("process_open_fds", &most.files)
		read("go_memstats_heap_inuse_bytes", &most.heap)
	}
	o.samples = append(o.samples, most)
}

// orderBytes is what an order may take that has ended: the program remembers 20,000 of them, more than a run has.
const orderBytes = 8000

// flat checks that the program holds no more at the end than at the beginning.
func (o *operator) flat() {
	if len(o.samples) < 4 {
		return
	}
	// The heap has garbage, such as what the check of a passphrase used: the lowest of some samples counts.
	extremes := func(some []sample) (s sample) {
		s.heap = some[0].heap
		for _, one := range some {
			s = sample{max(s.goroutines, one.goroutines), max(s.files, one.files), min(s.heap, one.heap)}
		}
		return s
	}
	early, late := extremes(o.samples[:len(o.samples)/2]), extremes(o.samples[len(o.samples)/2:])
	o.w.Logf("held in the first half %+v, in the second %+v", early, late)
	if late.goroutines > early.goroutines*5/4+20 || late.files > early.files*5/4+20 || len(o.samples) >= 12 && late.heap > early.heap*3/2+16e6+orderBytes*float64(len(o.w.orders)) {
		o.w.violate("resources", "", "it grows: %+v, and later %+v", early, late)
	}
}

// logs checks that no node wrote of an error.
func (o *operator) logs() {
	for _, n := range o.w.site.nodes {
		text, err := os.ReadFile(n.log)
		if err != nil {
			o.w.violate("log", "", "%v", err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") && !o.explained(line) {
				o.w.violate("log", "", "%s: %s", n.name, strings.TrimSpace(line))
			}
		}
	}
}

// explained reports whether a line of the log is from a time at which NATS servers were gone, and
// says that.
func (o *operator) explained(line string) bool {
	found := regexp.MustCompile(`time=(\S+)`).FindStringSubmatch(line)
	if found == nil || o.w.site.nats == nil || !strings.Contains(line, "shared store is unavailable") {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, found[1])
	return err == nil && slices.ContainsFunc(o.w.faults, func(s span) bool { return s.touches(at.Add(-30*time.Second), at) })
}

// balances is what get_account says.
type balances struct {
	State    string                                  `json:"trading_state"`
	Why      string                                  `json:"why"`
	Cash     []struct{ Asset, Quantity decimalText } `json:"cash"`
	Holdings []struct {
		Asset, Symbol string
		Quantity      decimalText
	} `json:"holdings"`
}

// decimalText is a text, most often of a number.
type decimalText string

func (t decimalText) decimal() decimal.Decimal {
	d, _ := decimal.NewFromString(string(t)) // a text that is none equals no number but zero
	return d
}

// state is what candela status prints, as far as it is read here.
type state struct {
	Accounts []struct {
		Positions []struct {
			Symbol   string          `json:"symbol"`
			Quantity decimal.Decimal `json:"quantity"`
			Entry    json.Number     `json:"entry_price"`
		} `json:"positions"`
	} `json:"accounts"`
}

// status reads it.
func (o *operator) status() (s state, err error) {
	out, err := o.any().command(o.ctx, "status", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return s, err
}
