package mcp

import (
	"sync/atomic"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/meter"
)

// outcome is what became of a message.
type outcome uint8

// The outcomes; those of a tool that failed follow, one for each kind of fault.
const (
	succeeded outcome = iota
	cancelled
	rejected // an error of the protocol
	failedAs
)

const outcomes = int(failedAs) + int(fault.Unsupported) + 1

func (o outcome) String() string {
	switch o {
	case succeeded:
		return "ok"
	case cancelled:
		return "cancelled"
	case rejected:
		return "rejected"
	default:
		return fault.Kind(o - failedAs).String()
	}
}

// tally counts messages of one name.
type tally struct {
	count [outcomes]atomic.Uint64
	took  meter.Histogram
}

// tallies counts messages by names that are known beforehand, so that no client can
// make them more. The maps are never changed.
type tallies struct {
	methods, tools map[string]*tally
}

const otherMethod = "other"

func newTallies(tools []Tool) tallies {
	t := tallies{methods: map[string]*tally{}, tools: map[string]*tally{}}
	for _, name := range []string{methodInitialize, "ping", methodListTools, methodCallTool, otherMethod} {
		t.methods[name] = &tally{}
	}
	for _, tool := range tools {
		t.tools[tool.Name] = &tally{}
	}
	return t
}

// add counts a message.
func (t *tallies) add(e *entry, took time.Duration) {
	o := e.outcome
	switch {
	case e.cancelled:
		o = cancelled
	case e.code != 0:
		o = rejected
	}
	method := t.methods[e.method]
	if method == nil {
		method = t.methods[otherMethod]
	}
	method.add(o, took)
	if tool := t.tools[e.tool]; tool != nil {
		tool.add(o, took)
	}
}

func (t *tally) add(o outcome, took time.Duration) {
	t.count[o].Add(1)
	t.took.Observe(took)
}

// Stats is how many messages were answered since the start, by method and, of
// those, the calls of tools by tool.
type Stats struct {
	Methods, Tools map[string]Tally
}

// Tally is how many messages of one name had which outcome, and how long they took.
// The outcomes are ok, cancelled, rejected by the protocol, and the kinds of faults.
type Tally struct {
	Outcomes map[string]uint64
	Took     meter.Reading
}

// Stats returns what was counted so far.
func (s *Server) Stats() Stats {
	return Stats{Methods: readAll(s.tallies.methods), Tools: readAll(s.tallies.tools)}
}

func readAll(tallies map[string]*tally) map[string]Tally {
	all := make(map[string]Tally, len(tallies))
	for name, t := range tallies {
		one := Tally{Outcomes: make(map[string]uint64, outcomes), Took: t.took.Read()}
		for i := range t.count {
			one.Outcomes[outcome(i).String()] = t.count[i].Load()
		}
		all[name] = one
	}
	return all
}
