package owners

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"candela/internal/access/plan"
	"candela/internal/kit/principal"
)

// SharedPlans are the plans that all replicas have in force. Version 0 is none.
type SharedPlans struct {
	Version int        `json:"version"`
	Plans   plan.Table `json:"plans"`
}

// PlanStore keeps the plans of all replicas.
type PlanStore interface {
	// SharePlans stores plans under the next version, unless they are stored already, and returns what is stored then. With first
	// it stores them only if there are none.
	SharePlans(ctx context.Context, plans plan.Table, first bool) (SharedPlans, error)
}

// Plans puts the plans of a file in force while the program runs.
type Plans struct {
	File    string
	InForce *plan.InForce
	Shared  PlanStore // nil on one node
	// Audit adds an event to the audit log of one node; replicas write it with the plans.
	Audit func(ctx context.Context, by principal.Caller, kind, about string, body []byte) error
	Log   *slog.Logger
}

// PlansReloaded is the result of a reload.
type PlansReloaded struct {
	Version int      `json:"version,omitempty"` // with replicas
	Plans   []string `json:"plans"`
	Changed []string `json:"changed"` // names of plans that are new, gone, or have other limits
}

// EventPlans is the kind of the audit event of changed plans.
const EventPlans = "plans_changed"

// Adopt is for the start of a replica: it puts the shared plans in force, whatever its file says, or shares those of its file if there are none.
func (p *Plans) Adopt(ctx context.Context) error {
	own, err := plan.Read(p.File) // those in force may be shared ones already
	if err != nil {
		return err
	}
	shared, err := p.Shared.SharePlans(ctx, own, true)
	if err != nil {
		return err
	}
	if shared.Plans.Digest() != own.Digest() {
		p.Log.WarnContext(ctx, "plans.toml here differs from the plans that all replicas have in force, which this one takes; candela plans reload beside one replica puts its file in force at all",
			"version", shared.Version, "differ", strings.Join(own.Changed(shared.Plans), ", "))
	}
	p.InForce.Set(shared.Plans)
	return nil
}

// Reload reads the file and puts it in force, at all replicas. A file that the start would refuse changes nothing.
func (p *Plans) Reload(ctx context.Context) (PlansReloaded, error) {
	plans, err := plan.Read(p.File)
	if err != nil {
		return PlansReloaded{}, err
	}
	result := PlansReloaded{Plans: plans.Names(), Changed: plans.Changed(p.InForce.Table())}
	if p.Shared != nil {
		shared, err := p.Shared.SharePlans(ctx, plans, false)
		result.Version = shared.Version
		if err == nil {
			p.InForce.Set(plans)
		}
		return result, err
	}
	if len(result.Changed) == 0 {
		return result, nil
	}
	body, err := json.Marshal(result)
	if err != nil {
		return result, err
	}
	if err := p.Audit(ctx, principal.Caller{}, EventPlans, plans.Digest(), body); err != nil {
		return result, err
	}
	p.InForce.Set(plans)
	p.Log.InfoContext(ctx, "plans changed", "plans", strings.Join(result.Changed, ", "))
	return result, nil
}
