package sink

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/fault"
	"candela/internal/kit/secret"
)

// maxText bounds a message in bytes: ntfy makes an attachment of one over 4,096.
const maxText = 4000

// NewNtfy returns a receiver that gets a line of text for each firing: a topic of an ntfy
// server, or anything that accepts a plain POST. token may be empty.
func NewNtfy(address string, token secret.Text, allowPrivate bool) (*Receiver, error) {
	r, err := newReceiver("ntfy", address, allowPrivate)
	if err != nil {
		return nil, err
	}
	r.hidden = token.Reveal()
	text := func(title, tags, priority, body string) message {
		header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Title": {title}, "Tags": {tags}, "Priority": {priority}}
		if !token.IsZero() {
			header.Set("Authorization", "Bearer "+token.Reveal())
		}
		return message{header, []byte(body)}
	}
	r.compose = func(e *notify.Entry, at time.Time) message {
		f := parseFiring(e)
		m := text(e.Symbol.Name+" alert", f.tags(), f.priority(), f.text(at))
		m.header.Set(headerSeq, strconv.FormatUint(e.Seq, 10))
		if sequenceID.MatchString(f.ID) {
			m.header.Set("X-Sequence-ID", f.ID) // a repetition replaces the first
		}
		return m
	}
	r.sample = func(time.Time) message {
		return text("candela test", "test_tube", "default", "candela notify test: alerts will arrive here")
	}
	return r, nil
}

// sequenceID matches the IDs that ntfy accepts. It accepts those of alerts.
var sequenceID = regexp.MustCompile(`^[-_0-9A-Za-z]{1,64}$`)

// firing is a record of a firing, or raw if it is none.
type firing struct {
	alert.Fired

	raw string
}

func parseFiring(e *notify.Entry) firing {
	fired, ok := alert.ParseFired(e.Data)
	if !ok {
		return firing{raw: string(e.Data)}
	}
	return firing{Fired: fired}
}

// text returns the firing for people: "BTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC". A
// time on the day of now has no date.
func (f *firing) text(now time.Time) string {
	if f.raw != "" {
		return fault.Truncate(f.raw, maxText)
	}
	var b strings.Builder
	switch {
	case f.Condition.Describe != "":
		b.WriteString(f.Condition.Describe)
	case f.Condition.Type == "price_above":
		b.WriteString(f.Symbol + " above " + group(f.Condition.Threshold.String()))
	case f.Condition.Type == "price_below":
		b.WriteString(f.Symbol + " below " + group(f.Condition.Threshold.String()))
	default:
		b.WriteString(f.Symbol + " " + strings.TrimSpace(f.Interval+" "+string(f.Condition.Indicator)+" "+f.Condition.Signal))
	}
	if f.Value != nil {
		b.WriteString(": " + readable(*f.Value))
	}
	layout := time.TimeOnly
	if f.At.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		layout = time.DateTime
	}
	b.WriteString(" at " + f.At.UTC().Format(layout) + " UTC")
	if f.Late {
		b.WriteString(" (found late)")
	}
	if f.Note != "" {
		b.WriteString("\n" + f.Note)
	}
	return fault.Truncate(b.String(), maxText)
}

// tags returns the emoji names that ntfy shows.
func (f *firing) tags() string {
	switch f.Condition.Type {
	case "price_above":
		return "chart_with_upwards_trend"
	case "price_below":
		return "chart_with_downwards_trend"
	}
	return "bell"
}

// priority is high for a recent firing.
func (f *firing) priority() string {
	if f.Late {
		return "default"
	}
	return "high"
}

// readable formats a value with ten significant digits, without an exponent where that stays
// short.
func readable(v float64) string {
	d := decimal.NewFromFloat(v)
	magnitude := d.NumDigits() + int(d.Exponent()) // digits before the point
	if magnitude < -12 || magnitude > 21 {
		return strconv.FormatFloat(v, 'g', 10, 64)
	}
	return group(d.Round(int32(max(0, 10-magnitude))).String())
}

// group adds thousands separators to a number without an exponent.
func group(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	whole, fraction, pointed := strings.Cut(number, ".")
	if strings.ContainsAny(number, "eE") {
		return sign + number
	}
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if pointed {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}
