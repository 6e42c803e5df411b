package deploy

import (
	"context"
	"encoding/json"
	"math"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Ask is one call to the deployments of an owner, in a form that another process can answer.
type Ask struct {
	Act      string      `json:"act"` // one of the names below
	By       string      `json:"by,omitempty"`
	Name     string      `json:"name,omitempty"` // of the deployment, or its id
	Stage    Stage       `json:"stage,omitempty"`
	Limits   Limits      `json:"limits,omitzero"`
	Accept   []string    `json:"accept,omitempty"`
	Close    bool        `json:"close,omitempty"`
	Proposal *Deployment `json:"proposal,omitempty"`
}

// The acts that can be asked for. Those before AskPropose change nothing.
const (
	AskList    = "list"
	AskGet     = "get"
	AskBook    = "book"
	AskDrift   = "drift"
	AskGates   = "gates"
	AskStages  = "stages"
	AskPropose = "propose"
	AskStart   = "start"
	AskDecline = "decline"
	AskPause   = "pause"
	AskResume  = "resume"
	AskPromote = "promote"
	AskStop    = "stop"
)

// Reads reports whether a call changes nothing, so that it may be repeated.
func (a *Ask) Reads() bool {
	switch a.Act {
	case AskList, AskGet, AskBook, AskDrift, AskGates, AskStages:
		return true
	}
	return false
}

// Answer is the answer to an Ask; what was not asked for is empty.
type Answer struct {
	Deployments []Deployment
	Book        order.DeploymentBook
	Held        decimal.Decimal
	Drift       Drift
	Gates       []Gate
	Stages      []string
}

// Answer answers a call, once the journals were read.
func (d *Deployments) Answer(ctx context.Context, a Ask) (out Answer, err error) {
	select {
	case <-d.known:
	case <-d.ended:
		return out, ended()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	one := func(v Deployment, err error) (Answer, error) { return Answer{Deployments: []Deployment{v}}, err }
	switch a.Act {
	case AskList:
		out.Deployments, err = d.List(ctx)
		return out, err
	case AskGet:
		return one(d.Get(ctx, a.Name))
	case AskBook:
		v, err := d.Get(ctx, a.Name)
		if err != nil {
			return out, err
		}
		out.Book, out.Held, err = d.Book(ctx, &v)
		return out, err
	case AskDrift:
		is, v, err := d.Drift(ctx, a.Name)
		return Answer{Deployments: []Deployment{v}, Drift: is}, err
	case AskGates:
		out.Gates, err = d.Gates(ctx, a.Name)
		return out, err
	case AskStages:
		return Answer{Stages: d.Stages()}, nil
	default:
		return one(d.act(ctx, a))
	}
}

// act carries out a call that changes a deployment.
func (d *Deployments) act(ctx context.Context, a Ask) (Deployment, error) {
	switch a.Act {
	case AskPropose:
		if a.Proposal == nil {
			return Deployment{}, fault.Missing("proposal", "a proposal")
		}
		return d.Propose(ctx, a.By, *a.Proposal)
	case AskStart:
		return d.Start(ctx, a.By, a.Name, a.Stage, &a.Limits)
	case AskDecline:
		return d.Decline(ctx, a.By, a.Name)
	case AskPause:
		return d.Pause(ctx, a.By, a.Name)
	case AskResume:
		return d.Resume(ctx, a.By, a.Name, a.Limits.MaxLoss)
	case AskPromote:
		return d.Promote(ctx, a.By, a.Name, a.Limits, a.Accept)
	case AskStop:
		return d.Stop(ctx, a.By, a.Name, a.Close)
	}
	return Deployment{}, fault.Field("act", a.Act, "a call that this version of candela knows; upgrade all replicas")
}

// Own are the deployments of one owner, in this process or in another one.
type Own struct {
	Ask func(ctx context.Context, a Ask) (Answer, error)
}

// Own returns the deployments as the faces use them.
func (d *Deployments) Own() Own { return Own{d.Answer} }

func (o Own) one(ctx context.Context, a Ask) (Deployment, error) {
	out, err := o.Ask(ctx, a)
	if err == nil && len(out.Deployments) != 1 {
		err = fault.New(fault.Internal, "internal", "an answer without a strategy")
	}
	if err != nil {
		return Deployment{}, err
	}
	return out.Deployments[0], nil
}

// List returns the deployments, the newest first.
func (o Own) List(ctx context.Context) ([]Deployment, error) {
	out, err := o.Ask(ctx, Ask{Act: AskList})
	return out.Deployments, err
}

// Get returns a deployment by its id, or by its name.
func (o Own) Get(ctx context.Context, name string) (Deployment, error) {
	return o.one(ctx, Ask{Act: AskGet, Name: name})
}

// Book returns what a deployment made in its account, and what it holds of its symbol.
func (o Own) Book(ctx context.Context, v *Deployment) (order.DeploymentBook, decimal.Decimal, error) {
	out, err := o.Ask(ctx, Ask{Act: AskBook, Name: v.ID})
	return out.Book, out.Held, err
}

// Drift compares a deployment with its account.
func (o Own) Drift(ctx context.Context, name string) (Drift, Deployment, error) {
	out, err := o.Ask(ctx, Ask{Act: AskDrift, Name: name})
	if err != nil || len(out.Deployments) != 1 {
		return Drift{}, Deployment{}, err
	}
	return out.Drift, out.Deployments[0], nil
}

// Gates says what a deployment on paper has shown, and what is missing.
func (o Own) Gates(ctx context.Context, name string) ([]Gate, error) {
	out, err := o.Ask(ctx, Ask{Act: AskGates, Name: name})
	return out.Gates, err
}

// Stages lists the stages that run, the lowest first.
func (o Own) Stages(ctx context.Context) ([]string, error) {
	out, err := o.Ask(ctx, Ask{Act: AskStages})
	return out.Stages, err
}

// Propose records a deployment that waits for the owner.
func (o Own) Propose(ctx context.Context, by string, p Deployment) (Deployment, error) {
	return o.one(ctx, Ask{Act: AskPropose, By: by, Proposal: &p})
}

// Act carries out another call that changes a deployment.
func (o Own) Act(ctx context.Context, a Ask) (Deployment, error) { return o.one(ctx, a) }

// sentAnswer is an Answer on its way between processes.
type sentAnswer struct {
	Deployments []sentDeployment     `json:"deployments,omitempty"`
	Book        order.DeploymentBook `json:"book,omitzero"`
	Held        decimal.Decimal      `json:"held,omitzero"`
	Drift       *Drift               `json:"drift,omitempty"`
	Gates       []Gate               `json:"gates,omitempty"`
	Stages      []string             `json:"stages,omitempty"`
}

// sentDeployment is a Deployment with what others see of it and its JSON lacks.
type sentDeployment struct {
	Deployment
	Model  *Result    `json:"model,omitempty"`
	Recent []wantedAs `json:"recent,omitempty"`
}

// wantedAs is a wantedAt on its way.
type wantedAs struct {
	Bar     int64           `json:"bar"`
	Intents json.RawMessage `json:"intents"`
}

// MarshalJSON writes an answer for another process. Of several deployments it leaves the sources out, which no list shows.
func (a Answer) MarshalJSON() ([]byte, error) {
	out := sentAnswer{Book: a.Book, Held: a.Held, Gates: a.Gates, Stages: a.Stages}
	if a.Drift.Verdict != "" {
		out.Drift = &a.Drift
	}
	for i := range a.Deployments {
		one := sentDeployment{Deployment: a.Deployments[i]}
		if m := one.Deployment.Model; m != nil {
			sent := *m
			for _, x := range []*float64{&sent.Position, &sent.Average, &sent.Net, &sent.Open, &sent.Price} {
				if math.IsNaN(*x) || math.IsInf(*x, 0) {
					*x = 0
				}
			}
			one.Model = &sent
		}
		if p := &one.Terms.Program; len(a.Deployments) > 1 && p.Script != "" {
			p.Script, p.Libraries = "-", nil
		}
		if len(a.Deployments) == 1 {
			for _, at := range one.recent[max(0, len(one.recent)-mostRecent):] {
				one.Recent = append(one.Recent, wantedAs{at.bar, at.intents.RawMessage})
			}
		}
		out.Deployments = append(out.Deployments, one)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads an answer of another process.
func (a *Answer) UnmarshalJSON(data []byte) error {
	var in sentAnswer
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*a = Answer{Book: in.Book, Held: in.Held, Gates: in.Gates, Stages: in.Stages}
	if in.Drift != nil {
		a.Drift = *in.Drift
	}
	for i := range in.Deployments {
		one := in.Deployments[i].Deployment
		one.Model = in.Deployments[i].Model
		for _, at := range in.Deployments[i].Recent {
			one.recent = append(one.recent, wantedAt{at.Bar, written{at.Intents}})
		}
		a.Deployments = append(a.Deployments, one)
	}
	return nil
}
