package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
)

// alertRows is how many alerts a page of the list has.
const alertRows = 50

// alertsData is the list of alerts: a page of those that wait, and the newest that fired.
type alertsData struct {
	Fired   []firedRow
	Silent  int // firings that are not listed
	Waiting []alertRow
	All     int // alerts that wait
	Found   int // of them, those that match Text
	First   int // number of the first row among those that match
	Idle    int // of all that wait, those that nothing evaluates

	Text   string
	Order  string
	Orders []choice
	Before string // link to the page before; "" on the first
	After  string // link to the page after; "" on the last
}

// Last is the number of the last row.
func (d alertsData) Last() int { return d.First + len(d.Waiting) - 1 }

func (c *Console) alertsData(v *visit) (any, error) {
	all, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller())
	if err != nil {
		return nil, err
	}
	q, f := v.r.URL.Query(), v.format()
	d := alertsData{All: len(all), Idle: c.countIdle(all), Text: fault.Clean(q.Get("q"), 100), Order: orderOfAlerts(q.Get("order"))}
	for _, o := range [][2]string{{"", "Newest"}, {"near", "Nearest"}, {"symbol", "Symbol"}} {
		d.Orders = append(d.Orders, choice{o[1], d.link(o[0], 0), o[0] == d.Order})
	}
	all = matching(all, d.Text, f)
	c.sortAlerts(all, d.Order)
	page, err := pageOf(q.Get("page"), len(all))
	if err != nil {
		return nil, err
	}
	first := page * alertRows
	d.Found, d.First = len(all), first+1
	for i := first; i < min(len(all), first+alertRows); i++ {
		row := c.alertRow(&all[i], f)
		row.By, _ = c.setter(v, row.ID)
		d.Waiting = append(d.Waiting, row)
	}
	if page > 0 {
		d.Before = d.link(d.Order, page-1)
	}
	if first+alertRows < len(all) {
		d.After = d.link(d.Order, page+1)
	}
	return d, c.addFired(v, &d)
}

// link returns the address of a page of the list.
func (d alertsData) link(order string, page int) string {
	q := url.Values{}
	if d.Text != "" {
		q.Set("q", d.Text)
	}
	if order != "" {
		q.Set("order", order)
	}
	if page > 0 {
		q.Set("page", strconv.Itoa(page+1))
	}
	return strings.TrimSuffix(Root+"/alerts?"+q.Encode(), "?")
}

// orderOfAlerts returns a known order of the list, "" for newest first.
func orderOfAlerts(asked string) string {
	if asked == "near" || asked == "symbol" {
		return asked
	}
	return ""
}

// pageOf returns the number of a page of a list, 0 for the first. A page past the end is the last: alerts fire while
// the owner reads.
func pageOf(text string, length int) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fault.Field("page", fault.Clean(text, 20), "a number of 1 or more")
	}
	return min(n-1, max(0, length-1)/alertRows), nil
}

// matching returns the alerts whose symbol, condition or note has every word of a text.
func matching(all []alert.Alert, text string, f format) []alert.Alert {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(a alert.Alert) bool {
		has := strings.ToLower(a.Symbol.String() + " " + condition(&a, f) + " " + a.Note)
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(has, word) })
	})
}

// sortAlerts orders alerts: the newest first, those that are nearest to the price, or by symbol.
func (c *Console) sortAlerts(all []alert.Alert, order string) {
	newer := func(a, b alert.Alert) int { return b.Created.Compare(a.Created) }
	switch order {
	case "symbol":
		slices.SortStableFunc(all, func(a, b alert.Alert) int { return cmp.Or(cmp.Compare(a.Symbol.Name, b.Symbol.Name), newer(a, b)) })
	case "near":
		type distant struct {
			alert.Alert

			away  decimal.Decimal
			known bool
		}
		far := make([]distant, len(all))
		for i := range all {
			away, known := c.away(&all[i])
			far[i] = distant{all[i], away.Abs(), known}
		}
		slices.SortStableFunc(far, func(a, b distant) int {
			if a.known != b.known { // those without a distance come last
				return map[bool]int{true: -1, false: 1}[a.known]
			}
			return cmp.Or(a.away.Cmp(b.away), newer(a.Alert, b.Alert))
		})
		for i := range far {
			all[i] = far[i].Alert
		}
	default:
		slices.SortStableFunc(all, newer)
	}
}
