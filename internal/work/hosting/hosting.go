// Package hosting is what a host of many owners can ask for and do: find people, look at one, and change many in one call with a
// result for each. The commands on the control socket and the host's desk use it. Nobody's orders, positions or notes are in it.
package hosting

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/lib/fault"
)

const (
	// MaxChosen bounds the owners of one call.
	MaxChosen = 100_000
	// atOnce is how many owners are changed at a time: each waits for the disk, or for other replicas.
	atOnce = 16
	// maxText bounds a reason and the name of who acts, in bytes.
	maxText = 200
)

// Act is what a host does with an owner.
type Act string

// The acts. EndLogins without a client ends everything that was approved for an owner.
const (
	Suspend   Act = "suspend"
	Resume    Act = "resume"
	SetPlan   Act = "plan"
	Halt      Act = "halt"
	Lift      Act = "lift" // of a halt
	EndLogins Act = "end"
	Erase     Act = "erase"
)

// Acts returns all acts.
func Acts() []Act { return []Act{Suspend, Resume, SetPlan, Halt, Lift, EndLogins, Erase} }

// Order is what shall be done with each of some owners.
type Order struct {
	Act    Act    `json:"act"`
	Plan   string `json:"plan,omitempty"`   // of SetPlan
	Reason string `json:"reason,omitempty"` // of Halt; the owner reads it
	Client string `json:"client,omitempty"` // of EndLogins: the id of a token
}

// Result is what became of one owner.
type Result struct {
	Owner principal.Owner `json:"owner"`
	State owners.State    `json:"state,omitempty"`
	Plan  string          `json:"plan,omitempty"`
	Ended int             `json:"ended,omitempty"` // clients and browser logins
	Proof *owners.Erasure `json:"proof,omitempty"` // of an erasure
	Error *fault.Error    `json:"error,omitempty"` // nil if it was done
}

// Choice says which owners are meant: those with some ids, or those that a filter chooses.
type Choice struct {
	IDs    []principal.Owner `json:"ids,omitempty"`
	Filter owners.Filter     `json:"filter,omitzero"`
}

// People are the records of owners. owners.Desk implements it.
type People interface {
	List(ctx context.Context, after principal.Owner, f owners.Filter, limit int) (owners.Page, error)
	Show(ctx context.Context, id principal.Owner) (owners.Detail, error)
	Suspend(ctx context.Context, id principal.Owner) (owners.Owner, error)
	Resume(ctx context.Context, id principal.Owner) (owners.Owner, error)
	SetPlan(ctx context.Context, id principal.Owner, plan string) (owners.Owner, error)
	Link(ctx context.Context, id principal.Owner, issuer, subject string) (owners.Owner, error)
	Export(ctx context.Context, id principal.Owner, row func(owners.ExportedRow) error) error
	Erase(ctx context.Context, id principal.Owner) (owners.Erasure, error)
}

// Trader halts the accounts of single owners.
type Trader interface {
	HaltOwner(ctx context.Context, owner principal.Owner, who, reason string, all bool) (guard.State, error)
	ResumeOwner(ctx context.Context, owner principal.Owner, who string) (guard.State, error)
}

// Desk carries out what a host asks for. It is safe for concurrent use.
type Desk struct {
	People
	Logins owners.Logins
	Trader Trader
	// Note adds an event to the audit log.
	Note func(ctx context.Context, kind, about string, body []byte) error
	// Failed logs a failure whose text the host does not see.
	Failed func(ctx context.Context, err error)

	counted *figures
}

// New returns a Desk without a trader and an audit log.
func New(people People, logins owners.Logins) *Desk {
	return &Desk{People: people, Logins: logins, counted: newFigures()}
}

// Chosen returns the owners that a choice means, each once. A filter must say something: all owners are never meant by leaving
// words out.
func (d *Desk) Chosen(ctx context.Context, c Choice) ([]principal.Owner, error) {
	switch filtered := c.Filter != (owners.Filter{}); {
	case len(c.IDs) > 0 && filtered:
		return nil, fault.New(fault.Invalid, "ids_and_filter", "name owners by their ids, or choose them by state and plan, not both")
	case len(c.IDs) > 0:
		return once(c.IDs)
	case !filtered:
		return nil, fault.Missing("ids", "ids of owners, or a state or a plan that chooses them")
	}
	if _, err := owners.ParseState(string(c.Filter.State)); err != nil {
		return nil, err
	}
	page, err := d.List(ctx, "", c.Filter, MaxChosen)
	if err != nil {
		return nil, err
	}
	if page.More {
		return nil, tooMany()
	}
	ids := make([]principal.Owner, len(page.Owners))
	for i, o := range page.Owners {
		ids[i] = o.ID
	}
	return ids, nil
}

func once(ids []principal.Owner) ([]principal.Owner, error) {
	seen := make(map[principal.Owner]bool, len(ids))
	var all []principal.Owner
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			all = append(all, id)
		}
	}
	if len(all) > MaxChosen {
		return nil, tooMany()
	}
	return all, nil
}

func tooMany() error {
	return fault.New(fault.Invalid, "too_many_owners", "one call changes at most %d owners; choose fewer, by state, by plan or by their ids", MaxChosen)
}

// Check returns an error for an order that can be carried out for nobody.
func (o Order) Check() error {
	known := false
	names := make([]string, 0, len(Acts()))
	for _, a := range Acts() {
		names = append(names, string(a))
		known = known || a == o.Act
	}
	switch {
	case !known:
		return fault.Field("act", string(o.Act), "one of "+fmt.Sprint(names), names...)
	case o.Act == SetPlan && o.Plan == "":
		return fault.Missing("plan", "the name of a plan")
	case len(o.Reason) > maxText:
		return fault.Field("reason", o.Reason[:maxText], fmt.Sprintf("a text of at most %d bytes", maxText))
	}
	return nil
}

// Do carries out an order for owners and yields a result for each, in their order. Several are at work at a time. When the caller
// stops, those that were begun are finished.
func (d *Desk) Do(ctx context.Context, by string, o Order, ids []principal.Owner) iter.Seq[Result] {
	ctx = owners.WithActor(ctx, fault.Clean(by, maxText))
	return func(yield func(Result) bool) {
		for some := range slices.Chunk(ids, atOnce) {
			results := make([]Result, len(some))
			var work sync.WaitGroup
			for i, id := range some {
				work.Go(func() { results[i] = d.one(ctx, o, id) })
			}
			work.Wait()
			for _, r := range results {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// one carries out an order for one owner.
func (d *Desk) one(ctx context.Context, o Order, id principal.Owner) (r Result) {
	r.Owner = id
	err := ctx.Err()
	if err == nil {
		err = o.Check()
	}
	if err == nil {
		err = d.change(ctx, o, id, &r)
	}
	if err == nil {
		return r
	}
	if r.Error = fault.Of(err); r.Error == nil || r.Error.Kind == fault.Internal {
		if d.Failed != nil && ctx.Err() == nil {
			d.Failed(ctx, fmt.Errorf("%s of owner %s: %w", o.Act, id, err))
		}
		r.Error = &fault.Error{Kind: fault.Unavailable, Code: "not_finished", Field: "owner", Value: string(id), Message: "This was not finished, so whether it took effect is unknown. The log of the server has the reason. Try again."}
	}
	return r
}

func (d *Desk) change(ctx context.Context, o Order, id principal.Owner, r *Result) error {
	var now owners.Owner
	var err error
	switch o.Act {
	case Suspend:
		now, err = d.Suspend(ctx, id)
	case Resume:
		now, err = d.Resume(ctx, id)
	case SetPlan:
		now, err = d.SetPlan(ctx, id, o.Plan)
	case Erase:
		var proof owners.Erasure
		proof, err = d.Erase(ctx, id)
		now.State, r.Proof = owners.Erased, &proof
	case Halt, Lift, EndLogins:
		return d.act(ctx, o, id, r)
	}
	if err == nil {
		r.State, r.Plan = now.State, now.Plan
	} else {
		r.Proof = nil
	}
	return err
}

// act carries out what no record of an owner keeps, and notes it.
func (d *Desk) act(ctx context.Context, o Order, id principal.Owner, r *Result) error {
	of, err := d.Show(ctx, id)
	if err != nil {
		return err
	}
	r.State, r.Plan = of.State, of.Plan
	switch {
	case o.Act == EndLogins && o.Client != "":
		if err = d.Logins.Revoke(ctx, id, o.Client); err == nil {
			r.Ended = 1
		} else if owners.IsGone(err) {
			err = &fault.Error{Kind: fault.NotFound, Code: "no_such_client", Field: "client", Value: o.Client, Message: "This person has no client or login of that id: it has ended, or its time is over."}
		}
	case o.Act == EndLogins:
		tokens, failed := owners.EndLogins(ctx, d.Logins, id)
		r.Ended, err = len(tokens), failed
	case d.Trader == nil:
		return fault.New(fault.Unsupported, "no_trading", "this program has no accounts to halt: start it with --trade")
	case o.Act == Halt:
		_, err = d.Trader.HaltOwner(ctx, id, ByDesk, o.Reason, false)
	default:
		_, err = d.Trader.ResumeOwner(ctx, id, ByDesk)
	}
	if err != nil {
		return err
	}
	return d.note(ctx, "host_"+string(o.Act), string(id), event{Client: o.Client, Reason: o.Reason, Ended: r.Ended})
}

// ByDesk is who halts and lifts a halt, as the owner reads it. The audit log says which person.
const ByDesk = "the host"

// event is what the audit log says about an act of the host that no record keeps.
type event struct {
	By     string `json:"by,omitempty"`
	Client string `json:"client,omitempty"`
	Reason string `json:"reason,omitempty"`
	Ended  int    `json:"ended,omitempty"`
	People int    `json:"people,omitempty"`
}

func (d *Desk) note(ctx context.Context, kind, about string, e event) error {
	if d.Note == nil {
		return nil
	}
	e.By = owners.Actor(ctx)
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return d.Note(ctx, kind, about, body)
}

// NoteExport records that a host reads what there is of an owner.
func (d *Desk) NoteExport(ctx context.Context, by string, id principal.Owner) error {
	return d.note(owners.WithActor(ctx, by), "host_export", string(id), event{})
}

// NoteNames records that a host looks at the names of so many people.
func (d *Desk) NoteNames(ctx context.Context, by string, people int) error {
	return d.note(owners.WithActor(ctx, by), "host_names", "", event{People: people})
}
