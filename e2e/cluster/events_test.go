package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// orderEvents is the order events that came one way.
type orderEvents struct {
	name  string
	all   []orderEvent // by their numbers, each once
	again int          // how often a number came again
	wrong []string
}

// orderEvent is an order event as far as it is judged here.
type orderEvent struct {
	Event string
	Order string `json:"order_id"`
	State string `json:"trading_state"`
	At    string
	Seq   uint64
}

func (p *people) newEvents(name string) *orderEvents {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := &orderEvents{name: name}
	p.orderEvents = append(p.orderEvents, to)
	return to
}

// isOrderEvent reports whether a record is that of an order event, and notes it. Nobody gets one who did not ask: to is
// nil for those.
func (p *people) isOrderEvent(to *orderEvents, data json.RawMessage) bool {
	var e orderEvent
	if json.Unmarshal(data, &e) != nil || e.Event == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if to == nil {
		p.Errorf("a client that did not ask received an order event: %s", data)
		return true
	}
	to.add(e)
	return true
}

func (t *orderEvents) add(e orderEvent) {
	at, known := slices.BinarySearchFunc(t.all, e.Seq, func(e orderEvent, seq uint64) int { return int(e.Seq) - int(seq) })
	switch {
	case !known:
		t.all = slices.Insert(t.all, at, e)
	case t.all[at] != e:
		t.wrong = append(t.wrong, fmt.Sprintf("number %d is of %+v and of %+v", e.Seq, t.all[at], e))
	default:
		t.again++
	}
}

// judge compares the events with the orders as they are now.
func (t *orderEvents) judge(deals []*deal, now map[string]record) []string {
	wrong := slices.Clone(t.wrong)
	counts, known, state := map[string]int{}, map[string]bool{}, "ACTIVE"
	for _, d := range deals {
		known[d.id] = true
	}
	for _, e := range t.all {
		switch {
		case e.Event == "trading_state" && e.State == state:
			wrong = append(wrong, "DOUBLED: trading is "+state+" again")
		case e.Event == "trading_state":
			state = e.State
		case e.Order != "" && !known[e.Order]:
			wrong = append(wrong, fmt.Sprintf("%+v is of no order", e))
		}
		if e.Event != "order_part_filled" {
			counts[e.Event+" "+e.Order]++
		}
	}
	for _, d := range deals {
		for event, want := range d.reports(now[d.id].Status) {
			switch got := counts[event+" "+d.id]; {
			case got < want[0]:
				wrong = append(wrong, fmt.Sprintf("LOST: %s of %s, which is %s", event, d.key, now[d.id].Status))
			case got > want[1]:
				wrong = append(wrong, fmt.Sprintf("DOUBLED: %s of %s, which is %s, came %d times, want %d at most", event, d.key, now[d.id].Status, got, want[1]))
			}
		}
	}
	return wrong
}

// reports returns how often each event of an order must be heard, at least and at most.
func (d *deal) reports(status string) map[string][2]int {
	want := map[string][2]int{"order_filled": {}, "order_ended": {}}
	switch {
	case d.id == "":
		return nil
	case status == "filled":
		want["order_filled"] = [2]int{1, 1}
	case status == "expired", status == "canceled" && !d.cancels && d.price.IsZero(): // the client did not cancel it
		want["order_ended"] = [2]int{1, 1}
	case status == "rejected", status == "canceled":
		want["order_ended"] = [2]int{0, 1} // the answer may say so
	}
	return want
}

// judgeEvents waits until all order events have come to all who asked for them, and reports what is wrong. It returns the
// figures.
func (p *people) judgeEvents(a *account) string {
	p.Helper()
	var wrong []string
	for deadline := time.Now().Add(2 * time.Minute); ; {
		p.mu.Lock()
		wrong = nil
		for _, to := range p.orderEvents {
			for _, text := range to.judge(p.deals, a.now) {
				wrong = append(wrong, to.name+": "+text)
			}
			if !slices.Equal(to.all, p.orderEvents[0].all) {
				wrong = append(wrong, fmt.Sprintf("%s heard %d events, %s %d, which differ", to.name, len(to.all), p.orderEvents[0].name, len(p.orderEvents[0].all)))
			}
		}
		p.mu.Unlock()
		if len(wrong) == 0 || time.Now().After(deadline) || !p.pause(time.Second) {
			break
		}
	}
	for i, text := range wrong {
		if i < 10 {
			p.Error(text)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	texts := make([]string, len(p.orderEvents))
	for i, to := range p.orderEvents {
		if texts[i] = fmt.Sprintf("%s %d, %d again", to.name, len(to.all), to.again); to.again > 0 && i < len(p.orderEvents)-1 {
			p.Errorf("DOUBLED: %d events were pushed twice to %s", to.again, to.name)
		}
	}
	return fmt.Sprintf("order events of %d orders, %d wrong: %s", a.acked, len(wrong), strings.Join(texts, "; "))
}

// TestEvents_WhatIsWrongIsFound judges made-up events.
func TestEvents_WhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	deals := []*deal{{key: "k1", id: "o1"}, {key: "k2", id: "o2"}, {key: "k3", id: "o3", cancels: true}, {key: "k4"}}
	now := map[string]record{"o1": {Status: "filled"}, "o2": {Status: "canceled"}, "o3": {Status: "canceled"}}
	filled, ended := orderEvent{Event: "order_filled", Order: "o1", Seq: 1}, orderEvent{Event: "order_ended", Order: "o2", Seq: 2}
	for name, c := range map[string]struct {
		events []orderEvent
		wrong  string
	}{
		"nothing":             {[]orderEvent{filled, ended}, ""},
		"the same again":      {[]orderEvent{filled, ended, filled}, ""},
		"a fill is lost":      {[]orderEvent{ended}, "LOST: order_filled of k1"},
		"an end is lost":      {[]orderEvent{filled}, "LOST: order_ended of k2"},
		"a fill twice":        {[]orderEvent{filled, ended, {Event: "order_filled", Order: "o1", Seq: 3}}, "DOUBLED: order_filled of k1"},
		"a fill of no order":  {[]orderEvent{filled, ended, {Event: "order_filled", Order: "o9", Seq: 3}}, "of no order"},
		"a number of two":     {[]orderEvent{filled, ended, {Event: "order_filled", Order: "o2", Seq: 1}}, "number 1 is of"},
		"a state twice":       {[]orderEvent{filled, ended, {Event: "trading_state", State: "ACTIVE", Seq: 3}}, "DOUBLED: trading is ACTIVE"},
		"states that change":  {[]orderEvent{filled, ended, {Event: "trading_state", State: "HALTED", Seq: 3}, {Event: "trading_state", State: "ACTIVE", Seq: 4}}, ""},
		"what was not filled": {[]orderEvent{filled, ended, {Event: "order_filled", Order: "o3", Seq: 3}}, "DOUBLED: order_filled of k3"},
	} {
		to := &orderEvents{}
		for _, e := range c.events {
			to.add(e)
		}
		if wrong := strings.Join(to.judge(deals, now), "; "); (wrong == "") != (c.wrong == "") || !strings.Contains(wrong, c.wrong) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
