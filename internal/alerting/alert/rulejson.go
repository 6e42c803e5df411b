package alert

import (
	"encoding/json"
	"time"
)

// ruleJSON is what stores keep of an extended alert besides the fields of all alerts.
type ruleJSON struct {
	Condition Condition `json:"condition"`
	On        string    `json:"on,omitempty"`
	MaxFires  int       `json:"max_fires,omitempty"`
	Cooldown  int64     `json:"cooldown,omitempty"` // in seconds
}

// Rule returns the condition and the repetition of an extended alert as stores keep them,
// "" for any other.
func (a *Alert) Rule() (string, error) {
	if !a.Extended() {
		return "", nil
	}
	r := ruleJSON{Condition: a.Condition, MaxFires: a.Repeat.MaxFires, Cooldown: int64(a.Repeat.Cooldown / time.Second)}
	if a.OnTick {
		r.On = "tick"
	}
	data, err := json.Marshal(r)
	return string(data), err
}

// SetRule sets what Rule returned.
func (a *Alert) SetRule(text string) error {
	if text == "" {
		return nil
	}
	var r ruleJSON
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	a.Condition, a.OnTick = r.Condition, r.On == "tick"
	a.Repeat = Repeat{MaxFires: r.MaxFires, Cooldown: time.Duration(r.Cooldown) * time.Second}
	return nil
}

// Last reports whether the alert ends with this firing.
func (f *Firing) Last() bool { return f.State.Fires >= f.Repeat.MaxFires }
