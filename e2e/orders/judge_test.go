package orders

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

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
func (s *shield) head() string { return s.orderOf("entry") }

// orderOf returns the ID of the newest order of a role.
func (s *shield) orderOf(role string) string {
	for _, o := range s.orders() {
		if o.Role == role {
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
	if here != venue && strings.Contains(here, "ended") {
		limit *= 3 // of which the program waits one before it gives an order up
	}
	if !s.within(limit, func() bool {
		then()
		there, known = s.venueHas(), s.isHere()
		return there == venue && known == here
	}) {
		s.Fatalf("the venue has %q, want %q; here are %q, want %q", there, venue, known, here)
	}
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
	s.asAsked(m.plan)
	s.exact()
	s.safe(m.state)
	if m.keyed {
		s.again(m)
	}
	if m.ends != "" && *patient {
		s.becomes(cmp.Or(m.healed, m.venue), m.ends, up)
		s.safe("")
	}
	if m.heals && *patient {
		s.within(3*patience, func() bool { held, stops := s.protection(); return held.Equal(stops) })
		s.safe("")
	}
	checkReceipts(s, s.home)
	if out, err := run(s, "audit", "verify", "--home", s.home); err != nil || !strings.Contains(out, "unbroken") {
		s.Errorf("%v: %s", err, out)
	}
	found := s.asked(m.venue) + " | " + s.asked(m.here)
	if m.state != "" {
		found += "; `" + m.state + "`, REDUCING"
	}
	switch {
	case m.healed != "" || m.heals:
		found += "; after a minute others in their place"
	case m.ends != "":
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
	s.asAsked(nil)
}

// asAsked holds the orders that wait at the venue against the plan, which is that of the entry if nothing
// has changed it.
func (s *shield) asAsked(plan func(*holder) []prices) {
	s.Helper()
	h := s.holder
	first := prices{stop: h.stop, target: h.target}
	lines := []prices{first}
	if plan != nil {
		lines = plan(h)
	}
	fits := func(o placed, p prices) bool {
		if o.role == "take_profit" {
			return o.price.Equal(p.target)
		}
		return o.trail.Equal(p.trail) && (p.trail.IsPositive() || o.stop.Equal(p.stop))
	}
	for _, o := range h.truth(s) {
		switch o.role {
		case "entry":
			if !o.quantity.Equal(h.quantity) {
				s.Errorf("the venue has %+v", o)
			}
		case "stop_loss", "take_profit":
			i := slices.IndexFunc(lines, func(p prices) bool { return fits(o, p) })
			if o.status != "ended" && i < 0 || i < 0 && !fits(o, first) || o.status == "open" && o.quantity.GreaterThan(h.quantity) {
				s.Errorf("the venue has %+v, and the plan is %+v", o, lines)
			}
		}
	}
}

// exact holds what was bought and sold, and for how much, against the venue.
func (s *shield) exact() {
	s.Helper()
	here, there := make(map[string]decimal.Decimal), make(map[string]decimal.Decimal)
	for _, o := range s.holder.truth(s) {
		there[o.role] = there[o.role].Add(o.cost)
		there[o.role+" quantity"] = there[o.role+" quantity"].Add(o.filled)
	}
	for _, o := range s.orders() {
		if filled := dec(o.Filled); o.Average != nil {
			here[o.Role] = here[o.Role].Add(o.Average.Mul(filled))
			here[o.Role+" quantity"] = here[o.Role+" quantity"].Add(filled)
		}
	}
	for what, want := range there {
		if off := here[what].Sub(want).Abs(); off.GreaterThan(dec("0.000001")) { // an average is rounded
			s.Errorf("%s is %s here and %s at the venue", what, here[what], want)
		}
	}
}

// protection returns how much is held at the venue, and how much of it stops would close. The fee of a
// purchase may be missing in a stop.
func (s *shield) protection() (held, stops decimal.Decimal) {
	fees := decimal.Zero
	for _, o := range s.holder.truth(s) {
		if o.role == "entry" {
			held = held.Add(o.filled)
			fees = fees.Add(o.filled.Mul(s.holder.fee))
		} else {
			held = held.Sub(o.filled)
		}
		if o.role == "stop_loss" && o.status == "open" {
			stops = stops.Add(o.quantity.Sub(o.filled))
		}
	}
	if stops.LessThan(held) && stops.Add(fees).GreaterThanOrEqual(held) {
		stops = held
	}
	return held, stops
}

// safe holds that a position has its stop, or that the program says that it has none.
func (s *shield) safe(state string) {
	s.Helper()
	if held, stops := s.protection(); held.GreaterThan(stops) && state == "" || stops.GreaterThan(held) && stops.IsPositive() {
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

// becomesThere waits until the venue has the group as described.
func (s *shield) becomesThere(venue string) {
	s.Helper()
	s.await(venue, func() bool { return s.venueHas() == s.asked(venue) })
}
