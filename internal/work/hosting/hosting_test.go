package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// people are records of owners in memory. An id of "broken" fails.
type people struct {
	hosting.People
	ids       []principal.Owner
	working   atomic.Int32
	suspended atomic.Int32

	mu   sync.Mutex
	most int32
}

func (p *people) List(_ context.Context, _ principal.Owner, _ owners.Filter, limit int) (owners.Page, error) {
	var page owners.Page
	for _, id := range p.ids[:min(limit, len(p.ids))] {
		page.Owners = append(page.Owners, owners.Owner{ID: id})
	}
	page.More = len(p.ids) > limit
	return page, nil
}

func (p *people) Show(_ context.Context, id principal.Owner) (owners.Detail, error) {
	if id == "nobody" {
		return owners.Detail{}, owners.NotFound(id)
	}
	return owners.Detail{Owner: owners.Owner{ID: id, State: owners.Active}}, nil
}

func (p *people) Suspend(ctx context.Context, id principal.Owner) (owners.Owner, error) {
	now := p.working.Add(1)
	defer p.working.Add(-1)
	p.mu.Lock()
	p.most = max(p.most, now)
	p.mu.Unlock()
	if id == "broken" {
		return owners.Owner{}, errors.New("a secret of the disk")
	}
	if owners.Actor(ctx) != "ann" {
		return owners.Owner{}, errors.New("by nobody")
	}
	p.suspended.Add(1)
	return owners.Owner{ID: id, State: owners.Suspended}, nil
}

// logins has a client "C1" of everybody.
type logins struct{}

func (logins) Tokens(context.Context, principal.Owner) ([]oauth.Token, error) {
	return []oauth.Token{{ID: "C1"}, {ID: "C2"}}, nil
}

func (logins) Revoke(_ context.Context, _ principal.Owner, id string) error {
	if id != "C1" && id != "C2" {
		return oauth.ErrNotFound
	}
	return nil
}

// trader records halts.
type trader struct{ asked []string }

func (t *trader) HaltOwner(_ context.Context, owner principal.Owner, who, reason string, _ bool) (guard.State, error) {
	t.asked = append(t.asked, string(owner)+" by "+who+": "+reason)
	return guard.State{}, nil
}

func (t *trader) ResumeOwner(context.Context, principal.Owner, string) (guard.State, error) {
	return guard.State{}, fault.New(fault.Conflict, "not_halted", "not halted")
}

func TestDesk_DoesEachAndSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	p := &people{}
	for i := range 100 {
		p.ids = append(p.ids, principal.Owner(fmt.Sprintf("owner-%02d", i)))
	}
	p.ids[50] = "broken"
	var failures []string
	d := hosting.New(p, nil)
	d.Failed = func(_ context.Context, err error) { failures = append(failures, err.Error()) }
	ids, err := d.Chosen(t.Context(), hosting.Choice{IDs: append(slices.Clone(p.ids), p.ids[0])})
	if err != nil || !slices.Equal(ids, p.ids) {
		t.Errorf("%v, %v", ids, err)
	}
	var got []principal.Owner
	for r := range d.Do(t.Context(), "ann", hosting.Order{Act: hosting.Suspend}, ids) {
		got = append(got, r.Owner)
		if failed := r.Error != nil; failed != (r.Owner == "broken") || failed && strings.Contains(r.Error.Error(), "secret") {
			t.Errorf("%s: %v", r.Owner, r.Error)
		}
	}
	if !slices.Equal(got, ids) || p.suspended.Load() != 99 || p.most > 16 {
		t.Errorf("%d results, %d suspended, %d at a time", len(got), p.suspended.Load(), p.most)
	}
	if len(failures) != 1 || !strings.Contains(failures[0], "a secret of the disk") {
		t.Errorf("logged: %q", failures)
	}
	for range d.Do(t.Context(), "ann", hosting.Order{Act: hosting.Suspend}, ids) {
		break
	}
	if n := p.suspended.Load(); n != 99+16 {
		t.Errorf("a call that was given up went on: %d", n)
	}
}

func TestDesk_ChoosesNobodyByAccident(t *testing.T) {
	t.Parallel()
	d := hosting.New(&people{ids: make([]principal.Owner, hosting.MaxChosen+1)}, nil)
	for name, c := range map[string]hosting.Choice{
		"nothing":          {},
		"both":             {IDs: []principal.Owner{"ann"}, Filter: owners.Filter{Plan: "pro"}},
		"an unknown state": {Filter: owners.Filter{State: "asleep"}},
		"too many":         {Filter: owners.Filter{State: owners.Active}},
	} {
		if ids, err := d.Chosen(t.Context(), c); err == nil || len(ids) > 0 {
			t.Errorf("%s: %d chosen", name, len(ids))
		}
	}
	for name, o := range map[string]hosting.Order{
		"no act": {}, "an unknown act": {Act: "delete"}, "no plan": {Act: hosting.SetPlan}, "a long reason": {Act: hosting.Halt, Reason: strings.Repeat("x", 201)},
	} {
		if o.Check() == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestDesk_NotesWhatNoRecordKeeps(t *testing.T) {
	t.Parallel()
	at, noted := &trader{}, []string{}
	d := hosting.New(&people{}, logins{})
	d.Trader, d.Note = at, func(_ context.Context, kind, about string, body []byte) error {
		noted = append(noted, kind+" "+about+" "+string(body))
		return nil
	}
	do := func(o hosting.Order, id principal.Owner) (last hosting.Result) {
		for r := range d.Do(t.Context(), "ann", o, []principal.Owner{id}) {
			last = r
		}
		return last
	}
	if r := do(hosting.Order{Act: hosting.Halt, Reason: "too fast"}, "bob"); r.Error != nil {
		t.Error(r.Error)
	}
	if r := do(hosting.Order{Act: hosting.EndLogins}, "bob"); r.Error != nil || r.Ended != 2 {
		t.Errorf("%+v", r)
	}
	if r := do(hosting.Order{Act: hosting.EndLogins, Client: "C1"}, "bob"); r.Error != nil || r.Ended != 1 {
		t.Errorf("%+v", r)
	}
	for _, err := range []error{d.NoteExport(t.Context(), "ann", "bob"), d.NoteNames(t.Context(), "ann", 50)} {
		if err != nil {
			t.Error(err)
		}
	}
	if r := do(hosting.Order{Act: hosting.EndLogins, Client: "C9"}, "bob"); r.Error == nil || r.Error.Code != "no_such_client" {
		t.Errorf("%+v", r)
	}
	if r := do(hosting.Order{Act: hosting.Lift}, "bob"); r.Error == nil || r.Error.Code != "not_halted" {
		t.Errorf("%+v", r)
	}
	if r := do(hosting.Order{Act: hosting.Halt}, "nobody"); r.Error == nil || r.Error.Kind != fault.NotFound {
		t.Errorf("%+v", r)
	}
	want := []string{
		`host_halt bob {"by":"ann","reason":"too fast"}`, `host_end bob {"by":"ann","ended":2}`, `host_end bob {"by":"ann","client":"C1","ended":1}`,
		`host_export bob {"by":"ann"}`, `host_names  {"by":"ann","people":50}`,
	}
	if !slices.Equal(noted, want) || !slices.Equal(at.asked, []string{"bob by the host: too fast"}) {
		t.Errorf("noted %q, asked %q", noted, at.asked)
	}
	d.Trader = nil
	if r := do(hosting.Order{Act: hosting.Halt}, "bob"); r.Error == nil || r.Error.Code != "no_trading" {
		t.Errorf("%+v", r)
	}
}
