package paper_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// bar is a whole bar: open, high, low, close, volume.
type bar [5]float64

// bars sends bars, one a minute from the nth minute after the next one on.
func (v *venue) bars(n int, all ...bar) {
	start := time.Now().Unix()/60*60 + 60
	for i, b := range all {
		v.Observe(provider.Event{
			Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: provider.Closed, Price: b[3], At: time.Now().Add(time.Hour),
			Bar: market.Bar{T: start + 60*int64(n+i), O: b[0], H: b[1], L: b[2], C: b[3], V: b[4]},
		}, provider.Clock{})
	}
}

// order returns the report of an order.
func (v *venue) order(tb testing.TB, id string) order.Report {
	tb.Helper()
	r, err := v.Query(tb.Context(), order.Spec{ID: id}.Handle())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// shown writes an order as status, filled of quantity and the prices of its fills.
func shown(r order.Report) string {
	words := []string{r.Status.String(), r.Filled.String() + "/" + r.Quantity.String()}
	for _, f := range r.Fills {
		w := f.Quantity.String() + "@" + f.Price.String()
		if f.AmbiguousBar {
			w += "?"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// wantOrders holds the states of orders, by id.
func (v *venue) wantOrders(tb testing.TB, want map[string]string) {
	tb.Helper()
	for id, s := range want {
		if got := shown(v.order(tb, id)); got != s {
			tb.Errorf("%s is %q, want %q", id, got, s)
		}
	}
}

// stop returns a sale of 1 that waits.
func stop(stopPrice, limit string) order.Spec {
	o := order.Spec{ID: "stop", Symbol: btc(), Side: order.Sell, Type: order.Market, Quantity: dec("1"), StopPrice: dec(stopPrice), ReduceOnly: true, Role: order.StopLoss}
	if limit != "" {
		o.Type, o.Price = order.Limit, dec(limit)
	}
	return o
}

// trailing returns a sale of 1 that trails.
func trailing(percent string) order.Spec {
	o := stop("1", "")
	o.StopPrice, o.TrailPercent = dec("0"), dec(percent)
	return o
}

// group returns the orders of a request, the first with the id "head", then "stop" and "target".
func group(r order.Request) []order.Spec {
	r.Symbol = btc()
	head := r.Spec("head", "local")
	all := []order.Spec{head}
	for _, leg := range head.Legs() {
		leg.ID = map[order.Role]string{order.StopLoss: "stop", order.TakeProfit: "target"}[leg.Role]
		all = append(all, leg)
	}
	return all
}

func pair(quantity, stopLoss, takeProfit string) []order.Spec {
	return group(order.Request{
		Side: order.Sell, Type: order.Market, Quantity: dec(quantity), ReduceOnly: true,
		Protect: order.Protection{StopLoss: dec(stopLoss), TakeProfit: dec(takeProfit)},
	})
}

// bracket returns a purchase of 1 with both legs, at a limit, or at once without one.
func bracket(limit, stopLoss, takeProfit string) []order.Spec {
	r := order.Request{Side: order.Buy, Type: order.Market, Quantity: dec("1"), Protect: order.Protection{StopLoss: dec(stopLoss), TakeProfit: dec(takeProfit)}}
	if limit != "" {
		r.Type, r.Price = order.Limit, dec(limit)
	}
	return group(r)
}

// place sends orders that must be taken: one, or a group.
func (v *venue) place(tb testing.TB, orders ...order.Spec) {
	tb.Helper()
	if len(orders) == 1 {
		v.submit(tb, orders[0])
		return
	}
	if reports, err := v.SubmitGroup(tb.Context(), orders); err != nil || len(reports) != len(orders) {
		tb.Fatal(reports, err)
	}
}

// TestObserve_Stops is the rule for stops over whole bars. One BTC is held, the price is
// 50,000, the slippage five basis points.
func TestObserve_Stops(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		orders []order.Spec
		bars   []bar
		want   map[string]string
	}{
		"a price above the stop does nothing":  {[]order.Spec{stop("49000", "")}, []bar{{50000, 50000, 49000.01, 50000, 9}}, map[string]string{"stop": "accepted 0/1"}},
		"a price at the stop triggers it":      {[]order.Spec{stop("49000", "")}, []bar{{50000, 50000, 49000, 50000, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5"}},
		"within a bar it fills at the stop":    {[]order.Spec{stop("49000", "")}, []bar{{50000, 50000, 47000, 47500, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5"}},
		"after a gap it fills at the open":     {[]order.Spec{stop("49000", "")}, []bar{{48000, 49500, 47000, 49500, 9}}, map[string]string{"stop": "filled 1/1 1@47976"}},
		"no more than was traded":              {[]order.Spec{stop("49000", "")}, []bar{{50000, 50000, 48000, 48100, 0.4}, {48200, 48300, 48200, 48300, 0.5}, {48400, 48400, 48400, 48400, 9}}, map[string]string{"stop": "filled 1/1 0.4@48975.5 0.5@48175.9 0.1@48375.8"}},
		"a stop limit fills at the stop":       {[]order.Spec{stop("49000", "48500")}, []bar{{50000, 50000, 48000, 48100, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5"}},
		"a stop limit rests where it is worse": {[]order.Spec{stop("49000", "48500")}, []bar{{48000, 48000, 47000, 47100, 9}}, map[string]string{"stop": "accepted 0/1"}},
		"and fills when the price comes back":  {[]order.Spec{stop("49000", "48500")}, []bar{{48000, 48000, 47000, 47100, 9}, {47100, 48501, 47100, 48000, 0.7}}, map[string]string{"stop": "partially_filled 0.7/1 0.7@48500"}},
		"in the bar of the gap too":            {[]order.Spec{stop("49000", "48500")}, []bar{{48000, 49500, 47000, 49500, 9}}, map[string]string{"stop": "filled 1/1 1@48500"}},

		"the stop of a pair cancels the target":            {pair("1", "49000", "51000"), []bar{{50000, 50000, 48000, 48000, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5", "head": "canceled 0/1"}},
		"the target cancels the stop":                      {pair("1", "49000", "51000"), []bar{{50000, 51001, 50000, 50000, 9}}, map[string]string{"stop": "canceled 0/1", "head": "filled 1/1 1@51000"}},
		"a part of the target shrinks the stop":            {pair("1", "49000", "51000"), []bar{{50000, 51001, 50000, 50000, 0.3}}, map[string]string{"stop": "accepted 0/0.7", "head": "partially_filled 0.3/1 0.3@51000"}},
		"a part of the stop shrinks the target":            {pair("1", "49000", "51000"), []bar{{50000, 50000, 48000, 48000, 0.4}}, map[string]string{"stop": "partially_filled 0.4/1 0.4@48975.5", "head": "accepted 0/0.6"}},
		"both sum up to the position":                      {pair("1", "49000", "51000"), []bar{{50000, 51001, 50000, 50000, 0.3}, {50000, 50000, 48000, 48000, 9}}, map[string]string{"stop": "filled 0.7/0.7 0.7@48975.5", "head": "canceled 0.3/1 0.3@51000"}},
		"where the way is a guess the stop wins":           {pair("1", "49000", "50500"), []bar{{50000, 50600, 48000, 50000, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5?", "head": "canceled 0/1"}},
		"also where the way goes to the stop":              {pair("1", "49500", "51000"), []bar{{50000, 51600, 49400, 50000, 9}}, map[string]string{"stop": "filled 1/1 1@49475.25?", "head": "canceled 0/1"}},
		"an open beyond the target decides":                {pair("1", "49000", "51000"), []bar{{51500, 51500, 48000, 50000, 9}}, map[string]string{"stop": "canceled 0/1", "head": "filled 1/1 1@51000"}},
		"an open beyond the stop decides":                  {pair("1", "49000", "51000"), []bar{{48500, 51500, 48000, 50000, 9}}, map[string]string{"stop": "filled 1/1 1@48475.75", "head": "canceled 0/1"}},
		"a guess fills no more than was traded":            {pair("1", "49000", "50500"), []bar{{50000, 50600, 48000, 50000, 0.25}}, map[string]string{"stop": "partially_filled 0.25/1 0.25@48975.5?", "head": "accepted 0/0.75"}},
		"a target that is only touched is no guess":        {pair("1", "49000", "50600"), []bar{{50000, 50600, 48000, 50000, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5", "head": "canceled 0/1"}},
		"a trail follows the best price":                   {[]order.Spec{trailing("2")}, []bar{{50000, 52000, 50000, 52000, 9}, {52000, 52000, 50960, 51000, 9}}, map[string]string{"stop": "filled 1/1 1@50934.52"}},
		"a trail begins at the price of its arrival":       {[]order.Spec{trailing("2")}, []bar{{50000, 50000, 49000, 49500, 9}}, map[string]string{"stop": "filled 1/1 1@48975.5"}},
		"a trail does not follow back":                     {[]order.Spec{trailing("2")}, []bar{{50000, 52000, 50000, 51500, 9}, {51500, 51500, 50961, 51000, 9}, {51000, 51000, 50950, 51000, 9}}, map[string]string{"stop": "filled 1/1 1@50934.52"}},
		"the low is tried before the high lifts the trail": {[]order.Spec{trailing("4")}, []bar{{50000, 50500, 48300, 50500, 9}}, map[string]string{"stop": "accepted 0/1"}},
		"the close comes after the high":                   {[]order.Spec{trailing("4")}, []bar{{50000, 50500, 48300, 48400, 9}}, map[string]string{"stop": "filled 1/1 1@48455.76"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			v.submit(t, spec(order.Buy, order.Market, "1", ""))
			v.place(t, tc.orders...)
			v.bars(0, tc.bars...)
			v.wantOrders(t, tc.want)
		})
	}
}

// TestObserve_BuyStops has purchases that wait: they reserve what they may cost, and never
// spend more than there is.
func TestObserve_BuyStops(t *testing.T) {
	t.Parallel()
	buy := func(quantity, stopPrice string) order.Spec {
		return order.Spec{ID: "buy", Symbol: btc(), Side: order.Buy, Type: order.Market, Quantity: dec(quantity), StopPrice: dec(stopPrice)}
	}
	cases := map[string]struct {
		order order.Spec
		bars  []bar
		want  string
	}{
		"a price at the stop triggers it": {buy("1", "51000"), []bar{{50000, 51000, 50000, 50500, 9}}, "filled 1/1 1@51025.5"},
		"after a gap it pays the open":    {buy("1", "51000"), []bar{{52000, 52000, 52000, 52000, 9}}, "filled 1/1 1@52026"},
		"no more than the cash pays for":  {buy("1.9", "52000"), []bar{{60000, 60000, 60000, 60000, 9}}, "expired 1.66416/1.9 1.66416@60030"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			v.place(t, tc.order)
			v.bars(0, tc.bars...)
			v.wantOrders(t, map[string]string{"buy": tc.want})
			if h := v.cash(t, "USDT"); h.Quantity.IsNegative() || h.Available.IsNegative() {
				t.Errorf("the cash is %+v", h)
			}
		})
	}
}

// TestSubmitGroup_Legs is the rule for legs of an entry: they work from the event after the
// fill, for what was filled.
func TestSubmitGroup_Legs(t *testing.T) {
	t.Parallel()
	limit := bracket("49000", "48000", "52000")
	cases := map[string]struct {
		orders []order.Spec
		bars   []bar
		want   map[string]string
	}{
		"legs wait while nothing is filled":           {limit, nil, map[string]string{"head": "accepted 0/1", "stop": "held 0/1", "target": "held 0/1"}},
		"an entry at once has legs that work":         {bracket("", "48000", "52000"), nil, map[string]string{"head": "filled 1/1 1@50025", "stop": "accepted 0/1", "target": "accepted 0/1"}},
		"legs do nothing in the event of the fill":    {limit, []bar{{50000, 50000, 47000, 49000, 9}}, map[string]string{"head": "filled 1/1 1@49000", "stop": "accepted 0/1"}},
		"they do in the next":                         {limit, []bar{{50000, 50000, 48500, 49000, 9}, {49000, 49000, 47000, 47000, 9}}, map[string]string{"head": "filled 1/1 1@49000", "stop": "filled 1/1 1@47976", "target": "canceled 0/1"}},
		"they protect a part":                         {limit, []bar{{50000, 50000, 48500, 49000, 0.3}}, map[string]string{"head": "partially_filled 0.3/1 0.3@49000", "stop": "accepted 0/0.3", "target": "accepted 0/0.3"}},
		"they grow with it":                           {limit, []bar{{50000, 50000, 48500, 49000, 0.3}, {49000, 49000, 48500, 49000, 0.5}}, map[string]string{"head": "partially_filled 0.8/1 0.3@49000 0.5@49000", "stop": "accepted 0/0.8", "target": "accepted 0/0.8"}},
		"what came in this event is sold in the next": {limit, []bar{{50000, 50000, 48500, 49000, 0.3}, {49000, 49000, 47000, 47500, 9}}, map[string]string{"head": "filled 1/1 0.3@49000 0.7@49000", "stop": "partially_filled 0.3/1 0.3@47976", "target": "accepted 0/0.7"}},
		"a stop that triggers ends the entry":         {limit, []bar{{50000, 50000, 48500, 49000, 0.3}, {47000, 47000, 47000, 47000, 0.1}, {46000, 46000, 46000, 46000, 9}}, map[string]string{"head": "canceled 0.4/1 0.3@49000 0.1@49000", "stop": "filled 0.4/0.4 0.4@45977", "target": "canceled 0/0.4"}},
		"a target that is filled ends the entry":      {limit, []bar{{50000, 50000, 48500, 49000, 0.3}, {52500, 52500, 52500, 52500, 9}}, map[string]string{"head": "canceled 0.3/1 0.3@49000", "stop": "canceled 0/0.3", "target": "filled 0.3/0.3 0.3@52000"}},
		"a part of the target leaves the entry":       {limit, []bar{{50000, 50000, 48500, 49000, 0.3}, {52500, 52500, 52500, 52500, 0.1}}, map[string]string{"head": "partially_filled 0.3/1 0.3@49000", "stop": "accepted 0/0.2", "target": "partially_filled 0.1/0.3 0.1@52000"}},
		"one leg alone":                               {bracket("49000", "48000", "0"), []bar{{50000, 50000, 48500, 49000, 9}, {49000, 49000, 47000, 47000, 9}}, map[string]string{"head": "filled 1/1 1@49000", "stop": "filled 1/1 1@47976"}},
		"a target alone":                              {bracket("49000", "0", "52000"), []bar{{50000, 50000, 48500, 49000, 9}, {49000, 53000, 47000, 47000, 9}}, map[string]string{"head": "filled 1/1 1@49000", "target": "filled 1/1 1@52000"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &papertest.Journal{}
			v := open(t, j)
			v.place(t, tc.orders...)
			v.bars(0, tc.bars...)
			v.wantOrders(t, tc.want)
			open(t, j).wantOrders(t, tc.want) // after a restart
		})
	}
}

// TestSubmitGroup_TrailingLeg begins at the price of the fill.
func TestSubmitGroup_TrailingLeg(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	orders := group(order.Request{Side: order.Buy, Type: order.Limit, Price: dec("49000"), Quantity: dec("1"), Protect: order.Protection{TrailPercent: dec("2")}})
	v.place(t, orders...)
	if r := v.order(t, "stop"); r.Status != order.Held || !r.StopPrice.IsZero() {
		t.Errorf("before the fill: %+v", r)
	}
	v.bars(0, bar{50000, 50000, 48500, 49000, 9})
	if r := v.order(t, "stop"); r.Status != order.Accepted || !r.StopPrice.Equal(dec("48020")) {
		t.Errorf("after the fill: %+v", r)
	}
	v.bars(1, bar{49000, 51000, 49000, 51000, 9})
	if r := v.order(t, "stop"); !r.StopPrice.Equal(dec("49980")) || !r.Triggered.IsZero() {
		t.Errorf("after the rise: %+v", r)
	}
	v.bars(2, bar{51000, 51000, 49000, 50000, 9})
	v.wantOrders(t, map[string]string{"stop": "filled 1/1 1@49955.01"})
	if r := v.order(t, "stop"); r.Triggered.IsZero() {
		t.Error("nobody says when it was triggered")
	}
}

// TestCancel_Groups ends what was named, and what protects nothing then.
func TestCancel_Groups(t *testing.T) {
	t.Parallel()
	part := bar{50000, 50000, 48500, 49000, 0.3}
	cases := map[string]struct {
		orders []order.Spec
		bars   []bar
		cancel string
		want   map[string]string
	}{
		"an entry that waits takes its legs":       {bracket("49000", "48000", "52000"), nil, "head", map[string]string{"head": "canceled 0/1", "stop": "canceled 0/1", "target": "canceled 0/1"}},
		"an entry in part keeps them for the part": {bracket("49000", "48000", "52000"), []bar{part}, "head", map[string]string{"head": "canceled 0.3/1 0.3@49000", "stop": "accepted 0/0.3", "target": "accepted 0/0.3"}},
		"a leg ends alone":                         {bracket("49000", "48000", "52000"), []bar{part}, "target", map[string]string{"head": "partially_filled 0.3/1 0.3@49000", "stop": "accepted 0/0.3", "target": "canceled 0/0.3"}},
		"a leg that waits ends alone":              {bracket("49000", "48000", "52000"), nil, "stop", map[string]string{"head": "accepted 0/1", "stop": "canceled 0/1", "target": "held 0/1"}},
		"the target of a pair ends alone":          {pair("1", "49000", "51000"), nil, "head", map[string]string{"head": "canceled 0/1", "stop": "accepted 0/1"}},
		"the stop of a pair ends alone":            {pair("1", "49000", "51000"), nil, "stop", map[string]string{"head": "accepted 0/1", "stop": "canceled 0/1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &papertest.Journal{}
			v := open(t, j)
			if tc.orders[0].Side == order.Sell {
				v.submit(t, spec(order.Buy, order.Market, "1", ""))
			}
			v.place(t, tc.orders...)
			v.bars(0, tc.bars...)
			if _, err := v.Cancel(t.Context(), order.Spec{ID: tc.cancel}.Handle()); err != nil {
				t.Fatal(err)
			}
			v.wantOrders(t, tc.want)
			open(t, j).wantOrders(t, tc.want)
		})
	}
}

// TestSubmit_RefusesProtection names the field that is wrong, and leaves nothing behind.
func TestSubmit_RefusesProtection(t *testing.T) {
	t.Parallel()
	with := func(o order.Spec, change func(*order.Spec)) []order.Spec {
		change(&o)
		return []order.Spec{o}
	}
	groupWith := func(all []order.Spec, i int, change func(*order.Spec)) []order.Spec {
		change(&all[i])
		return all
	}
	cases := map[string]struct {
		orders []order.Spec
		field  string
	}{
		"a stop that the price has reached":    {[]order.Spec{stop("50000", "")}, "stop_loss"},
		"a purchase below the market":          {with(spec(order.Buy, order.Market, "1", ""), func(o *order.Spec) { o.StopPrice = dec("49000") }), "stop_price"},
		"a stop between two ticks":             {[]order.Spec{stop("49000.001", "")}, "stop_loss"},
		"a limit between two ticks":            {[]order.Spec{stop("49000", "48000.001")}, "stop_loss_limit"},
		"a stop worth too little":              {with(stop("49000", ""), func(o *order.Spec) { o.Quantity = dec("0.0001") }), "quantity"},
		"a trail below the least":              {[]order.Spec{trailing("0.09")}, "trail_percent"},
		"a trail above the most":               {[]order.Spec{trailing("20.1")}, "trail_percent"},
		"a trail with a stop price":            {with(trailing("2"), func(o *order.Spec) { o.StopPrice = dec("49000") }), "trail_percent"},
		"a best price without a trail":         {with(stop("49000", ""), func(o *order.Spec) { o.Best = dec("51000") }), "best"},
		"a best price below zero":              {with(trailing("2"), func(o *order.Spec) { o.Best = dec("-1") }), "best"},
		"a trail with a limit":                 {with(trailing("2"), func(o *order.Spec) { o.Type, o.Price = order.Limit, dec("49000") }), "trail_percent"},
		"more than is held":                    {with(stop("49000", ""), func(o *order.Spec) { o.Quantity = dec("1.1") }), "quantity"},
		"a purchase that only reduces":         {with(spec(order.Buy, order.Market, "1", ""), func(o *order.Spec) { o.ReduceOnly = true }), "reduce_only"},
		"day without a session":                {with(stop("49000", ""), func(o *order.Spec) { o.TimeInForce = order.Day }), "time_in_force"},
		"post only at the market":              {with(spec(order.Buy, order.Limit, "1", "51000"), func(o *order.Spec) { o.PostOnly = true }), "post_only"},
		"post only of a market order":          {with(spec(order.Buy, order.Market, "1", ""), func(o *order.Spec) { o.PostOnly = true }), "post_only"},
		"post only and fill or kill":           {with(spec(order.Buy, order.Limit, "1", "40000"), func(o *order.Spec) { o.PostOnly, o.TimeInForce = true, order.FOK }), "post_only"},
		"an entry without its legs":            {bracket("49000", "48000", "52000")[:1], "order"},
		"an entry whose stop is above it":      {bracket("49000", "49500", "52000"), "stop_loss"},
		"an entry whose target is below it":    {bracket("49000", "48000", "48500"), "take_profit"},
		"a market entry whose stop is passed":  {bracket("", "50025", "52000"), "stop_loss"},
		"a leg that must be filled at once":    {groupWith(bracket("49000", "48000", "52000"), 1, func(o *order.Spec) { o.TimeInForce = order.IOC }), "time_in_force"},
		"legs of another quantity":             {groupWith(bracket("49000", "48000", "52000"), 1, func(o *order.Spec) { o.Quantity = dec("2") }), "orders"},
		"legs of another symbol":               {groupWith(bracket("49000", "48000", "52000"), 2, func(o *order.Spec) { o.Symbol.Name = "ETHUSDT" }), "orders"},
		"two legs with one id":                 {groupWith(bracket("49000", "48000", "52000"), 2, func(o *order.Spec) { o.ID = "stop" }), "orders"},
		"an entry that sells short":            {group(order.Request{Symbol: btc(), Side: order.Sell, Type: order.Limit, Quantity: dec("1"), Price: dec("51000"), Protect: order.Protection{StopLoss: dec("52000"), TakeProfit: dec("49000")}}), "side"},
		"a pair whose target is reached":       {pair("1", "49000", "49900"), "take_profit"},
		"a pair whose stop is reached":         {pair("1", "50100", "51000"), "stop_loss"},
		"a pair of more than is held":          {pair("1.2", "49000", "51000"), "quantity"},
		"an entry that the account cannot pay": {groupWith(bracket("49000", "48000", "52000"), 0, func(o *order.Spec) { o.Price = dec("51000"); o.Quantity = dec("1") }), "quantity"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			v.submit(t, spec(order.Buy, order.Market, "1", ""))
			var err error
			if len(tc.orders) == 1 {
				_, err = v.Submit(t.Context(), tc.orders[0])
			} else {
				_, err = v.SubmitGroup(t.Context(), tc.orders)
			}
			f := fault.Of(err)
			if !errors.Is(err, broker.ErrRejected) || f == nil || f.Field != tc.field {
				t.Errorf("%v", err)
			}
			if all := v.Taken(); len(all) != 1 {
				t.Errorf("%d orders were taken", len(all)-1)
			}
		})
	}
}

// TestSubmit_AtOnce has orders that do not rest.
func TestSubmit_AtOnce(t *testing.T) {
	t.Parallel()
	for _, tif := range []order.TimeInForce{order.IOC, order.FOK} {
		v := open(t, &papertest.Journal{})
		o := spec(order.Buy, order.Limit, "1", "51000")
		o.TimeInForce = tif
		if r := v.submit(t, o); shown(r) != "filled 1/1 1@50025" {
			t.Errorf("%v: %s", tif, shown(r))
		}
		o.ID, o.Price = "rests", dec("45000")
		if r := v.submit(t, o); shown(r) != "expired 0/1" || r.Reason == "" || v.Tapes() != 0 {
			t.Errorf("%v: %s %q", tif, shown(r), r.Reason)
		}
		orders := bracket("45000", "44000", "52000")
		orders[0].TimeInForce = tif
		v.place(t, orders...)
		v.wantOrders(t, map[string]string{"head": "expired 0/1", "stop": "canceled 0/1", "target": "canceled 0/1"})
	}
	for tif, want := range map[order.TimeInForce]string{order.IOC: "expired 0.4/1 0.4@48975.5", order.FOK: "expired 0/1", order.GTC: "partially_filled 0.4/1 0.4@48975.5"} {
		v := open(t, &papertest.Journal{})
		v.submit(t, spec(order.Buy, order.Market, "1", ""))
		o := stop("49000", "")
		o.TimeInForce = tif
		v.place(t, o)
		v.bars(0, bar{50000, 50000, 48000, 48000, 0.4})
		v.wantOrders(t, map[string]string{"stop": want})
	}
}

// TestHoldings_ProtectionReservesOnce counts a target and its stop as one claim on the units,
// and the legs of an entry as none before it is filled.
func TestHoldings_ProtectionReservesOnce(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	available := func(asset, want string) {
		t.Helper()
		if h := v.cash(t, asset); !h.Available.Equal(dec(want)) {
			t.Errorf("%s of %s %s are available, want %s", h.Available, h.Quantity, asset, want)
		}
	}
	available("BTC", "1")
	v.place(t, pair("0.6", "49000", "51000")...)
	available("BTC", "0.4")
	v.bars(0, bar{50000, 51001, 50000, 50000, 0.2}) // of the target
	available("BTC", "0.4")
	legs := bracket("40000", "39000", "52000")
	for i := range legs {
		legs[i].ID = "b" + strconv.Itoa(i)
		legs[i].Group.Name, legs[i].Quantity = "b0", dec("0.5")
	}
	v.place(t, legs...)
	available("BTC", "0.4")
	v.bars(1, bar{39500, 39500, 39500, 39500, 9}) // the pair's stop and the entry
	available("BTC", "0.4")
	if h := v.cash(t, "BTC"); !h.Quantity.Equal(dec("0.9")) {
		t.Errorf("%s are held", h.Quantity)
	}
}

// TestObserve_BarsThatCameLate has bars that come after a newer one. The first minute after
// the orders came begins at 0; the price of the newest bar is 50,000.
func TestObserve_BarsThatCameLate(t *testing.T) {
	t.Parallel()
	type event struct {
		minute int64
		closed bool
		bar    bar
	}
	calm := bar{50000, 50000, 50000, 50000, 9}
	cases := map[string]struct {
		order  order.Spec
		events []event
		want   string
	}{
		"the newest price counts at once":          {stop("49000", ""), []event{{2, false, bar{48000, 48000, 48000, 48000, 9}}}, "filled 1/1 1@47976"},
		"what a gap hid triggers a stop":           {stop("49000", ""), []event{{0, true, calm}, {2, false, calm}, {1, true, bar{50000, 50000, 48000, 50000, 9}}}, "filled 1/1 1@48975.5"},
		"no more than was traded then":             {stop("49000", ""), []event{{0, true, calm}, {2, false, calm}, {1, true, bar{50000, 50000, 48000, 50000, 0.4}}}, "partially_filled 0.4/1 0.4@48975.5"},
		"a bar that still forms is old":            {stop("49000", ""), []event{{0, true, calm}, {2, false, calm}, {1, false, bar{50000, 50000, 48000, 50000, 9}}}, "accepted 0/1"},
		"the rest of the bar before the gap":       {stop("49000", ""), []event{{0, false, calm}, {2, false, calm}, {3, false, calm}, {0, true, bar{50000, 50000, 48000, 50000, 20}}}, "filled 1/1 1@48975.5"},
		"of a bar that was seen nothing is new":    {spec(order.Sell, order.Limit, "1", "51000"), []event{{0, false, bar{50000, 51001, 50000, 50000, 0.5}}, {2, false, calm}, {0, true, bar{50000, 51001, 50000, 50000, 0.5}}}, "partially_filled 0.5/1 0.5@51000"},
		"a bar that closed in order is old":        {spec(order.Sell, order.Limit, "1", "51000"), []event{{0, true, bar{50000, 51001, 50000, 50000, 0.5}}, {2, false, calm}, {0, true, bar{50000, 51001, 50000, 50000, 0.5}}}, "partially_filled 0.5/1 0.5@51000"},
		"a trail that has moved is not triggered":  {trailing("2"), []event{{0, true, calm}, {2, false, bar{50000, 52000, 50000, 52000, 9}}, {1, true, bar{50000, 50000, 49500, 50000, 9}}}, "accepted 0/1"},
		"a bar from before the order does nothing": {stop("49000", ""), []event{{2, false, calm}, {-60, true, bar{50000, 50000, 48000, 50000, 9}}}, "accepted 0/1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			v.submit(t, spec(order.Buy, order.Market, "1", ""))
			tc.order.ID = "stop"
			v.place(t, tc.order)
			start := time.Now().Unix()/60*60 + 60
			for _, e := range tc.events {
				b, kind := e.bar, provider.Forming
				open := start + 60*e.minute
				if e.closed {
					kind = provider.Closed
				}
				v.Observe(provider.Event{
					Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: kind, Price: b[3], At: time.Unix(open+60, 0),
					Bar: market.Bar{T: open, O: b[0], H: b[1], L: b[2], C: b[3], V: b[4]},
				}, provider.Clock{})
			}
			v.wantOrders(t, map[string]string{"stop": tc.want})
		})
	}
}

// TestLoad_FirstPriceDecides starts again after the price passed a stop.
func TestLoad_FirstPriceDecides(t *testing.T) {
	t.Parallel()
	j := &papertest.Journal{}
	v := open(t, j)
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	v.place(t, pair("1", "49000", "51000")...)
	again := open(t, j)
	again.bar = market.Bar{T: time.Now().Unix() / 60 * 60, O: 50000, H: 50000, L: 47000, C: 48000, V: 100}
	again.forming() // it began before the start: its last price is all that is known
	again.wantOrders(t, map[string]string{"stop": "filled 1/1 1@47976", "head": "canceled 0/1"})
	if r := again.order(t, "head"); !strings.Contains(r.Reason, "other order") {
		t.Errorf("the reason is %q", r.Reason)
	}
}
