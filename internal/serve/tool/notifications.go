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
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
	"candela/lib/market"
)

// Notifications is the queue of fired alerts that get_notifications drains. With
// a wait above zero Poll returns as soon as there is one, or empty after it.
type Notifications interface {
	Poll(ctx context.Context, caller principal.Caller, wait time.Duration, most notify.Bound) (*notify.Batch, error)
}

// Subscriptions stores one push filter per token.
type Subscriptions interface {
	Subscribe(ctx context.Context, caller principal.Caller, f notify.Filter) error
	Unsubscribe(ctx context.Context, caller principal.Caller) (existed bool, err error)
	Subscription(ctx context.Context, caller principal.Caller) (notify.Subscription, error)
}

// maxWait is below the five minutes after which clients time out.
const maxWait = 240

func (t *Trading) getNotifications() toolSpec {
	const name = "get_notifications"
	type asked struct{ wait, limit int }
	arguments := func() (*asked, args) {
		a := &asked{limit: maxItems}
		return a, args{
			intArg("wait_seconds", &a.wait, 0, maxWait, "Many clients time out after 60 s: use 50 and call again."),
			intArg("limit", &a.limit, 1, maxItems, "The rest stay in the queue."),
		}
	}
	item := object(
		typedProp("alert_id", "string", ""), typedProp("symbol", "string", ""), typedProp("interval", "string", "May be empty."),
		prop{"condition", &schema{Type: "object", Description: "type and the fields of that type.", Properties: props{typedProp("type", "string", "")}, Required: []string{"type"}}},
		typedProp("value?", "number", "At the time of firing."), typedProp("triggered_at", "string", ""),
		typedProp("note?", "string", ""), typedProp("late?", "boolean", "Found in missed bars."),
		typedProp("error?", "string", "Why its script failed."),
		typedProp("fire?", "integer", "Counts from 1."), typedProp("max_fires?", "integer", ""))
	return toolSpec{
		name: name, title: "Fetch notifications", trading: true, scope: principal.Read,
		description: "Fetch fired alerts and remove them from the queue: each is returned once, to the first client that asks. " +
			"wait_seconds waits for the next one. About 0.3 KB each.",
		output: object(listProp("notifications", "Oldest first.", item), moreSchema()), hints: hints{},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, a *asked) (mcp.Result, error) {
			fired, err := t.Notifications.Poll(ctx, caller, time.Duration(a.wait)*time.Second, notify.Bound{Entries: a.limit, Bytes: maxBytes})
			if err != nil {
				return mcp.Result{}, err
			}
			result, err := batchResult(name, fired)
			if err != nil {
				fired.Settle(false)
				return mcp.Result{}, err
			}
			result.OnSent = fired.Settle
			return result, nil
		}),
	}
}

// batchResult is the result of get_notifications. The rest stays in the queue for the
// next call, so there is no cursor.
func batchResult(name string, fired *notify.Batch) (mcp.Result, error) {
	records := make([]json.RawMessage, len(fired.Entries))
	for i, entry := range fired.Entries {
		records[i] = entry.Data
	}
	array, err := strictjson.Marshal(records)
	if err != nil {
		return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
	}
	var left *more
	if fired.Left > 0 {
		left = &more{Left: fired.Left}
	}
	return arrayResult(name, "notifications", array, left, ""), nil
}

// maxFilterSymbols is the number of symbols in one subscription.
const maxFilterSymbols = 200

func declareFilter() (*notify.Filter, args) {
	f := &notify.Filter{}
	asType := func(s string) (string, error) {
		if slices.Contains(alert.Names(), s) {
			return s, nil
		}
		return "", fault.Field("alert_types", truncate(s), strings.Join(alert.Names(), ", "), fault.Nearest(s, alert.Names())...)
	}
	return f, args{
		listArg("symbols", &f.Symbols, maxFilterSymbols, &schema{Type: "string"}, "symbols such as BTCUSDT",
			"Default: all.", market.ParseSymbol),
		listArg("alert_types", &f.Types, len(alert.Names()), &schema{Type: "string"}, strings.Join(alert.Names(), ", "),
			"Keys of conditions, such as price_above. Default: all.", asType),
	}
}

func subscribedProps() []prop {
	return []prop{
		listProp("symbols", "Empty for all.", &schema{Type: "string"}),
		listProp("alert_types", "Empty for all.", &schema{Type: "string"}),
	}
}

func (t *Trading) subscribe() toolSpec {
	return toolSpec{
		name: "subscribe_notifications", title: "Subscribe to notifications", trading: true, scope: principal.Read,
		description: "Push fired alerts to this client as notifications/alert_triggered. " +
			"Few clients show pushes to the model; to wait for an alert, call get_notifications. " +
			"Replaces the previous subscription. While offline, the newest 1000 are queued for one hour.",
		output: object(append([]prop{{"status", &schema{Type: "string", Const: "subscribed"}}},
			subscribedProps()...)...),
		hints: hints{idempotent: true},
		call: calling(declareFilter, func(ctx context.Context, caller principal.Caller, f *notify.Filter) (mcp.Result, error) {
			err := t.Subscriptions.Subscribe(ctx, caller, *f)
			return jsonResult(struct {
				Status     string          `json:"status"`
				Symbols    []market.Symbol `json:"symbols"`
				AlertTypes []string        `json:"alert_types"`
			}{"subscribed", append([]market.Symbol{}, f.Symbols...), append([]string{}, f.Types...)}, err)
		}),
	}
}

func (t *Trading) unsubscribe() toolSpec {
	return toolSpec{
		name: "unsubscribe_notifications", title: "Unsubscribe from notifications", trading: true, scope: principal.Read,
		description: "Remove this client's push subscription and its queue.",
		output:      object(enumProp("status", "", "unsubscribed", "not_found")),
		hints:       hints{destructive: true, idempotent: true},
		call: calling(noArgs, func(ctx context.Context, caller principal.Caller, _ *struct{}) (mcp.Result, error) {
			existed, err := t.Subscriptions.Unsubscribe(ctx, caller)
			status := "not_found"
			if existed {
				status = "unsubscribed"
			}
			return jsonResult(struct {
				Status string `json:"status"`
			}{status}, err)
		}),
	}
}

func (t *Trading) listSubscriptions() toolSpec {
	output := object(typedProp("subscribed", "boolean", ""))
	output.Properties = append(output.Properties, subscribedProps()...)
	output.Properties = append(output.Properties, typedProp("offline_queue_size", "integer", ""), typedProp("connected", "boolean", "A stream is open."))
	return toolSpec{
		name: "list_subscriptions", title: "Show the subscription", trading: true, scope: principal.Read,
		description: "Show this client's push filters, queue length and whether its stream is open.",
		output:      output, hints: hints{readOnly: true, idempotent: true},
		call: calling(noArgs, func(ctx context.Context, caller principal.Caller, _ *struct{}) (mcp.Result, error) {
			s, err := t.Subscriptions.Subscription(ctx, caller)
			if err != nil || !s.Active {
				return jsonResult(struct {
					Subscribed bool `json:"subscribed"`
				}{}, err)
			}
			return jsonResult(struct {
				Subscribed bool            `json:"subscribed"`
				Symbols    []market.Symbol `json:"symbols"`
				AlertTypes []string        `json:"alert_types"`
				Queued     int             `json:"offline_queue_size"`
				Connected  bool            `json:"connected"`
			}{true, append([]market.Symbol{}, s.Filter.Symbols...), append([]string{}, s.Filter.Types...), s.Queued, s.Connected}, nil)
		}),
	}
}
