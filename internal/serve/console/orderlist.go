package console

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// listPage is how many orders a page of the list has, beside those that denials would hide.
const listPage = 500

// listed returns the orders of a page: the newest, or those that follow the one in the address.
func (c *Console) listed(v *visit, d *ordersData) ([]order.Order, error) {
	mark, err := markOf(v.r.URL.Query().Get("after"))
	if err != nil {
		return nil, err
	}
	page, err := c.cfg.Account.OrderPage(v.ctx(), v.caller(), order.Query{After: mark, Most: listPage})
	if err != nil {
		return nil, err
	}
	link := Root + "/orders?since=" + d.Since
	if n := len(page.Orders); n > 0 && page.Left > 0 {
		d.Older, d.Left = link+"&after="+afterText(page.Orders[n-1]), page.Left
	}
	newest, err := c.cfg.Account.Orders(v.ctx(), v.caller(), !mark.IsZero())
	if err != nil {
		return nil, err
	}
	if !mark.IsZero() {
		d.Newest = link
	}
	all := make(map[string]order.Order)
	for _, o := range slices.Concat(page.Orders, newest) {
		all[o.ID] = o
	}
	return slices.SortedFunc(maps.Values(all), func(a, b order.Order) int { return b.Mark().Compare(a.Mark()) }), nil
}

// afterText writes the mark of an order into an address.
func afterText(o order.Order) string { return fmt.Sprint(o.Created.UnixMicro(), "-", o.ID) }

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
