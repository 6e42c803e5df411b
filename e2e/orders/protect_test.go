package orders

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

// step is when the program is killed with a group of orders on its way or at the venue,
// and what must be found after the next start.
type step struct {
	name   string
	places []string                      // the venues; nil for all
	two    bool                          // it needs two legs
	before func(*shield)                 // the group is placed; nil if that is what is interrupted
	bring  func(h *holder) func(*shield) // has the moment come; nil where a venue has none
	late   bool                          // what was sent arrives after the next start
	past   bool                          // and too late for the venue
	down   func(*shield)                 // happens at the venue before the next start
	up     func(*shield)                 // and after it, again and again
	// Expected after the next start, of two legs.
	venue, here string
	ends        string // what it becomes after a minute in which the venue does not know it
	state       string // the restriction in force; "" for none
}

const (
	working   = "entry filled, stop_loss open, take_profit open"
	protected = "entry filled, stop_loss accepted, take_profit accepted"
	sent      = "entry submitted, stop_loss submitted, take_profit submitted"
	renewed   = "entry ended in part, stop_loss ended, stop_loss open, take_profit ended, take_profit open"
	stopped   = "entry filled, stop_loss filled, take_profit ended"
	oversold  = "entry filled, stop_loss filled, take_profit filled"
	naked     = "entry filled, stop_loss ended, take_profit ended"
	gone      = "entry ended, stop_loss ended, take_profit ended"
)

func placeGroup() []step {
	return []step{
		{name: "before the group is persisted", venue: "nothing", here: "nothing", bring: func(*holder) func(*shield) {
			return func(s *shield) { s.lock(); s.begin(); settle() }
		}},
		{name: "persisted, not sent", venue: "nothing", here: sent, ends: gone, bring: func(h *holder) func(*shield) { return h.unsent }},
		{name: "sent, the venue did nothing", venue: "nothing", here: sent, ends: gone, bring: func(h *holder) func(*shield) { return h.ignored }},
		{name: "sent, the venue took it", venue: working, here: protected, bring: func(h *holder) func(*shield) { return h.taken }},
		{name: "answered, not persisted", venue: working, here: protected, bring: func(h *holder) func(*shield) { return h.unsaved }},
		{name: "sent, and it arrives after the restart", venue: working, here: protected, late: true, bring: func(h *holder) func(*shield) { return h.late() }},
		{
			name: "sent, and it arrives more than 5 s later", places: []string{"binance"}, venue: "nothing", here: sent, ends: gone, late: true, past: true,
			bring: func(h *holder) func(*shield) { return h.late() },
		},
	}
}

// late has the request wait before the door.
func (h *holder) late() func(*shield) {
	if h.ignored == nil {
		return nil // there is no network
	}
	return func(s *shield) { s.venue.close(); s.begin(); s.onItsWay() }
}

// while are the steps in which something happens at the venue while the program is down.
func while() []step {
	remote := []string{"binance", "alpaca"}
	return []step{
		{
			name: "entry fills while down", before: waits, venue: working, here: protected,
			down: func(s *shield) { s.holder.move(s.holder.dip) }, up: func(s *shield) { s.onPaper(s.holder.dip) },
		},
		{
			name: "entry fills in part, then expires, while down", places: remote, before: waits,
			venue: renewed, here: "entry ended in part, stop_loss accepted, stop_loss ended, take_profit accepted, take_profit ended",
			down: func(s *shield) { s.venue.trade(s.id, s.venue.half); s.holder.expire(s) },
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
			name: "legs refused while down", places: remote, before: waits, venue: naked, here: naked, state: "unprotected",
			down: func(s *shield) { s.holder.refuse(s); s.holder.move(s.holder.dip) },
		},
	}
}

// waits places a group whose entry waits, and fills one whose legs work.
func waits(s *shield) {
	s.rests = true
	s.settled("entry open, stop_loss held, take_profit held", "entry accepted, stop_loss held, take_profit held")
}
func fills(s *shield) { s.settled(working, protected) }

// onPaper moves the price where the market is closed while the program is down.
func (s *shield) onPaper(price decimal.Decimal) {
	if s.holder.name == "paper" {
		s.holder.move(price)
	}
}

// settled places the group and waits until the venue and the program agree on it.
func (s *shield) settled(venue, here string) {
	s.Helper()
	s.args = s.order(key)
	s.begin()
	s.answered()
	s.becomes(venue, here, func() {})
	s.id = s.head()
}

// head returns the ID of the entry.
func (s *shield) head() string {
	for _, o := range s.orders() {
		if o.Role == "entry" {
			return o.ID
		}
	}
	return ""
}

// asked is a description without what was not asked for.
func (s *shield) asked(text string) string {
	if s.legs == 2 {
		return text
	}
	words := slices.DeleteFunc(strings.Split(text, ", "), func(word string) bool { return strings.HasPrefix(word, "take_profit") })
	return strings.Join(words, ", ")
}

// isHere describes the orders as a client reads them.
func (s *shield) isHere() string {
	var all [][2]string
	for _, o := range s.orders() {
		status := o.Status
		if slices.Contains([]string{"canceled", "expired", "rejected"}, status) {
			status = "ended"
			if o.Filled != "0" {
				status += " in part"
			}
		}
		all = append(all, [2]string{o.Role, status})
	}
	return list(all)
}

// becomes waits until the venue and the program have the group as described.
func (s *shield) becomes(venue, here string, then func()) {
	s.Helper()
	venue, here = s.asked(venue), s.asked(here)
	var there, known string
	limit := patience
	if strings.HasPrefix(here, "entry ended, stop_loss ended") {
		limit *= 2 // of which the program waits one
	}
	if !s.within(limit, func() bool {
		then()
		there, known = s.venueHas(), s.isHere()
		return there == venue && known == here
	}) {
		s.Fatalf("the venue has %q, want %q; here are %q, want %q", there, venue, known, here)
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
		m.bring(s.holder)(s)
	}
	s.program.kill()
	s.unlock()
	s.unhang()
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

// judge holds what is found after the start against what must be.
func (s *shield) judge(m step) string {
	s.Helper()
	up := func() {
		if m.up != nil {
			m.up(s)
		}
	}
	s.becomes(m.venue, m.here, up)
	s.asAsked()
	s.safe(m.state)
	if m.bring != nil {
		s.again(m)
	}
	if m.ends != "" && *patient {
		s.becomes(m.venue, m.ends, up)
	}
	if out, err := run(s, "audit", "verify", "--home", s.home); err != nil || !strings.Contains(out, "unbroken") {
		s.Errorf("%v: %s", err, out)
	}
	found := s.asked(m.venue) + " | " + s.asked(m.here)
	if m.ends != "" {
		found += ", after a minute canceled"
	}
	return found
}

// again calls as a client does that got no answer: the group is there once.
func (s *shield) again(m step) {
	s.Helper()
	before := s.head()
	answer := s.program.must("place_order", s.order(key))
	var r record
	if err := json.Unmarshal([]byte(answer.text), &r); err != nil || answer.isError {
		s.Errorf("%v: %s", err, answer.text)
	}
	if m.here != "nothing" {
		if r.ID != before || s.venueHas() != s.asked(m.venue) {
			s.Errorf("called again it is %s, and was order %s; the venue has %s", answer.text, before, s.venueHas())
		}
		return
	}
	s.becomes(working, protected, func() {})
	s.asAsked()
}

// asAsked holds the legs at the venue against the request.
func (s *shield) asAsked() {
	s.Helper()
	h := s.holder
	for _, o := range h.truth(s) {
		switch {
		case o.role == "stop_loss" && !o.stop.Equal(h.stop), o.role == "take_profit" && !o.price.Equal(h.target),
			o.role == "entry" && !o.quantity.Equal(h.quantity), o.role != "entry" && o.status != "held" && o.status != "ended" && o.quantity.GreaterThan(h.quantity):
			s.Errorf("the venue has %+v", o)
		}
	}
}

// safe holds that a position has its stop, or that the program says that it has none.
func (s *shield) safe(state string) {
	s.Helper()
	held, stops := decimal.Zero, decimal.Zero
	for _, o := range s.holder.truth(s) {
		if o.role == "entry" {
			held = held.Add(o.filled)
		} else {
			held = held.Sub(o.filled)
		}
		if o.role == "stop_loss" && o.status == "open" {
			stops = stops.Add(o.quantity.Sub(o.filled))
		}
	}
	if held.Sub(held.Mul(s.holder.fee)).GreaterThan(stops) && state == "" || stops.GreaterThan(held) && stops.IsPositive() {
		s.Errorf("%s are held, and stops are for %s", held, stops)
	}
	var account struct {
		State string `json:"trading_state"`
		Why   string `json:"why"`
	}
	if !s.within(patience, func() bool {
		account.Why = ""
		if err := json.Unmarshal([]byte(s.program.must("get_account", `{}`).text), &account); err != nil {
			s.Fatal(err)
		}
		return state == "" && account.State == "ACTIVE" || state != "" && account.State == "REDUCING" && strings.HasPrefix(account.Why, state)
	}) {
		s.Errorf("trading is %s (%s), want %q", account.State, account.Why, state)
	}
}

// TestCrash_Groups kills the program with SIGKILL at every step of a group of orders: an
// entry with a stop, or with a stop and a target.
func TestCrash_Groups(t *testing.T) { //nolint:tparallel // the group of all cells ends when they have
	t.Parallel()
	steps := append(placeGroup(), while()...)
	venues := map[string]func(testing.TB, string, int) *holder{"binance": heldByBinance, "alpaca": heldByAlpaca, "paper": heldOnPaper}
	t.Run("cells", func(t *testing.T) {
		for _, m := range steps {
			for name, at := range venues {
				for legs := 1; legs <= 2; legs++ {
					home := newHome(t)
					h := at(t, home, legs)
					if m.places != nil && !slices.Contains(m.places, name) || m.bring != nil && m.bring(h) == nil || m.two && legs < 2 {
						continue
					}
					t.Run(name+", "+m.name+", "+[]string{"one leg", "two legs"}[legs-1], func(t *testing.T) {
						t.Parallel()
						s := &shield{scene: &scene{T: t, venue: h.venue, home: home, reply: make(chan error, 1)}, holder: h, legs: legs}
						t.Log(m.name + " | " + name + " | " + s.play(m))
					})
				}
			}
		}
	})
}
