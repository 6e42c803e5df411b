package wording

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pattern"
)

// spanWords matches words such as 30d, -30d, "30 days ago" and "last week". A bare m may be minutes or months.
var spanWords = pattern.Of(`^(-|(?:the )?(?:last|past|previous) )?(\d{1,4})? ?(min|mins|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?|mo|mos|months?|y|yrs?|years?)( ago| back)?$`)

// span returns the time that words mean, of at most ten years.
func span(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if months, ok := strings.CutSuffix(text, "M"); ok && months != "" {
		text = months + "mo"
	}
	match := spanWords().FindStringSubmatch(strings.Join(strings.Fields(strings.ToLower(text)), " "))
	if match == nil || match[2] == "" && (match[1] == "" || match[1] == "-") {
		return 0, false
	}
	n := 1
	if match[2] != "" {
		n, _ = strconv.Atoi(match[2]) // four digits
	}
	unit := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour, 'y': 365 * 24 * time.Hour}[match[3][0]]
	switch {
	case strings.HasPrefix(match[3], "min"):
		unit = time.Minute
	case strings.HasPrefix(match[3], "mo"):
		unit = 30 * 24 * time.Hour
	}
	length := time.Duration(n) * unit
	return length, length > 0 && length <= 3650*24*time.Hour
}

// spans reads how far back a call looks, such as "days":30 and "period":"1mo".
func (c *call) spans() {
	start := c.rangeName("start", "from")
	if start == "" {
		return
	}
	for _, f := range append([]field(nil), c.fields...) {
		word := Joined(f.name)
		text, isText := strictjson.Text(f.raw)
		switch word {
		case "hours", "days", "weeks", "months", "years", "lookbackdays", "lookbackhours", "daysback", "numdays":
			if number, ok := plainNumber(strings.Trim(string(f.raw), `"`)); ok {
				unit := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "lookback"), "num"), "back")
				text, isText = number+" "+unit, true
			}
		case "range", "period", "lookback", "timerange", "daterange", "duration", "timespan", "window", "history", "lookbackperiod", "last", "since", "start", "from":
		default:
			continue
		}
		length, ok := span(text)
		if c.known(f.name) || !isText || !ok || c.hasRange() {
			continue
		}
		if word != "start" && word != "from" && word != "since" && c.inBars(f, length) {
			continue
		}
		at := c.now.UTC().Add(-length).Truncate(time.Minute).Format(time.RFC3339)
		c.drop(f.name, echo(f.name)+" "+shown(f.raw)+" is "+start+" "+at)
		c.fields = append(c.fields, field{start, json.RawMessage(quote(at))})
	}
}

// inBars reads how far back a call looks as a number of its bars, which also holds for bars that ended long ago. It reports false
// if the tool has no such argument, or the time is no number of bars.
func (c *call) inBars(f field, length time.Duration) bool {
	bar := time.Duration(c.barLength().Seconds()) * time.Second
	n := int(length / bar)
	if !c.known("bars") || c.has("bars") || n < 1 || n > 5000 {
		return false
	}
	c.drop(f.name, fmt.Sprintf("%s %s is %d bars of %s", echo(f.name), shown(f.raw), n, c.barLength()))
	c.fields = append(c.fields, field{"bars", json.RawMessage(strconv.Itoa(n))})
	return true
}

// hasRange reports whether the call has the start of a range under any name.
func (c *call) hasRange() bool {
	for _, f := range c.fields {
		if to := sharedWords()[Joined(f.name)]; to == "start|from" {
			if text, ok := strictjson.Text(f.raw); ok {
				if _, isSpan := span(text); isSpan && !c.known(f.name) {
					continue // the one that is read
				}
			}
			return true
		}
	}
	return false
}

// rangeName returns which of two names the tool has for an end of a range, "" for none.
func (c *call) rangeName(names ...string) string {
	for _, name := range names {
		if c.known(name) {
			return name
		}
	}
	return ""
}

// moments reads the times of a range: seconds since 1970, words such as "7 days ago", and times without a zone.
func (c *call) moments() error {
	for _, names := range [][]string{{"start", "from"}, {"end", "to"}} {
		name := c.rangeName(names...)
		raw := c.get(name)
		if name == "" || raw == nil {
			continue
		}
		if text := c.text(name); names[0] == "end" && (text == "now" || text == "today" || text == "latest" || text == "current") {
			c.drop(name, name+" "+text+" is the newest bar")
			continue
		}
		if at, ok := c.moment(raw); ok {
			c.set(name, quote(at), name+" "+shown(raw)+" is "+at)
		}
	}
	return nil
}

// moment returns a time that is no date and not in RFC 3339, in that form.
func (c *call) moment(raw json.RawMessage) (string, bool) {
	text := strings.TrimSpace(shown(raw))
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch {
		case number >= 1e8 && number < 1e10:
			return time.Unix(number, 0).UTC().Format(time.RFC3339), true
		case number >= 1e11 && number < 1e13:
			return time.UnixMilli(number).UTC().Format(time.RFC3339), true
		}
		return "", false
	}
	today := c.now.UTC().Truncate(24 * time.Hour)
	switch strings.ToLower(text) {
	case "today":
		return today.Format(time.DateOnly), true
	case "yesterday":
		return today.AddDate(0, 0, -1).Format(time.DateOnly), true
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z", "2006-01-02 15:04:05-07:00", "2006/01/02 15:04", "2006-01-02T15:04Z"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC().Format(time.RFC3339), true
		}
	}
	for _, form := range []string{"2006/01/02", "20060102", "Jan 2, 2006", "2 Jan 2006", "January 2, 2006", "2 January 2006"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.Format(time.DateOnly), true
		}
	}
	if length, ok := span(text); ok {
		return c.now.UTC().Add(-length).Truncate(time.Minute).Format(time.RFC3339), true
	}
	return "", false
}

// intervals reads the length of bars: a number of minutes, and a list of one.
func (c *call) intervals() error {
	if !c.known("interval") {
		return nil
	}
	for _, name := range []string{"timeframes", "intervals"} {
		if raw := c.get(name); raw != nil && raw[0] == '[' && !c.has("interval") && !c.known(name) {
			if err := c.move(name, "interval"); err != nil {
				return err
			}
		}
	}
	raw := c.get("interval")
	if raw == nil {
		return nil
	}
	if raw[0] == '[' {
		all := array(nil)
		n := 0
		for item := range strictjson.Items(raw) {
			all, n = item, n+1
		}
		if n != 1 {
			e := fault.Field("interval", shown(raw), "one interval, such as 4h")
			e.Message = "interval: one interval per call"
			if c.known("indicators") {
				e.Message += `, and others by indicator: "indicators":["rsi",{"name":"rsi","interval":"4h"}]`
			}
			return e
		}
		c.set("interval", string(all), "interval with one element is "+shown(all))
		raw = all
	}
	if raw[0] >= '0' && raw[0] <= '9' {
		if parsed, err := market.ParseInterval(string(raw)); err == nil {
			c.set("interval", quote(parsed.String()), "interval "+string(raw)+" is "+parsed.String())
		}
	}
	return nil
}
