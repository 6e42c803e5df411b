package hosting

import (
	"cmp"
	"context"
	"strings"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/kit/principal"
)

// figuresTime is how long figures about all people hold: they are counted in all records.
const figuresTime = 15 * time.Second

// Figures has figures about all people.
type Figures struct {
	At     time.Time            `json:"at"`
	Total  int                  `json:"total"`
	States map[owners.State]int `json:"states"`
	Plans  map[string]int       `json:"plans"` // of those who were not erased
	Seen   int                  `json:"seen"`  // signed in during the last 24 hours
	New    int                  `json:"new"`   // for the first time during the last seven days
}

// In returns how many people are in a state.
func (c Figures) In(state string) int { return c.States[owners.State(state)] }

// figures keeps the figures for a while.
type figures struct {
	turn chan struct{} // one count at a time
	last Figures
}

func newFigures() *figures { return &figures{turn: make(chan struct{}, 1)} }

// Figures returns figures that are a few seconds old at most.
func (d *Desk) Figures(ctx context.Context, now time.Time) (Figures, error) {
	kept := d.counted
	select {
	case kept.turn <- struct{}{}:
		defer func() { <-kept.turn }()
	case <-ctx.Done():
		return Figures{}, ctx.Err()
	}
	if age := now.Sub(kept.last.At); age >= 0 && age < figuresTime {
		return kept.last, nil
	}
	c := Figures{At: now.UTC(), States: map[owners.State]int{owners.Active: 0, owners.Suspended: 0, owners.Erased: 0}, Plans: map[string]int{}}
	err := d.each(ctx, "", owners.Filter{}, func(o owners.Owner) bool {
		c.Total++
		c.States[o.State]++
		if o.State != owners.Erased {
			c.Plans[cmp.Or(o.Plan, plan.Default)]++
		}
		if now.Sub(o.Last) < 24*time.Hour {
			c.Seen++
		}
		if now.Sub(o.First) < 7*24*time.Hour {
			c.New++
		}
		return true
	})
	if err == nil {
		kept.last = c
	}
	return c, err
}

// each passes on the people that a filter chooses, until it is enough.
func (d *Desk) each(ctx context.Context, after principal.Owner, f owners.Filter, do func(owners.Owner) bool) error {
	for {
		page, err := d.List(ctx, after, f, MaxChosen)
		if err != nil {
			return err
		}
		for _, o := range page.Owners {
			after = o.ID
			if !do(o) {
				return nil
			}
		}
		if !page.More {
			return nil
		}
	}
}

// Search says which people are looked for.
type Search struct {
	After  principal.Owner
	Filter owners.Filter
	Text   string // the beginning of an id; "" for all
	Names  bool   // Text may also be a part of a name or an e-mail address
	Limit  int
}

// Find returns at most so many people, in the order of their ids.
func (d *Desk) Find(ctx context.Context, s Search) (owners.Page, error) {
	text := strings.ToLower(strings.TrimSpace(s.Text))
	if text == "" {
		return d.List(ctx, s.After, s.Filter, s.Limit)
	}
	page := owners.Page{Owners: []owners.Owner{}}
	err := d.each(ctx, s.After, s.Filter, func(o owners.Owner) bool {
		fits := strings.HasPrefix(string(o.ID), text) || s.Names && (strings.Contains(strings.ToLower(o.Name), text) || strings.Contains(strings.ToLower(o.Email), text))
		switch {
		case !fits:
		case len(page.Owners) == s.Limit:
			page.More = true
			return false
		default:
			page.Owners = append(page.Owners, o)
		}
		return true
	})
	return page, err
}

// MaxLogins is how many clients and browser logins a person may have.
func MaxLogins() int { return oauth.ManyOwners().OwnerTokens }

// NoteLogin records that somebody of the host logged in at the desk.
func (d *Desk) NoteLogin(ctx context.Context, who string) error {
	return d.note(owners.WithActor(ctx, who), "host_login", "", event{})
}
