package tool

import (
	"encoding/json"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/work/charting/payload"
)

// presentJSON is what the bars say of a condition when its alert is set.
type presentJSON struct {
	Now struct {
		True    *bool           `json:"true"` // null if it is not known
		Value   json.RawMessage `json:"value,omitempty"`
		Against json.RawMessage `json:"against,omitempty"`
		At      string          `json:"at,omitempty"`
		Anchor  string          `json:"anchored_at,omitempty"`
	} `json:"now"`
	LastFired *string `json:"last_would_have_fired"`
	Since     string  `json:"evaluated_from,omitempty"`

	ScriptNotes []string `json:"script_notes,omitempty"`
}

func toPresentJSON(p *alert.Present) presentJSON {
	var r presentJSON
	if !p.Known {
		return r
	}
	r.Now.True = &p.True
	r.Now.Value, r.Now.Against = payload.Number(p.Value), payload.Number(p.Against)
	for dst, at := range map[*string]time.Time{&r.Now.At: p.At, &r.Now.Anchor: p.Anchored, &r.Since: p.From} {
		if !at.IsZero() {
			*dst = formatTime(at)
		}
	}
	if !p.LastFired.IsZero() {
		at := formatTime(p.LastFired)
		r.LastFired = &at
	}
	return r
}

// scriptNotesProp describes what the answers about scripts say of them.
func scriptNotesProp() prop {
	return listProp("script_notes", "What was converted in a script.", &schema{Type: "string"})
}

// setSchema describes the result of set_alert.
func setSchema() *schema {
	s := alertSchema()
	s.Properties = append(s.Properties, typedProp("now", "object", "Is it true now (null: unknown)."),
		prop{"last_would_have_fired", &schema{AnyOf: []*schema{{Type: "string"}, {Type: "null"}}}}, typedProp("evaluated_from", "string", ""), scriptNotesProp())
	s.Required = append(s.Required, "now", "last_would_have_fired")
	return s
}
