package wording

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candela/internal/alerting/alert"
)

//
//nolint:gochecknoglobals // built once, never written
var alertWords = sync.OnceValue(func() words {
	return words{
		"message": "note", "name": "note", "comment": "note", "description": "note", "label": "note", "title": "note", "text": "note", "reason": "note", "alertname": "note",
		"expiresin": "expires_at", "expiry": "expires_at", "expires": "expires_at", "expiration": "expires_at", "validuntil": "expires_at", "expiretime": "expires_at", "ttl": "expires_at",
		"trigger": "condition", "rule": "condition", "when": "condition", "recurring": "repeat", "repeating": "repeat", "repeats": "repeat",
	}
})

// expiry reads a time from now such as 24h.
func (c *call) expiry() error {
	const most = 366 * 24 * time.Hour
	text := strings.TrimSpace(c.text("expires_at"))
	span, _ := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, _ := strconv.Atoi(days)
		span = time.Duration(min(max(n, 0), 1000)) * 24 * time.Hour
	}
	if span > 0 && span <= most {
		at := c.now.UTC().Add(span).Truncate(time.Second).Format(time.RFC3339)
		c.set("expires_at", quote(at), "expires_at "+shown(c.get("expires_at"))+" is "+at)
		return nil
	}
	if c.has("expires_at") {
		if at, ok := c.expiryDate(); ok {
			c.set("expires_at", quote(at), "expires_at "+shown(c.get("expires_at"))+" is "+at)
		}
	}
	return nil
}

// topCondition reads a condition whose keys are arguments of the tool.
func (c *call) topCondition() error {
	if err := c.operatorOf(); err != nil {
		return err
	}
	if kind := c.typeWord(); kind != "" {
		return c.typedTop(kind)
	}
	if err := c.threshold(); err != nil {
		return err
	}
	if c.has("condition") {
		return nil
	}
	var inside []field
	for _, f := range c.fields {
		if c.known(f.name) {
			continue
		}
		if isKind(f.name) {
			c.drop(f.name, echo(f.name)+" belongs into condition")
			c.fields = append(c.fields, field{"condition", (&call{fields: []field{f}}).object()})
			return nil
		}
		if slices.Contains(insideNames(), strings.ToLower(f.name)) {
			inside = append(inside, f)
		}
	}
	if len(inside) < 2 {
		return nil
	}
	for _, f := range inside {
		c.drop(f.name, echo(f.name)+" belongs into condition")
	}
	c.fields = append(c.fields, field{"condition", (&call{fields: inside}).object()})
	return nil
}

// insideNames are the keys of conditions without the name of their type.
func insideNames() []string {
	return []string{"indicator", "price", "line", "op", "operator", "value", "threshold", "signal", "params", "level", "length", "period", "comparison", "type"}
}

// isKind reports whether a key is a type of condition.
func isKind(name string) bool {
	_, known := alert.ParseType(name)
	return known && name != "value" || slices.Contains([]string{"and", "or"}, strings.ToLower(name))
}

// typeWord returns the type of condition that the call names beside its threshold, "" for none.
func (c *call) typeWord() string {
	for _, name := range []string{"condition", "type", "alert_type", "condition_type"} {
		word := c.text(name)
		if name != "condition" && c.known(name) {
			continue
		}
		if short, ok := map[string]string{"above": "price_above", "below": "price_below", "crosses": "price_crosses"}[word]; ok {
			word = short
		}
		if kind, ok := alert.ParseType(word); ok && kind.OnPrice() {
			return name + " " + word
		}
	}
	return ""
}

// typedTop reads a type of condition with its threshold beside it.
func (c *call) typedTop(found string) error {
	name, kind, _ := strings.Cut(found, " ")
	for _, at := range []string{"threshold", "price", "value", "level", "target", "target_price"} {
		raw := c.get(at)
		if raw == nil || c.known(at) || name != "condition" && c.has("condition") {
			continue
		}
		condition := `{"` + kind + `":` + string(raw) + `}`
		c.drop(at, "")
		for _, also := range []string{"type", "alert_type"} {
			if word := c.text(also); also != name && !c.known(also) && (word == "price" || word == "price_alert") {
				c.drop(also, "")
			}
		}
		c.drop(name, name+" "+kind+" with "+at+" is "+echo(condition))
		c.fields = append(c.fields, field{"condition", json.RawMessage(condition)})
		return nil
	}
	return nil
}
