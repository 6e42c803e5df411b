package strategies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
	"candela/internal/trading/drift"
	"candela/lib/market"
)

// Drift is where the difference between what the model of a strategy earned and what its account earned comes from.
type Drift struct {
	ID        string                     `json:"deployment_id"`
	Verdict   string                     `json:"verdict"`
	Means     string                     `json:"means"`
	Model     decimal.Decimal            `json:"model"`
	Account   *decimal.Decimal           `json:"account,omitempty"` // none at the stage shadow
	Gap       *decimal.Decimal           `json:"gap,omitempty"`     // account less model: the sum of the steps
	Steps     []drift.Step               `json:"steps,omitempty"`
	Currency  string                     `json:"currency"`
	Entries   int                        `json:"entries"`
	Causes    map[string]int             `json:"entries_that_differ,omitempty"`
	Before    int                        `json:"trades_before_start,omitempty"`
	Intents   int                        `json:"intents"`
	Different string                     `json:"different,omitempty"`
	Revised   string                     `json:"revised_bars,omitempty"`
	Elsewhere map[string]decimal.Decimal `json:"fees_in_no_step,omitempty"`
	Shortened bool                       `json:"older_orders_not_read,omitempty"`
	Mark      decimal.Decimal            `json:"mark"`
	Through   string                     `json:"through"`
	Curve     []Point                    `json:"-"` // drawn in the console
}

// Point is what model and account had earned at a close.
type Point = drift.Point

// Drift compares one of the caller's strategies with its account.
func (s *Strategies) Drift(ctx context.Context, caller principal.Caller, id string) (Drift, error) {
	is, d, err := s.Of(caller.Subject).Drift(ctx, id)
	if err != nil {
		return Drift{}, err
	}
	return driftOf(&is, &d), nil
}

// driftOf shows a comparison. Its money is in cents that add up.
func driftOf(is *deploy.Drift, d *deploy.Deployment) Drift {
	out := Drift{
		ID: d.ID, Verdict: string(is.Verdict), Means: meaning(is, d), Model: is.Model.Round(moneyDigits), Currency: is.Currency,
		Entries: is.Entries, Causes: is.Causes, Before: is.Before, Intents: is.Intents, Different: is.Different, Elsewhere: is.Elsewhere, Shortened: is.Shortened,
		Mark: is.Mark, Curve: is.Curve, Through: market.Stamp(is.Through),
	}
	if d.Stage != deploy.Shadow {
		earned := is.Account.Round(moneyDigits)
		gap := earned.Sub(out.Model)
		out.Account, out.Gap, out.Steps = &earned, &gap, inCents(is.Steps, gap)
	}
	if is.Revised > 0 {
		out.Revised = fmt.Sprintf("%d, the first of %s", is.Revised, market.Stamp(is.RevisedAt))
	}
	return out
}

// Notes are the lines beside the sum that a person reads.
func (d *Drift) Notes() []string {
	notes := []string{fmt.Sprintf("%s: %s", strings.ReplaceAll(d.Verdict, "_", " "), d.Means)}
	add := func(when bool, text string, values ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(text, values...))
		}
	}
	add(d.Different != "", "%s", d.Different)
	for _, cause := range slices.Sorted(maps.Keys(d.Causes)) {
		add(true, "%d of %d entries: %s", d.Causes[cause], d.Entries, strings.ReplaceAll(cause, "_", " "))
	}
	add(d.Before > 0, "%d trades that it wanted before the start are not compared", d.Before)
	add(d.Revised != "", "bars that the venue has otherwise now: %s", d.Revised)
	for _, asset := range slices.Sorted(maps.Keys(d.Elsewhere)) {
		add(true, "fees that are in no step: %s %s", d.Elsewhere[asset], asset)
	}
	add(d.Shortened, "the oldest orders of the account were not read")
	return append(notes, fmt.Sprintf("at the close of %s: %s", d.Through, d.Mark))
}

// meaning says a verdict in words.
func meaning(is *deploy.Drift, d *deploy.Deployment) string {
	switch {
	case is.Different != "":
		return "The recorded bars now come to another order than was recorded."
	case d.Stage == deploy.Shadow:
		return "All it wanted is computed again as it was recorded. It sends no orders."
	case is.Verdict == deploy.Differing:
		return "More than 5 % of the model's entries were not made: entries_that_differ says why."
	case is.Verdict == deploy.Costlier:
		return "All it wanted is computed again as it was recorded; the account is more than 0.5 % of the capital away from the model."
	default:
		return "All it wanted is computed again as it was recorded, and the account is within 0.5 % of the capital of the model."
	}
}

// inCents rounds steps so that they add up to a sum: those that were cut most get the cents that are missing.
func inCents(steps []drift.Step, total decimal.Decimal) []drift.Step {
	out, cut := slices.Clone(steps), make([]int, len(steps))
	left := total
	for i := range out {
		out[i].Amount, cut[i] = out[i].Amount.RoundFloor(moneyDigits), i
		left = left.Sub(out[i].Amount)
	}
	slices.SortStableFunc(cut, func(a, b int) int {
		return cmp.Or(steps[b].Amount.Sub(out[b].Amount).Cmp(steps[a].Amount.Sub(out[a].Amount)), a-b)
	})
	cent := decimal.New(1, -moneyDigits)
	for n := 0; n < len(cut) && !left.LessThan(cent); n++ {
		out[cut[n]].Amount, left = out[cut[n]].Amount.Add(cent), left.Sub(cent)
	}
	return slices.DeleteFunc(out, func(s drift.Step) bool { return s.Amount.IsZero() })
}
