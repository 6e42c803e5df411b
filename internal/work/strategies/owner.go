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
	all, err := o.Of(o.Subject).List(ctx)
	views := make([]View, len(all))
	for i := range all {
		views[i] = ViewOf(&all[i])
	}
	return views, err
}

// ShowOwn shows a strategy.
func (o Owner) ShowOwn(ctx context.Context, id string) (Shown, error) {
	own := o.Of(o.Subject)
	d, err := own.Get(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	out := Shown{Detail: DetailOf(&d)}
	if out.Book, err = bookOf(ctx, own, &d); err != nil {
		return Shown{}, err
	}
	out.Recent, out.More = IntentsOf(&d)
	if d.Stage != deploy.Paper || d.State.Final() {
		return out, nil
	}
	stages, err := own.Stages(ctx)
	if err == nil && slices.Contains(stages, StageLive) {
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
	return o.Of(o.Subject).Stages(ctx)
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
func Acts() []string {
	return []string{deploy.AskStart, deploy.AskDecline, deploy.AskPause, deploy.AskResume, deploy.AskPromote, deploy.AskStop}
}

// How says how an act is carried out.
type How struct {
	Stage  string // of a start
	Limits Limits // of a start and a promotion; of a resume the loss
	Close  bool   // of a stop: what is held is closed at the market

	Accept []string // of a promotion: gates that are not met
}

// Act changes a strategy.
func (o Owner) Act(ctx context.Context, by, act, id string, how How) (View, error) {
	if !slices.Contains(Acts(), act) {
		return View{}, fault.Field("act", act, "start, decline, pause, resume, promote or stop", fault.Nearest(act, Acts())...)
	}
	d, err := o.Of(o.Subject).Act(ctx, deploy.Ask{
		Act: act, By: by, Name: id, Stage: deploy.Stage(how.Stage), Limits: how.Limits, Close: how.Close, Accept: how.Accept,
	})
	if err != nil {
		return View{}, err
	}
	return ViewOf(&d), nil
}
