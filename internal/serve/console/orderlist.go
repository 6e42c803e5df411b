package console

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Bounds of the list: how many orders are read at once, how often for one page with a filter, and how many rows each
// of its tables has.
const (
	listPage  = 500
	maxReads  = 20
	orderRows = 100
)

// wanted says which orders that have ended are listed.
type wanted struct {
	since, status, text string
	words               []string
	f                   format
}

func newWanted(q url.Values, f format) wanted {
	w := wanted{since: since(q.Get("since")), status: q.Get("status"), text: fault.Clean(q.Get("q"), 100), f: f}
	if !slices.Contains(endings(), w.status) {
		w.status = ""
	}
	w.words = strings.Fields(strings.ToLower(w.text))
	return w
}

// endings are the ways to end that the list can be narrowed to.
func endings() []string { return []string{"filled", "denied", "canceled"} }

// narrow reports whether more than the newest orders must be read to fill a page.
func (w wanted) narrow() bool { return w.status != "" || len(w.words) > 0 }

// has reports whether an order has all words of the filter.
func (w wanted) has(o order.Order) bool {
	return orderHas(w.words, o)
}

// ended reports whether an order has ended and is listed.
func (w wanted) ended(o order.Order) bool {
	return o.Status.Final() && (w.status == "" || o.Status.String() == w.status) && after(o, w.since, w.f) && w.has(o)
}

// link returns the address of the list with another value of one field, from its first page.
func (w wanted) link(name, value string) string {
	q := url.Values{"since": {w.since}}
	for key, now := range map[string]string{"status": w.status, "q": w.text, name: value} {
		if now != "" || key == name {
			q.Set(key, now)
		}
	}
	if value == "" {
		q.Del(name)
	}
	return Root + "/orders?" + q.Encode()
}

// listed returns the orders of a page that have ended: the newest that are wanted, or those that follow the one in
// the address.
func (c *Console) listed(v *visit, d *ordersData, w wanted) ([]order.Order, error) {
	mark, err := markOf(v.r.URL.Query().Get("after"))
	if err != nil {
		return nil, err
	}
	found, last, err := c.scan(v, mark, w, &d.Left)
	if err != nil {
		return nil, err
	}
	if mark.IsZero() {
		newest, err := c.cfg.Account.Orders(v.ctx(), v.caller(), false)
		if err != nil {
			return nil, err
		}
		found = merged(found, slices.DeleteFunc(newest, func(o order.Order) bool { return !w.ended(o) }))
	} else {
		d.Newest = w.link("", "")
	}
	if cut := len(found) - orderRows; cut > 0 {
		found, last = found[:orderRows], found[orderRows-1].Mark()
		d.Left += cut
	}
	if d.Left > 0 {
		d.Older = w.link("after", afterText(last))
	}
	return found, nil
}

// scan reads on from an order until a page is full, the list ends or enough was read. left becomes the number of
// orders that were not looked at, and last the last one that was.
func (c *Console) scan(v *visit, from order.Mark, w wanted, left *int) (found []order.Order, last order.Mark, err error) {
	last = from
	for range maxReads {
		page, err := c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{After: last, Most: listPage})
		if err != nil {
			return nil, last, err
		}
		for i, o := range page.Orders {
			last = o.Mark()
			if w.ended(o) {
				found = append(found, o)
			}
			if len(found) == orderRows {
				*left = page.Left + len(page.Orders) - i - 1
				return found, last, nil
			}
		}
		if *left = page.Left; page.Left == 0 || !w.narrow() {
			break
		}
	}
	return found, last, nil
}

// merged joins two lists of orders, newest first.
func merged(a, b []order.Order) []order.Order {
	all := make(map[string]order.Order, len(a)+len(b))
	for _, o := range slices.Concat(a, b) {
		all[o.ID] = o
	}
	return slices.SortedFunc(maps.Values(all), func(a, b order.Order) int { return b.Mark().Compare(a.Mark()) })
}

// afterText writes the mark of an order for an address.
func afterText(m order.Mark) string { return fmt.Sprint(m.Created.UnixMicro(), "-", m.ID) }

// markOf reads what afterText wrote.
func markOf(text string) (order.Mark, error) {
	if text == "" {
		return order.Mark{}, nil
	}
	micros, id, _ := strings.Cut(text, "-")
	created, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || id == "" {
		return order.Mark{}, fault.Field("after", fault.Clean(text, 64), "what the link to older orders has")
	}
	return order.Mark{Created: time.UnixMicro(created).UTC(), ID: id}, nil
}

// find returns an order, however old.
func (c *Console) find(v *visit, id string) (order.Order, error) {
	if c.cfg.Account == nil {
		return order.Order{}, errNoTrading
	}
	page, err := c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{ID: id})
	if fault.KindOf(err) == fault.NotFound || err == nil && len(page.Orders) == 0 {
		return order.Order{}, fault.New(fault.NotFound, "unknown_order", "There is no order %s.", fault.Clean(id, 64))
	}
	if err != nil {
		return order.Order{}, err
	}
	return page.Orders[0], nil
}

// maxBeside is how many orders created with an order are read.
const maxBeside = 20

// beside returns the orders that may belong to one: those created with it, and the newest.
func (c *Console) beside(v *visit, o order.Order) ([]order.Order, error) {
	newest, err := c.cfg.Account.Orders(v.ctx(), v.caller(), false)
	if err != nil {
		return nil, err
	}
	page, err := c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{After: order.Mark{Created: o.Created.Add(time.Microsecond)}, Most: maxBeside})
	for _, one := range page.Orders {
		if !slices.ContainsFunc(newest, func(known order.Order) bool { return known.ID == one.ID }) {
			newest = append(newest, one)
		}
	}
	return newest, err
}

// saveOrders answers GET /console/orders.csv, which has all orders.
func (c *Console) saveOrders(v *visit) {
	if c.cfg.Account == nil {
		c.fail(v, errNoTrading)
		return
	}
	page, err := c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{Most: listPage})
	if err != nil {
		c.fail(v, err)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="candela-orders.csv"`)
	w := csv.NewWriter(v.w)
	_ = w.Write([]string{"order_id", "created", "updated", "mode", "symbol", "side", "type", "price", "stop_price", "quantity", "filled", "average", "status", "rule", "reason", "client"})
	for n := len(page.Orders); err == nil && n > 0; n = len(page.Orders) {
		for _, o := range page.Orders {
			_ = w.Write(csvRow(o))
		}
		if page.Left == 0 || w.Error() != nil {
			break
		}
		page, err = c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{After: page.Orders[n-1].Mark(), Most: listPage})
	}
	if err != nil {
		_ = w.Write([]string{"The list ends here: " + fault.Cell(c.public(v.ctx(), err))})
	}
	w.Flush() // the browser may have left
}

// saveReceipt answers GET /console/orders/{id}/receipt.json.
func (c *Console) saveReceipt(v *visit) {
	if c.cfg.Receipts == nil {
		c.fail(v, errNoTrading)
		return
	}
	o, err := c.find(v, v.r.PathValue("id"))
	var text []byte
	if err == nil {
		text, err = c.cfg.Receipts.Receipt(v.ctx(), v.caller(), o.ID)
	}
	if err != nil {
		c.fail(v, err)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="candela-receipt-`+o.ID+`.json"`)
	_, _ = v.w.Write(text) // the browser may have left
}

func csvRow(o order.Order) []string {
	average := ""
	if price, ok := o.Average(); ok {
		average = price.String()
	}
	return []string{
		o.ID, o.Created.UTC().Format(time.RFC3339), o.Updated.UTC().Format(time.RFC3339), string(o.Mode), o.Symbol.String(), o.Side.String(), o.Type.String(),
		exact(o.Price), exact(o.StopPrice), o.KnownQuantity().String(), o.Filled.String(), average, o.Status.String(), o.Denial.Rule, fault.Cell(o.Reason), fault.Cell(o.Client),
	}
}
