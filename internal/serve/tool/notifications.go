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
	type asked struct {
		wait, limit int
		events      []string
	}
	arguments := func() (*asked, args) {
		a := &asked{limit: maxItems}
		return a, args{
			intArg("wait_seconds", &a.wait, 0, maxWait, "Wait for one. Many clients time out after 60 s: use 50."),
			limitArg(&a.limit, maxItems, "The rest stay in the queue."),
			eventsArg(&a.events),
		}
	}
	item := object(
		typedProp("alert_id?", "string", ""), typedProp("event?", "string", "Of an order or position."),
		typedProp("symbol?", "string", ""), typedProp("interval?", "string", "May be empty."),
		prop{"condition?", &schema{Type: "object", Description: "type and the fields of that type.", Properties: props{typedProp("type", "string", "")}, Required: []string{"type"}}},
		typedProp("value?", "number", "At the time of firing."), typedProp("triggered_at?", "string", ""),
		typedProp("note?", "string", ""), typedProp("message?", "string", "Of its script."), typedProp("late?", "boolean", "Found in missed bars."),
		typedProp("error?", "string", "Why its script failed."),
		typedProp("fire?", "integer", "Counts from 1."), typedProp("max_fires?", "integer", ""))
	item.AdditionalProperties = nil // records of orders have fields of their own
	return toolSpec{
		name: name, title: "Fetch notifications", trading: true, scope: principal.Read,
		description: "Fetch fired alerts, and order events if asked, and remove them from the queue: each goes once, to the first client that asks. About 0.3 KB each.",
		output:      object(listProp("notifications", "Oldest first.", item), moreSchema()), hints: hints{},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, a *asked) (mcp.Result, error) {
			fired, err := t.Notifications.Poll(ctx, caller, time.Duration(a.wait)*time.Second, notify.Bound{Entries: a.limit, Bytes: maxBytes, Kinds: notify.KindsOf(a.events)})
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

// eventsArg is which kinds of notifications are asked for.
func eventsArg(to *[]string) arg {
	names := notify.KindNames()
	one := func(s string) (string, error) {
		if slices.Contains(names, s) {
			return s, nil
		}
		return "", fault.Field("events", truncate(s), strings.Join(names, ", "), fault.Nearest(s, names)...)
	}
	return listArg("events", to, len(names), &schema{Type: "string"}, strings.Join(names, ", "), "alerts (default), orders.", one)
}

// subscription is the filter of subscribe_notifications as it is asked for.
type subscription struct {
	notify.Filter
	events []string
}

func declareFilter() (*subscription, args) {
	f := &subscription{}
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
		eventsArg(&f.events),
	}
}

// eventNames returns the kinds that a client asked for, none if it did not say.
func eventNames(k notify.Kinds) []string {
	if k == 0 {
		return nil
	}
	return k.Names()
}

func subscribedProps() []prop {
	return []prop{
		listProp("symbols", "Empty for all.", &schema{Type: "string"}),
		listProp("alert_types", "Empty for all.", &schema{Type: "string"}),
		listProp("events?", "", &schema{Type: "string"}),
	}
}

func (t *Trading) subscribe() toolSpec {
	return toolSpec{
		name: "subscribe_notifications", title: "Subscribe to notifications", trading: true, scope: principal.Read,
		description: "Push fired alerts and order events to this client. " +
			"Few show them to the model: prefer get_notifications. " +
			"Replaces the previous subscription. Offline, the newest 1000 wait for one hour.",
		output: object(append([]prop{{"status", &schema{Type: "string", Const: "subscribed"}}},
			subscribedProps()...)...),
		hints: hints{idempotent: true},
		call: calling(declareFilter, func(ctx context.Context, caller principal.Caller, f *subscription) (mcp.Result, error) {
			f.Kinds = notify.KindsOf(f.events)
			err := t.Subscriptions.Subscribe(ctx, caller, f.Filter)
			return jsonResult(struct {
				Status     string          `json:"status"`
				Symbols    []market.Symbol `json:"symbols"`
				AlertTypes []string        `json:"alert_types"`
				Events     []string        `json:"events,omitempty"`
			}{"subscribed", append([]market.Symbol{}, f.Symbols...), append([]string{}, f.Types...), f.events}, err)
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
	output.Properties = append(output.Properties, object(subscribedProps()...).Properties...)
	output.Properties = append(output.Properties, typedProp("offline_queue_size", "integer", ""), typedProp("connected", "boolean", "A stream is open."))
	return toolSpec{
		name: "list_subscriptions", title: "Show the subscription", trading: true, scope: principal.Read,
		description: "Show this client's push filters, queue and stream.",
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
				Events     []string        `json:"events,omitempty"`
				Queued     int             `json:"offline_queue_size"`
				Connected  bool            `json:"connected"`
			}{true, append([]market.Symbol{}, s.Filter.Symbols...), append([]string{}, s.Filter.Types...), eventNames(s.Filter.Kinds), s.Queued, s.Connected}, nil)
		}),
	}
}
