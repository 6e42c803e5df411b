package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/serve/mcp"
)

// Notifications is the queue of fired alerts that get_notifications drains. With
// a wait above zero Drain returns as soon as there is one, or empty after it.
type Notifications interface {
	Drain(ctx context.Context, caller principal.Caller, wait time.Duration, most notify.Bound) (*notify.Batch, error)
}

// Subscriptions is where push filters live, one for each token.
type Subscriptions interface {
	Subscribe(ctx context.Context, caller principal.Caller, f notify.Filter) error
	Unsubscribe(ctx context.Context, caller principal.Caller) (existed bool, err error)
	Subscription(ctx context.Context, caller principal.Caller) (notify.Subscription, error)
}

func (t *Trading) pushSpecs() []spec {
	return []spec{t.getNotifications(), t.subscribe(), t.unsubscribe(), t.listSubscriptions()}
}

// maxWait is below the five minutes after which clients give a call up.
const maxWait = 240

func (t *Trading) getNotifications() spec {
	const name = "get_notifications"
	type asked struct{ wait, limit int }
	arguments := func() (*asked, fields) {
		a := &asked{limit: mostItems}
		return a, fields{
			integer("wait_seconds", &a.wait, 0, maxWait, "Wait up to this long for the first one; 0 answers at once. Many clients give up after 60 seconds: use 50, and call again."),
			integer("limit", &a.limit, 1, mostItems, "Items at most; the others stay in the queue."),
		}
	}
	_, input := arguments()
	item := object("",
		is("alert_id", "string", ""), is("symbol", "string", ""), is("interval", "string", "May be empty."),
		prop{"condition", object("", oneOf("type", "", alert.Types()...), is("threshold?", "number", ""), is("indicator?", "string", ""), is("signal?", "string", ""))},
		is("value", "number", "At the time of firing."), is("triggered_at", "string", ""),
		is("note?", "string", ""), is("late?", "boolean", "Found afterwards, in bars that were missed when they closed."))
	return spec{
		name: name, title: "Fetch notifications", trading: true,
		description: "Take the alerts that have fired out of the queue; each is returned once, to whoever asks first. " +
			"With wait_seconds it sleeps until one fires. About 0.3 KB per notification.",
		input: input, output: object("", list("notifications", "Oldest first.", item), moreSchema()), hints: hints{},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			a, input := arguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			fired, err := t.Notifications.Drain(ctx, caller, time.Duration(a.wait)*time.Second, notify.Bound{Entries: a.limit, Bytes: mostBytes})
			if err != nil {
				return mcp.Result{}, err
			}
			result, err := answerBatch(name, fired)
			if err != nil {
				fired.Settle(false)
				return mcp.Result{}, err
			}
			result.Settle = fired.Settle
			return result, nil
		},
	}
}

// answerBatch is a result of what was taken out of the queue. What is left stays there:
// the next call has it, so there is no cursor.
func answerBatch(name string, fired *notify.Batch) (mcp.Result, error) {
	records := make([]json.RawMessage, len(fired.Entries))
	for i, entry := range fired.Entries {
		records[i] = entry.Data
	}
	array, err := marshalPlain(records)
	if err != nil {
		return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
	}
	var left *more
	if fired.Left > 0 {
		left = &more{Left: fired.Left}
	}
	return answerArray(name, "notifications", array, left, "")
}

// mostFilters is how many symbols one subscription may name.
const mostFilters = 200

func filterArguments() (*notify.Filter, fields) {
	f := &notify.Filter{}
	asType := func(s string) (string, error) {
		if slices.Contains(alert.Types(), s) {
			return s, nil
		}
		return "", fault.Field("alert_types", cut(s), strings.Join(alert.Types(), ", "), fault.Nearest(s, alert.Types())...)
	}
	return f, fields{
		texts("symbols", &f.Symbols, mostFilters, &schema{Type: "string"}, "symbols such as BTCUSDT",
			"Only alerts on these. Left out or empty: all.", market.ParseSymbol),
		texts("alert_types", &f.Kinds, len(alert.Types()), &schema{Type: "string", Enum: alert.Types()}, strings.Join(alert.Types(), ", "),
			"Only alerts of these types. Left out or empty: all.", asType),
	}
}

func subscribedProps() []prop {
	return []prop{
		list("symbols", "Empty for all.", &schema{Type: "string"}),
		list("alert_types", "Empty for all.", &schema{Type: "string", Enum: alert.Types()}),
	}
}

func orEmpty[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

func (t *Trading) subscribe() spec {
	_, input := filterArguments()
	return spec{
		name: "subscribe_notifications", title: "Subscribe to notifications", trading: true,
		description: "Ask for fired alerts to be pushed to this client as notifications/alert_triggered, filtered by symbols and alert types. " +
			"Few clients show these to a model: to wait yourself use get_notifications. " +
			"Replaces an earlier subscription. While the client is away they are queued for an hour, at most 1000.",
		input: input,
		output: object("", append([]prop{{"status", &schema{Type: "string", Const: "subscribed"}}},
			subscribedProps()...)...),
		hints: hints{idempotent: true},
		run: func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
			f, input := filterArguments()
			if err := input.decode(raw); err != nil {
				return mcp.Result{}, err
			}
			if err := t.Subscriptions.Subscribe(ctx, caller, *f); err != nil {
				return mcp.Result{}, err
			}
			return answer(struct {
				Status     string          `json:"status"`
				Symbols    []market.Symbol `json:"symbols"`
				AlertTypes []string        `json:"alert_types"`
			}{"subscribed", orEmpty(f.Symbols), orEmpty(f.Kinds)})
		},
	}
}

func (t *Trading) unsubscribe() spec {
	return spec{
		name: "unsubscribe_notifications", title: "Unsubscribe from notifications", trading: true,
		description: "Remove this client's push subscription and what is queued for it. Answers {status}: unsubscribed, or not_found when there was none.",
		output:      object("", oneOf("status", "", "unsubscribed", "not_found")),
		hints:       hints{destructive: true, idempotent: true},
		run: none(func(ctx context.Context, caller principal.Caller) (mcp.Result, error) {
			existed, err := t.Subscriptions.Unsubscribe(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			status := "not_found"
			if existed {
				status = "unsubscribed"
			}
			return answer(struct {
				Status string `json:"status"`
			}{status})
		}),
	}
}

func (t *Trading) listSubscriptions() spec {
	output := object("", is("subscribed", "boolean", ""))
	output.Properties = append(output.Properties, subscribedProps()...)
	output.Properties = append(output.Properties, is("offline_queue_size", "integer", ""), is("connected", "boolean", "A stream is open now."))
	return spec{
		name: "list_subscriptions", title: "Show the subscription", trading: true,
		description: "Show this client's push filters, how many notifications are queued for it and whether its stream is open.",
		output:      output, hints: hints{readOnly: true, idempotent: true},
		run: none(func(ctx context.Context, caller principal.Caller) (mcp.Result, error) {
			s, err := t.Subscriptions.Subscription(ctx, caller)
			if err != nil {
				return mcp.Result{}, err
			}
			if !s.Active {
				return answer(struct {
					Subscribed bool `json:"subscribed"`
				}{})
			}
			return answer(struct {
				Subscribed bool            `json:"subscribed"`
				Symbols    []market.Symbol `json:"symbols"`
				AlertTypes []string        `json:"alert_types"`
				Queued     int             `json:"offline_queue_size"`
				Connected  bool            `json:"connected"`
			}{true, orEmpty(s.Filter.Symbols), orEmpty(s.Filter.Kinds), s.Queued, s.Connected})
		}),
	}
}
