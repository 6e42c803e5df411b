package orders

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
)

// step is when the program is killed with a group of orders on its way or at the venue,
// and what must be found after the next start.
type step struct {
	name   string
	places []string               // the venues; nil for all
	laws   []string               // more of the policy
	keyed  bool                   // the client calls again with its key
	two    bool                   // it needs two legs
	one    bool                   // the short form has it with one leg, too
	before func(*shield)          // the group is placed; nil if that is what is interrupted
	bring  func(*shield)          // has the moment come; nil for any moment
	late   bool                   // what was sent arrives after the next start
	past   bool                   // and too late for the venue
	single bool                   // it is one of a stop alone
	plan   func(*holder) []prices // the prices of what waits at the venue; nil for those of the entry
	down   func(*shield)          // happens at the venue before the next start
	up     func(*shield)          // and after it, again and again
	// Expected after the next start, of two legs.
	venue, here string
	ends        string // what it becomes after a minute in which the venue does not know it
	healed      string // what the venue has then, if that is something else
	heals       bool   // then everything has a stop, in one part or in two
	state       string // the restriction in force; "" for none
}

const (
	working   = "entry filled, stop_loss open, take_profit open"
	protected = "entry filled, stop_loss accepted, take_profit accepted"
	sent      = "entry submitted, stop_loss submitted, take_profit submitted"
	renewed   = "entry ended in part, stop_loss ended, stop_loss open, take_profit ended, take_profit open"
	stopped   = "entry filled, stop_loss filled, take_profit ended"
	oversold  = "entry filled, stop_loss filled, take_profit filled"
	partly    = "entry open in part, stop_loss open, take_profit open"
	closed    = "entry filled, stop_loss ended, take_profit ended, exit filled"
	naked     = "entry filled, stop_loss ended, take_profit ended"
	gone      = "entry ended, stop_loss ended, take_profit ended"
)

func placeGroup() []step {
	return []step{
		{keyed: true, name: "before the group is persisted", venue: "nothing", here: "nothing", bring: func(s *shield) { s.lock(); s.begin(); settle() }},
		{keyed: true, name: "persisted, not sent", venue: "nothing", here: sent, ends: gone, bring: unsent},
		{keyed: true, name: "sent, the venue did nothing", places: remote(), venue: "nothing", here: sent, ends: gone, bring: func(s *shield) { s.holder.ignored(s) }},
		{keyed: true, name: "sent, the venue took it", places: remote(), one: true, venue: working, here: protected, bring: func(s *shield) { s.holder.taken(s) }},
		{keyed: true, name: "answered, not persisted", venue: working, here: protected, bring: func(s *shield) { s.holder.unsaved(s) }},
		{keyed: true, name: "sent, and it arrives after the restart", places: remote(), venue: working, here: protected, late: true, bring: late},
		{
			keyed: true, name: "sent, and it arrives more than 5 s later", places: []string{"binance"}, venue: "nothing", here: sent, ends: gone, late: true, past: true,
			bring: late,
		},
	}
}

// remote are the venues that are reached over a network.
func remote() []string { return []string{"binance", "alpaca"} }

// unsent has the request persisted, and it does not leave.
func unsent(s *shield) {
	s.holder.cut(s)
	s.begin()
	s.persisted("order_sent")
}

// late has the request wait before the door.
func late(s *shield) {
	s.venue.close()
	s.begin()
	s.onItsWay()
}

// while are the steps in which something happens at the venue while the program is down.
func while() []step {
	return []step{
		{
			name: "entry fills while down", one: true, before: waits, venue: working, here: protected,
			down: func(s *shield) { s.holder.move(s.holder.dip) }, up: func(s *shield) { s.onPaper(s.holder.dip) },
		},
		{
			name: "entry fills in part, then expires, while down", places: remote(), before: waits,
			venue: renewed, here: "entry ended in part, stop_loss accepted, stop_loss ended, take_profit accepted, take_profit ended",
			down: func(s *shield) { s.venue.trade(s.id, s.venue.half); s.holder.expire(s) },
		},
		{
			name: "entry fills in part", places: []string{"paper"}, before: inPart, venue: partly, here: "entry partially_filled, stop_loss accepted, take_profit accepted",
		},
		{
			name: "stop triggers while down", before: fills, venue: stopped, here: stopped,
			down: func(s *shield) { s.holder.move(s.holder.crash) }, up: func(s *shield) { s.onPaper(s.holder.crash) },
		},
		{
			name: "both legs fill while down", places: []string{"alpaca"}, two: true, before: fills, venue: oversold, here: oversold, state: "leg_overfill",
			down: func(s *shield) { s.holder.both(s) },
		},
		{
			name: "legs refused while down", places: remote(), before: waits, venue: naked, here: naked, state: "unprotected",
			down: refused,
		},
		{
			name: "legs refused while down, `on_unprotected` is exit", places: remote(), before: waits, venue: closed, here: closed, laws: []string{`on_unprotected = "exit"`},
			down: refused,
		},
	}
}

// waits places a group whose entry waits, and fills one whose legs work.
func waits(s *shield) {
	s.rests = true
	s.settled("entry open, stop_loss held, take_profit held", "entry accepted, stop_loss held, take_profit held")
}
func fills(s *shield) { s.settled(working, protected) }

// inPart places a group whose entry is filled in part, on paper.
func inPart(s *shield) {
	waits(s)
	for !s.within(time.Second, func() bool { return s.venueHas() == s.asked(partly) }) {
		s.holder.some(s.holder.dip) // the first of these may come before the order is on the book
	}
}

// refused has the venue refuse the legs of an entry that it fills.
func refused(s *shield) {
	s.holder.refuse(s)
	s.holder.move(s.holder.dip)
}

// onPaper moves the price where the market is closed while the program is down.
func (s *shield) onPaper(price decimal.Decimal) {
	if s.holder.name == "paper" {
		s.holder.move(price)
	}
}

// start starts the program and waits until it knows the account and the price.
func (s *shield) start() {
	s.Helper()
	s.program = start(s, s.home, s.venue.environ, append(s.venue.args, "--toolsets", "account"))
	s.await("trading begins", func() bool {
		var answer struct {
			Code, Rule string
		}
		r := s.program.must("place_order", s.order(`,"dry_run":true`))
		return !r.isError || json.Unmarshal([]byte(r.text), &answer) == nil && answer.Code == "order_denied" && answer.Rule != "max_quote_age"
	})
}

// play kills the program at the step and starts it again. It returns what was found.
func (s *shield) play(m step) string {
	s.Helper()
	s.start()
	s.tool, s.args = "place_order", s.order(key)
	if m.before != nil {
		m.before(s)
	}
	if m.bring != nil {
		m.bring(s)
	}
	s.program.kill()
	s.unlock()
	s.venue.end()
	s.unhang()
	s.holder.mend()
	held := s.venue.reopen()
	if m.down != nil {
		m.down(s)
	}
	if !m.late {
		for _, c := range held {
			_ = c.Close()
		}
		held = nil
	}
	s.start()
	s.arrive(held, m.past)
	return s.judge(m)
}

// arrive lets in what waited before the door.
func (s *shield) arrive(held []*heldConn, past bool) {
	let := func() {
		for _, c := range held {
			s.venue.let(c)
		}
	}
	if !past {
		let()
		return
	}
	s.holder.age(func() {
		let()
		s.await("the refusal", func() bool { return s.holder.served.Load() > 0 })
	})
}

// cell is one cell of the matrix.
type cell struct {
	step
	place string
	at    func(testing.TB, int) *holder
	legs  int
}

// cells returns the cells of the matrix. With one leg the short form has a few of them.
func cells(steps []step) []cell {
	var all []cell
	for _, m := range steps {
		for _, v := range []cell{{place: "binance", at: heldByBinance}, {place: "alpaca", at: heldByAlpaca}, {place: "paper", at: heldOnPaper}} {
			if m.places != nil && !slices.Contains(m.places, v.place) {
				continue
			}
			for legs := longtest.Pick(2, 1); legs <= 2; legs++ {
				if !m.single && (legs == 2 || !m.two) {
					all = append(all, cell{m, v.place, v.at, legs})
				}
			}
			if m.single || m.one && !longtest.On() {
				all = append(all, cell{m, v.place, v.at, 1})
			}
		}
	}
	return all
}

// TestCrash_Groups kills the program with SIGKILL at every step of a group of orders: an
// entry with a stop, or with a stop and a target.
func TestCrash_Groups(t *testing.T) { //nolint:tparallel // the group of all cells ends when they have
	t.Parallel()
	steps := slices.Concat(placeGroup(), while(), move(), decide())
	all := cells(steps)
	var mu sync.Mutex
	found := make(map[string]map[string][]string) // by step and what was found: the venues
	played := 0
	t.Run("cells", func(t *testing.T) {
		for _, c := range all {
			t.Run(c.place+", "+c.name+", "+[]string{"one leg", "two legs"}[c.legs-1], func(t *testing.T) {
				t.Parallel()
				home, h := newHome(t), c.at(t, c.legs)
				policy(t, home, append(h.laws, c.laws...)...)
				s := &shield{scene: newScene(t, h.venue, home), holder: h, legs: c.legs}
				row := s.play(c.step)
				mu.Lock()
				defer mu.Unlock()
				played++
				if c.legs == 2 || c.single {
					if found[c.name] == nil {
						found[c.name] = make(map[string][]string)
					}
					found[c.name][row] = append(found[c.name][row], c.place)
				}
			})
		}
	})
	if t.Failed() || played < len(all) {
		return // a part of the matrix was asked for
	}
	var b strings.Builder
	b.WriteString("| Killed | At | Orders at the venue | After the next start |\n|---|---|---|---|\n")
	for _, m := range steps {
		for _, row := range slices.Sorted(maps.Keys(found[m.name])) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.name, strings.Join(slices.Sorted(slices.Values(found[m.name][row])), ", "), row)
		}
	}
	write(t, "matrix of groups", "Groups", b.String())
}
