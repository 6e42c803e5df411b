package strategies

import (
	"context"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
	"candela/lib/fault"
)

// Owner is what the owner of an installation does with strategies. A face that calls it has checked that it acts for the
// owner.
type Owner struct {
	*Strategies
	Subject principal.Owner
}

// Shown is a strategy with the newest of what it wanted.
type Shown struct {
	Detail
	Book   *Book    `json:"book,omitempty"`
	Gates  []Gate   `json:"gates,omitempty"` // before it may trade on the account of the broker
	Recent []Intent `json:"recent_intents,omitempty"`
	More   int      `json:"more_intents,omitempty"`
}

// ListOwn lists the strategies, the newest first.
func (o Owner) ListOwn(ctx context.Context) ([]View, error) {
	own, err := o.Of(ctx, o.Subject)
	if err != nil {
		return nil, err
	}
	all, err := own.List(ctx)
	views := make([]View, len(all))
	for i := range all {
		views[i] = ViewOf(&all[i])
	}
	return views, err
}

// ShowOwn shows a strategy.
func (o Owner) ShowOwn(ctx context.Context, id string) (Shown, error) {
	own, err := o.Of(ctx, o.Subject)
	if err != nil {
		return Shown{}, err
	}
	d, err := own.Get(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	out := Shown{Detail: DetailOf(&d)}
	if out.Book, err = bookOf(ctx, own, &d); err != nil {
		return Shown{}, err
	}
	out.Recent, out.More = IntentsOf(&d)
	if d.Stage == deploy.Paper && !d.State.Final() && slices.Contains(own.Stages(), StageLive) {
		out.Gates, err = own.Gates(ctx, d.ID)
	}
	return out, err
}

// Gate is a condition before a strategy trades with money.
type Gate = deploy.Gate

// DriftOwn compares a strategy with its account.
func (o Owner) DriftOwn(ctx context.Context, id string) (Drift, error) {
	return o.Drift(ctx, principal.Caller{Subject: o.Subject}, id)
}

// Stages lists the stages that a strategy can start at here, the lowest first.
func (o Owner) Stages(ctx context.Context) ([]string, error) {
	own, err := o.Of(ctx, o.Subject)
	if err != nil {
		return nil, err
	}
	return own.Stages(), nil
}

// Limits bound what a strategy may hold.
type Limits = deploy.Limits

// LimitsOf reads the limits that the owner sets, "" for none: the most that a strategy may hold, and lose.
func LimitsOf(most, loss string) (l Limits, err error) {
	for _, one := range []struct {
		field, text string
		to          *decimal.Decimal
	}{{"cap", most, &l.Cap}, {"max_loss", loss, &l.MaxLoss}} {
		text := strings.TrimSpace(one.text)
		if text == "" {
			continue
		}
		if *one.to, err = decimal.NewFromString(text); err != nil || len(text) > maxAmount || !one.to.IsPositive() {
			return Limits{}, fault.Field(one.field, text, "a number above 0, such as 500")
		}
	}
	return l, nil
}

const maxAmount = 30 // bytes

// Acts lists what the owner can do with a strategy.
func Acts() []string { return []string{"start", "decline", "pause", "resume", "promote", "stop"} }

// How says how an act is carried out.
type How struct {
	Stage  string // of a start
	Limits Limits // of a start and a promotion; of a resume the loss
	Close  bool   // of a stop: what is held is closed at the market

	Accept []string // of a promotion: gates that are not met
}

// Act changes a strategy.
func (o Owner) Act(ctx context.Context, by, act, id string, how How) (View, error) {
	own, err := o.Of(ctx, o.Subject)
	if err != nil {
		return View{}, err
	}
	var d deploy.Deployment
	switch act {
	case "start":
		d, err = own.Start(ctx, by, id, deploy.Stage(how.Stage), &how.Limits)
	case "decline":
		d, err = own.Decline(ctx, by, id)
	case "pause":
		d, err = own.Pause(ctx, by, id)
	case "resume":
		d, err = own.Resume(ctx, by, id, how.Limits.MaxLoss)
	case "promote":
		d, err = own.Promote(ctx, by, id, how.Limits, how.Accept)
	case "stop":
		d, err = own.Stop(ctx, by, id, how.Close)
	default:
		err = fault.Field("act", act, "start, decline, pause, resume, promote or stop", fault.Nearest(act, Acts())...)
	}
	if err != nil {
		return View{}, err
	}
	return ViewOf(&d), nil
}
