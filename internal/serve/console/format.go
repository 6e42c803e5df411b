package console

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// format writes numbers and times as the owner prefers. Amounts of orders are written with all
// their digits, money that was computed with two.
type format struct {
	group, point string
	zone         *time.Location
	now          time.Time
	unit         func(market.Symbol) string // nil without currencies
}

func (v *visit) format() format {
	f := format{group: ",", point: ".", zone: time.UTC, now: v.now, unit: v.unit}
	switch v.prefs.Numbers {
	case "de":
		f.group, f.point = ".", ","
	case "fr":
		f.group, f.point = "\u202f", ","
	}
	if zone, err := time.LoadLocation(v.prefs.Zone); err == nil {
		f.zone = zone
	}
	return f
}

const minus = "\u2212"

// Num writes an exact decimal, with all its digits.
func (f format) Num(d decimal.Decimal) string { return f.digits(d.String()) }

// Line writes a line of a plan.
func (f format) Line(l order.Line) string { return l.Text(f.Num) }

// Price writes a price that was computed, such as an average, with as many digits as another.
func (f format) Price(d, like decimal.Decimal) string {
	return f.digits(cents(d.StringFixed(min(max(2, -like.Exponent()), 8))))
}

// Px writes a price with all its digits, and at least two.
func (f format) Px(d decimal.Decimal) string {
	return f.digits(cents(d.StringFixed(max(2, -d.Exponent()))))
}

// Average writes a price that may be a quotient: with all its digits up to eight after the point, else with seven that count, and
// at least two after the point.
func (f format) Average(d decimal.Decimal) string { return f.Px(legible(d)) }

// value writes what was computed, such as the line of an indicator, with the digits of an average.
func (f format) value(v float64) string { return f.Num(legible(decimal.NewFromFloat(v))) }

// legible cuts a number to eight digits after the point if that loses nothing, else to seven that count.
func legible(d decimal.Decimal) decimal.Decimal {
	if d.Equal(d.Round(8)) {
		return d.Round(8)
	}
	whole := int32(d.NumDigits()) + d.Exponent() //nolint:gosec // G115: at most 48 digits
	return d.Round(max(2, 7-whole))
}

// level writes the price of an alert: a whole number as it is, others as prices are.
func (f format) level(d decimal.Decimal) string {
	if d.IsInteger() {
		return f.digits(d.StringFixed(0))
	}
	return f.Px(d)
}

// cents cuts zeros at the end of a number, down to two digits after the point.
func cents(text string) string {
	for at := strings.IndexByte(text, '.'); at >= 0 && len(text)-at > 3 && text[len(text)-1] == '0'; {
		text = text[:len(text)-1]
	}
	return text
}

// Money writes an amount with two digits.
func (f format) Money(d decimal.Decimal) string { return f.digits(d.StringFixed(2)) }

// Signed writes an amount with two digits and its sign.
func (f format) Signed(d decimal.Decimal) string {
	text := f.Money(d)
	if d.Sign() > 0 {
		return "+" + text
	}
	return text
}

// Percent writes a percentage with its sign.
func (f format) Percent(d decimal.Decimal) string { return f.Signed(d) + "\u202f%" }

// Whole writes a limit without digits that are zero.
func (f format) Whole(d decimal.Decimal) string { return f.digits(d.String()) }

// Int writes a count.
func (f format) Int(n int) string { return f.digits(strconv.Itoa(n)) }

// Size writes how much an order is about: its quantity, or what was asked for if it was denied before there was one,
// with the word that joins it to the symbol.
func (f format) Size(o order.Order) (size, joint string) {
	quantity, asked := o.KnownQuantity(), o.Sizing
	switch {
	case quantity.IsPositive():
		return f.Num(quantity), " "
	case asked.All:
		return "all", " "
	case asked.Notional.IsPositive():
		return f.In(asked.Notional, o.Symbol), " of "
	case asked.Percent.IsPositive():
		return f.Num(asked.Percent) + " % at risk", " in "
	}
	return f.Num(asked.Amount) + " at risk", " in "
}

// About writes how much of which symbol an order is about, such as "0.02 BTCUSDT".
func (f format) About(o order.Order) string {
	size, joint := f.Size(o)
	return size + joint + o.Symbol.Name
}

// worth returns what an order is worth at a price.
func worth(o order.Order, at decimal.Decimal) decimal.Decimal {
	if quantity := o.KnownQuantity(); quantity.IsPositive() || o.Sizing.Notional.IsZero() {
		return quantity.Mul(at)
	}
	return o.Sizing.Notional
}

func (f format) digits(text string) string {
	negative := strings.HasPrefix(text, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	var b strings.Builder
	if negative {
		b.WriteString(minus)
	}
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(f.group)
		}
		b.WriteRune(digit)
	}
	if fraction != "" {
		b.WriteString(f.point + fraction)
	}
	return b.String()
}

// Class returns the class of an amount: up, down or nothing.
func (format) Class(d decimal.Decimal) string {
	switch d.Sign() {
	case 1:
		return "up"
	case -1:
		return "down"
	}
	return ""
}

// Clock writes a time of today, else with its day.
func (f format) Clock(t time.Time) template.HTML {
	layout := "15:04:05"
	switch days := f.days(t); {
	case days > 6:
		layout = "2 Jan 15:04"
	case days > 0:
		layout = "Mon 15:04"
	}
	return f.element(t, layout)
}

// Minute writes the hour and minute.
func (f format) Minute(t time.Time) template.HTML { return f.element(t, "15:04") }

// Date writes the day of a time.
func (f format) Date(t time.Time) template.HTML { return f.element(t, "2 Jan 2006") }

// Today returns the day of now in words.
func (f format) Today() string { return f.now.In(f.zone).Format("Monday 2 January 2006") }

// Zone returns the time zone as the settings name it.
func (f format) Zone() string { return f.zone.String() }

// ZoneName returns the name of the time zone.
func (f format) ZoneName() string {
	name, _ := f.now.In(f.zone).Zone()
	return name
}

func (f format) days(t time.Time) int {
	midnight := func(t time.Time) time.Time {
		y, m, d := t.In(f.zone).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return int(midnight(f.now).Sub(midnight(t)).Hours() / 24)
}

// element writes a time that programs can read. Both parts hold digits, letters and signs of
// times only.
func (f format) element(t time.Time, layout string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + t.In(f.zone).Format(layout) + `</time>`) //nolint:gosec // G203: see above
}

// Ago writes how long ago a time was.
func (f format) Ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return span(f.now.Sub(t)) + " ago"
}

// Left writes the time until t as minutes and seconds, or hours.
func (f format) Left(t time.Time) string {
	left := max(0, t.Sub(f.now))
	if left >= time.Hour {
		return fmt.Sprintf("%d h %02d min", int(left.Hours()), int(left.Minutes())%60)
	}
	return fmt.Sprintf("%d:%02d", int(left.Minutes()), int(left.Seconds())%60)
}

// Until returns the Unix time of t for the script that counts down.
func (format) Until(t time.Time) int64 { return t.Unix() }

// span writes a duration in its largest unit.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 90*time.Second:
		return strconv.Itoa(int(d.Round(time.Second).Seconds())) + " s"
	case d < 90*time.Minute:
		return strconv.Itoa(int(d.Round(time.Minute).Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Round(time.Hour).Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

// part returns a share of a limit in percent, for a bar.
func part(used, limit decimal.Decimal) float64 {
	if !limit.IsPositive() {
		return 0
	}
	share, _ := used.Mul(decimal.NewFromInt(100)).DivRound(limit, 1).Float64()
	return min(max(share, 0), 100)
}

// plural writes a count with its noun.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// days writes a duration in days and hours.
func days(d time.Duration) string {
	hours := int(max(0, d).Hours())
	switch {
	case hours == 0:
		return plural(int(max(0, d).Minutes()), "minute")
	case hours < 24:
		return strconv.Itoa(hours) + " h"
	}
	return strconv.Itoa(hours/24) + " d " + strconv.Itoa(hours%24) + " h"
}

// exact writes an amount in full, and zero as nothing.
func exact(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// Float writes a number without digits that are zero.
func (f format) Float(v float64) string { return f.Num(decimal.NewFromFloat(v).Round(8)) }

// SignedFloat writes an amount with two digits and its sign.
func (f format) SignedFloat(v float64) string { return f.Signed(decimal.NewFromFloat(v).Round(2)) }

// number writes a coordinate of a drawing, round2 cuts it to two digits.
func number(v float64) string  { return strconv.FormatFloat(v, 'f', -1, 64) }
func round2(v float64) float64 { return math.Round(v*100) / 100 }

func upperFirst(s string) string { return first(s, unicode.ToUpper) }
func lowerFirst(s string) string { return first(s, unicode.ToLower) }

// first writes the first character of a text in another case.
func first(s string, as func(rune) rune) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return s
	}
	return string(as(r)) + s[size:]
}
