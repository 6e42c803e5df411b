package deploy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Journal keeps the journals of accounts. An append that returns nil is durable.
type Journal interface {
	AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error
	Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error]
	Journals(ctx context.Context) (map[principal.Owner][]string, error)
}

// namePrefix begins the name of a deployment's journal; its id ends it.
const namePrefix = "strategy "

// The kinds of journal entries.
const (
	entryProposed = "proposed"
	entryDeclined = "declined"
	entryStarted  = "started"
	entryBars     = "bars" // a block without intents
	entryBar      = "bar"  // one bar with its intents
	entryPaused   = "paused"
	entryResumed  = "resumed"
	entryPromoted = "promoted"
	entryLeft     = "left" // the account that it traded on before a promotion
	entryStopping = "stopping"
	entryStopped  = "stopped"
	entryEngine   = "engine" // a newer version computes the same
)

// entry is one entry of a journal.
type entry struct {
	Kind       string      `json:"kind"`
	At         time.Time   `json:"at"`
	By         string      `json:"by,omitempty"`
	Deployment *Deployment `json:"deployment,omitempty"` // of a proposal
	Stage      Stage       `json:"stage,omitempty"`
	Account    string      `json:"account,omitempty"`  // of a start or a promotion: where it trades
	Accepted   []string    `json:"accepted,omitempty"` // of a promotion: gates that were not met
	Through    int64       `json:"through,omitempty"`  // of a start, a promotion or a resume: the newest bar that is history
	Limits     *Limits     `json:"limits,omitempty"`
	Cause      Cause       `json:"cause,omitempty"`
	Detail     string      `json:"detail,omitempty"`
	Close      bool        `json:"close,omitempty"` // of a stop
	Engine     int         `json:"engine,omitempty"`
	Bars       int         `json:"bars,omitempty"`  // in Block, to Through; a journal of before has none
	Block      []byte      `json:"block,omitempty"` // of bars
	Bar        []byte      `json:"bar,omitempty"`   // one bar as it is, in place of Block
	Late       bool        `json:"late,omitempty"`  // the bar came too late for entries
	Intents    written     `json:"intents,omitzero"`

	one  [1]market.Bar // of Bar
	text []byte        // of a block that was not read yet
}

// silent reports whether nobody hears of an entry: it changes nothing that was decided.
func (e *entry) silent() bool {
	return e.Kind == entryBar || e.Kind == entryBars || e.Kind == entryEngine || e.Kind == entryLeft
}

// mostRecent bounds the intents that are kept in memory.
const mostRecent = 100

// apply adds an entry to what is known of a deployment.
func (d *Deployment) apply(e *entry) error {
	if d.State.Final() && (e.Kind == entryPaused || e.Kind == entryResumed) {
		return nil
	}
	switch e.Kind {
	case entryProposed:
		if e.Deployment == nil {
			return errors.New("a proposal without a deployment")
		}
		id := d.ID
		*d = *e.Deployment
		d.ID, d.State, d.ProposedAt, d.ProposedBy = id, Proposed, e.At, e.By
	case entryStarted:
		d.State, d.Stage, d.Account, d.StartedAt, d.StartedBy, d.history = Running, e.Stage, e.Account, e.At, e.By, e.Through
		d.limit(e.Limits)
	case entryPromoted:
		d.leaving, d.Stage, d.Account, d.PromotedAt, d.PromotedBy, d.Accepted, d.history = d.Stage, e.Stage, e.Account, e.At, e.By, e.Accepted, e.Through
		d.limit(e.Limits)
	case entryLeft:
		d.leaving = ""
	case entryPaused:
		d.State, d.Cause, d.Detail = Paused, e.Cause, e.Detail
		if e.Cause != ByOwner {
			d.troubled = e.At
		}
	case entryResumed:
		d.State, d.Cause, d.Detail, d.history = Running, "", "", max(d.history, e.Through)
		d.limit(e.Limits)
	case entryStopping:
		d.State, d.StoppedBy, d.Close, d.Cause, d.Detail = Stopping, e.By, e.Close, "", ""
	case entryDeclined, entryStopped:
		d.State, d.StoppedBy, d.EndedAt, d.Cause, d.Detail = Stopped, e.By, e.At, e.Cause, e.Detail
		if e.Kind == entryDeclined {
			d.State = Declined
		}
	case entryEngine:
		d.engine = e.Engine
	case entryBars, entryBar:
	default:
		return fmt.Errorf("an entry of the unknown kind %q: it was written by a newer version", e.Kind)
	}
	return nil
}

// limit sets limits, if there are any.
func (d *Deployment) limit(to *Limits) {
	if to != nil {
		d.Limits = *to
	}
}

// note counts bars and keeps the intents of the newest.
func (d *Deployment) note(bars int, through int64, intents written) {
	d.Bars += bars
	d.Through = through
	n := intents.count()
	if n == 0 {
		return
	}
	d.Intents += n
	d.recent = append(d.recent, wantedAt{through, intents})
	if n := len(d.recent); n > 2*mostRecent {
		d.recent = slices.Clone(d.recent[n-mostRecent:])
	}
}

// bars returns the bars of an entry, none if it has none.
func (e *entry) bars() ([]market.Bar, error) {
	if e.Kind != entryBar && e.Kind != entryBars {
		return nil, nil
	}
	if len(e.Bar) == barBytes {
		e.one[0] = barFrom(e.Bar)
		return e.one[:], nil
	}
	if len(e.text) > 0 {
		block, err := base64.StdEncoding.AppendDecode(nil, e.text)
		if err != nil {
			return nil, fmt.Errorf("a block of bars cannot be read: %w", err)
		}
		return unpack(block)
	}
	return unpack(e.Block)
}

// noteIn counts the bars of an entry, which need not be read where it says how many there are.
func (e *entry) noteIn(d *Deployment) error {
	if e.Kind == entryBars && e.Bars > 0 {
		d.note(e.Bars, e.Through, e.Intents)
		return nil
	}
	bars, err := e.bars()
	if n := len(bars); n > 0 {
		d.note(n, bars[n-1].T, e.Intents)
	}
	return err
}

// encode writes entries.
func encode(entries ...*entry) ([][]byte, error) {
	out := make([][]byte, len(entries))
	for i, e := range entries {
		var err error
		if out[i], err = json.Marshal(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// blockOf returns the entry of bars without intents.
func blockOf(bars []market.Bar) (*entry, error) {
	block, err := pack(bars)
	return &entry{Kind: entryBars, Block: block, Bars: len(bars), Through: bars[len(bars)-1].T}, err
}

// barOf returns the entry of a bar with intents.
func barOf(b *market.Bar, intents []Intent, late bool) *entry {
	return &entry{Kind: entryBar, Bar: barTo(nil, b), Intents: written{appendIntents(nil, intents)}, Late: late}
}
