package stdio

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/lib/pattern"
)

// channelEvery is the least time between two frames of a channel. Each frame wakes the
// model of the client.
const channelEvery = time.Second

// channel turns notifications into frames of a Claude Code channel, which wake the model.
// Frames contain identifiers and numbers of candela only: a note or a name from elsewhere
// could give orders to the model. Nothing depends on a frame; get_notifications has every
// alert. One goroutine uses it.
type channel struct {
	last   time.Time // of the last frame
	held   int       // alerts without a frame since then
	events int       // the same of orders
}

// frame returns the frame of an event, or nil if it comes too soon after the last one.
func (c *channel) frame(e notify.Event, now time.Time) []byte {
	if now.Sub(c.last) < channelEvery {
		if _, isOrder := order.ParseNotice(e.Params()); isOrder {
			c.events++
		} else {
			c.held++
		}
		return nil
	}
	c.last = now
	if r, ok := order.ParseNotice(e.Params()); ok {
		return channelFrame(readNotice(r))
	}
	return channelFrame(readFiring(e.Params()))
}

// wait returns when flush has something to send, and false if nothing is held.
func (c *channel) wait(now time.Time) (time.Duration, bool) {
	return max(c.last.Add(channelEvery).Sub(now), 0), c.held+c.events > 0
}

// flush returns one frame for all alerts that had none.
func (c *channel) flush(now time.Time) []byte {
	content := fmt.Sprintf("%d more alerts fired. Call get_notifications to read them.", c.held)
	if c.held == 1 {
		content = "Another alert fired. Call get_notifications to read it."
	}
	if c.events > 0 {
		content = fmt.Sprintf("%d more notifications. Call get_notifications with events to read them.", c.held+c.events)
	}
	c.last, c.held, c.events = now, 0, 0
	return channelFrame(content, nil)
}

// readNotice describes what happened to an order in a sentence and in fields, or generally if one of
// them is not plain.
func readNotice(r order.NoticeRecord) (content string, meta map[string]string) {
	content, meta = r.Text(), map[string]string{"event": r.Event, "mode": r.Mode}
	for name, text := range map[string]string{"order_id": r.OrderID, "symbol": r.Symbol, "role": r.Role} {
		if text != "" {
			meta[name] = text
		}
	}
	ok := plainSentence().MatchString(content)
	for _, text := range meta {
		ok = ok && plainName().MatchString(text)
	}
	if !ok {
		return "Something happened to an order. Call get_notifications with events to read it.", nil
	}
	return content, meta
}

// channelFrame encodes a frame. Its meta maps text to text.
func channelFrame(content string, meta map[string]string) []byte {
	frame, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": "notifications/claude/channel",
		"params": struct {
			Content string            `json:"content"`
			Meta    map[string]string `json:"meta,omitempty"`
		}{content, meta},
	})
	if err != nil {
		panic("stdio: text cannot be marshalled: " + err.Error())
	}
	return append(frame, '\n')
}

// plainName matches identifiers that cannot be read as markup or as a sentence.
var plainName = pattern.Of(`^[A-Za-z0-9:=._/-]{1,64}$`)

// plainSentence matches what alert.Describe writes.
var plainSentence = pattern.Of(`^[A-Za-z0-9:=._/,;()%&+ -]{1,600}$`)

// readFiring describes the params of a notification in a sentence and in fields. It falls
// back to a general sentence if one of them is not plain.
func readFiring(params []byte) (content string, meta map[string]string) {
	fired, ok := alert.ParseFired(params)
	when, value := fired.Condition, "unknown"
	if fired.Value != nil {
		value = string(strictjson.AppendFloat(nil, *fired.Value))
	}
	meta = map[string]string{"alert_id": fired.ID, "symbol": fired.Symbol, "type": when.Type, "value": value, "triggered_at": fired.At.UTC().Format(time.RFC3339Nano)}
	switch {
	case when.Describe != "":
		content = fmt.Sprintf("Alert fired: %s, value %s.", when.Describe, value)
		ok = ok && plainSentence().MatchString(when.Describe)
	case when.Indicator != "":
		meta["indicator"], meta["signal"] = string(when.Indicator), when.Signal
		content = fmt.Sprintf("Alert fired: %s %s %s, value %s.", fired.Symbol, when.Indicator, when.Signal, value)
	default:
		meta["threshold"] = when.Threshold.String()
		content = fmt.Sprintf("Alert fired: %s %s %s, price %s.", fired.Symbol, strings.ReplaceAll(when.Type, "_", " "), when.Threshold, value)
	}
	for _, text := range meta {
		ok = ok && plainName().MatchString(text)
	}
	if !ok {
		return "An alert fired. Call get_notifications to read it.", nil
	}
	return content, meta
}
