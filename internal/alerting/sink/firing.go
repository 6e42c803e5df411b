package sink

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// MaxText bounds a text in bytes: ntfy makes an attachment of one over 4,096, and Telegram
// refuses one of more characters.
const MaxText = 4000

// Firing is a record of a firing, or the raw text if it is none.
type Firing struct {
	alert.Fired

	raw string
}

// ParseFiring reads the record of a notification.
func ParseFiring(e *notify.Entry) Firing {
	if e.Kind == notify.Order {
		return Firing{raw: noticeText(e.Data)}
	}
	fired, ok := alert.ParseFired(e.Data)
	if !ok {
		return Firing{raw: string(e.Data)}
	}
	return Firing{Fired: fired}
}

// noticeText returns what happened to an order, for people.
func noticeText(data []byte) string {
	r, ok := order.ParseNotice(data)
	if !ok {
		return string(data)
	}
	text := r.Text() + " " + r.Mode + " account, " + r.At
	if r.Reason != "" {
		text += "\n" + r.Reason
	}
	return text
}

// Text returns the firing for people: "BTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC". A
// time on the day of now has no date.
func (f *Firing) Text(now time.Time) string {
	if f.raw != "" {
		return fault.Truncate(f.raw, MaxText)
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
	switch {
	case f.State != "":
		b.WriteString(": " + idleText(f.State) + f.Error + ". Noticed")
	case f.Error != "":
		b.WriteString(": the alert has ended, its script failed. " + f.Error + " The bar closed")
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
	for _, text := range []string{f.Fired.Text, f.Note} {
		if text != "" {
			b.WriteString("\n" + text)
		}
	}
	return fault.Truncate(b.String(), MaxText)
}

// idleText says that an alert stays and is not evaluated.
func idleText(state string) string {
	if state == alert.SetAside {
		return "the alert is set aside and not evaluated until you resume it; "
	}
	return "the alert is broken and not evaluated; "
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
