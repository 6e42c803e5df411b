package order_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/order"
)

func report(s order.Status, n int, filled string, fills ...order.Fill) order.Report {
	return order.Report{Status: s, VenueID: "v1", Filled: dec(filled), Fills: fills, At: second(n)}
}

func kinds(events []order.Event) []string {
	names := make([]string, 0, len(events))
	for _, e := range events {
		names = append(names, e.Kind.String())
	}
	return names
}

func TestFromReport(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	in := orders(g)
	one, two := trade(g, 5, "1", "100"), trade(g, 6, "2", "100")
	bare := order.Fill{TradeID: "5", Quantity: dec("1"), Price: dec("100"), At: second(5)}
	other := trade(g, 5, "1.5", "100")
	wrong := report(order.Accepted, 9, "0")
	wrong.Side = order.Sell
	moved := report(order.Accepted, 9, "0")
	moved.Symbol = symbol("ETHUSDT")
	amended := report(order.Accepted, 9, "0")
	amended.Quantity = dec("7")
	for name, tc := range map[string]struct {
		order  order.Order
		report order.Report
		events []string
		status order.Status
		ask    bool // the venue must be asked again
	}{
		"accepted":                            {in[order.Submitted], report(order.Accepted, 2, "0"), []string{"accepted"}, order.Accepted, false},
		"accepted after doubt":                {in[order.Uncertain], report(order.Accepted, 2, "0"), []string{"accepted"}, order.Accepted, false},
		"accepted again":                      {in[order.Accepted], report(order.Accepted, 9, "0"), nil, order.Accepted, false},
		"accepted after the end":              {in[order.Canceled], report(order.Accepted, 9, "0"), nil, order.Canceled, false},
		"accepted while a cancel is pending":  {in[order.PendingCancel], report(order.Accepted, 9, "0"), nil, order.PendingCancel, true},
		"a fill on the way":                   {in[order.Submitted], report(order.PartiallyFilled, 5, "1", one), []string{"fill"}, order.PartiallyFilled, false},
		"a fill that says only what is new":   {in[order.Submitted], report(order.PartiallyFilled, 5, "1", bare), []string{"fill"}, order.PartiallyFilled, false},
		"all at once":                         {in[order.Submitted], report(order.Filled, 6, "3", one, two), []string{"fill", "fill"}, order.Filled, false},
		"filled, without its fills":           {in[order.Submitted], report(order.Filled, 6, "3"), []string{"accepted", "claimed"}, order.Accepted, true},
		"filled, without even a count":        {in[order.Accepted], report(order.Filled, 6, "0"), []string{"claimed"}, order.Accepted, true},
		"some fills are missing":              {in[order.Accepted], report(order.PartiallyFilled, 6, "3", one), []string{"fill", "claimed"}, order.PartiallyFilled, true},
		"canceled":                            {in[order.PendingCancel], report(order.Canceled, 6, "0"), []string{"canceled"}, order.Canceled, false},
		"canceled by somebody else":           {in[order.Accepted], report(order.Canceled, 6, "0"), []string{"canceled"}, order.Canceled, false},
		"canceled, and a fill is missing":     {in[order.Accepted], report(order.Canceled, 6, "1"), []string{"canceled", "claimed"}, order.Canceled, true},
		"a late fill":                         {in[order.Canceled], report(order.PartiallyFilled, 5, "1", one), []string{"fill"}, order.Canceled, false},
		"expired":                             {in[order.Accepted], report(order.Expired, 6, "0"), []string{"expired"}, order.Expired, false},
		"rejected":                            {in[order.Submitted], report(order.Rejected, 6, "0"), []string{"rejected"}, order.Rejected, false},
		"rejected after doubt":                {in[order.Uncertain], report(order.Rejected, 6, "0"), []string{"rejected"}, order.Rejected, false},
		"a cancel from elsewhere is pending":  {in[order.Submitted], report(order.PendingCancel, 6, "0"), []string{"accepted", "cancel_asked"}, order.PendingCancel, true},
		"the cancel is still pending":         {in[order.PendingCancel], report(order.PendingCancel, 6, "0"), nil, order.PendingCancel, true},
		"an unknown word is not a rejection":  {in[order.Submitted], report(order.Uncertain, 6, "0"), []string{"doubted"}, order.Uncertain, true},
		"an unknown word of an open order":    {in[order.Accepted], report(order.Uncertain, 6, "0"), []string{"doubted"}, order.Accepted, true},
		"an unknown word after the end":       {in[order.Canceled], report(order.Uncertain, 6, "0"), nil, order.Canceled, false},
		"an unknown word with a fill":         {in[order.Accepted], report(order.Uncertain, 6, "1", one), []string{"fill", "doubted"}, order.PartiallyFilled, true},
		"a word that no venue may say":        {in[order.Accepted], report(order.Denied, 6, "0"), []string{"doubted"}, order.Accepted, true},
		"a trade that changed":                {in[order.PartiallyFilled], report(order.PartiallyFilled, 6, "1", other), []string{"doubted"}, order.PartiallyFilled, true},
		"a trade beyond the quantity":         {in[order.PartiallyFilled], report(order.PartiallyFilled, 6, "3", trade(g, 8, "9", "1")), []string{"doubted", "claimed"}, order.PartiallyFilled, true},
		"a fill of a rejected order":          {in[order.Rejected], report(order.PartiallyFilled, 6, "1", one), []string{"doubted", "claimed"}, order.Rejected, true},
		"a count beyond the quantity":         {in[order.Accepted], report(order.PartiallyFilled, 6, "4", one), []string{"doubted"}, order.Accepted, true},
		"the other side":                      {in[order.Accepted], wrong, []string{"doubted"}, order.Accepted, true},
		"another symbol":                      {in[order.Accepted], moved, []string{"doubted"}, order.Accepted, true},
		"another quantity":                    {in[order.Accepted], amended, []string{"doubted"}, order.Accepted, true},
		"a count out of all bounds":           {in[order.Accepted], report(order.PartiallyFilled, 6, "1e999999999"), []string{"doubted"}, order.Accepted, true},
		"a fill out of all bounds":            {in[order.Accepted], report(order.PartiallyFilled, 6, "1", trade(g, 5, "1e999999999", "1")), []string{"doubted", "claimed"}, order.Accepted, true},
		"a known fill out of all bounds":      {in[order.PartiallyFilled], report(order.PartiallyFilled, 6, "1", trade(g, 5, "1", "1e999999999")), []string{"doubted"}, order.PartiallyFilled, true},
		"a report of what was never sent":     {in[order.New], report(order.Accepted, 6, "0"), nil, order.New, false},
		"a report of what the guard denied":   {in[order.Denied], report(order.Filled, 6, "3", one), nil, order.Denied, false},
		"a report of an order that is no one": {order.Order{}, report(order.Accepted, 6, "0"), nil, 0, false},
	} {
		events := order.FromReport(tc.order, tc.report)
		if got := kinds(events); !slices.Equal(got, tc.events) {
			t.Errorf("%s: events %v, want %v", name, got, tc.events)
		}
		o := fold(tc.order, events...)
		if o.Status != tc.status || o.NeedsQuery() != tc.ask {
			t.Errorf("%s: %v, unsettled %v", name, o.Status, o.NeedsQuery())
		}
		if again := order.FromReport(o, tc.report); len(again) > 0 {
			t.Errorf("%s: the same report adds %v", name, kinds(again))
		}
	}
}

func TestFromReport_DoubtEndsWithNewerWords(t *testing.T) {
	t.Parallel()
	o := fold(sent(origin("o1", order.Buy, "3")), event("o1", order.KindAccepted))
	o = hear(o, report(order.Uncertain, 10, "0"))
	if !o.Doubtful() || !o.Doubted.Equal(second(10)) {
		t.Fatalf("%+v", o)
	}
	if old := hear(o, report(order.Accepted, 9, "0")); !old.Doubtful() {
		t.Error("an older word ends the doubt")
	}
	if later := hear(o, report(order.Uncertain, 12, "0"), report(order.Accepted, 11, "0")); !later.Doubtful() {
		t.Error("a word before the newest doubt ends it")
	}
	if o = hear(o, report(order.Accepted, 11, "0")); o.Doubtful() || o.NeedsQuery() {
		t.Errorf("%+v", o)
	}
	if o = hear(o, report(order.Uncertain, 10, "0")); o.Doubtful() {
		t.Error("a doubt that was overtaken comes back")
	}
	timeless := hear(o, order.Report{Status: order.Uncertain, Reason: "held"})
	if timeless.Doubtful() {
		t.Error("a word without a time is newer than one with")
	}
	fresh := hear(sent(origin("o1", order.Buy, "3")), order.Report{Status: order.Uncertain, Reason: "held"})
	if fresh.Status != order.Uncertain || !fresh.Doubtful() {
		t.Errorf("%+v", fresh)
	}
}

func TestFromReport_TheVenuesWordsAreCleanAndBounded(t *testing.T) {
	t.Parallel()
	words := "no\x1b[2J\r\nmoney \u202e" + strings.Repeat("x", 1000)
	for _, status := range []order.Status{order.Canceled, order.Expired, order.Rejected} {
		r := report(status, 10, "0")
		r.Reason = words
		got := hear(sent(origin("o1", order.Buy, "3")), r).Reason
		if !strings.HasPrefix(got, "no[2J money xxx") || utf8.RuneCountInString(got) > 303 {
			t.Errorf("%v: %q", status, got)
		}
	}
}

// TestFromAnswer_EndsADoubt asks about an order whose last change at the venue was
// before the doubt: a report that says so ends nothing, an answer does.
func TestFromAnswer_EndsADoubt(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	o := fold(sent(g), event("o1", order.KindAccepted), order.Event{Kind: order.KindDoubted, OrderID: "o1", At: second(10), VenueAt: second(10), Reason: "no answer"})
	fresh := report(order.Accepted, 5, "0")
	if o = hear(o, fresh); !o.Doubtful() {
		t.Fatalf("%+v", o)
	}
	answer := func(o order.Order, r order.Report) order.Order { return fold(o, order.FromAnswer(o, r)...) }
	if after := answer(o, fresh); after.Doubtful() || after.NeedsQuery() || after.Status != order.Accepted {
		t.Errorf("%+v", after)
	}
	filled := report(order.Filled, 5, "3")
	filled.Fills = []order.Fill{trade(g, 1, "3", "100")}
	if after := answer(o, filled); after.NeedsQuery() || after.Status != order.Filled {
		t.Errorf("%+v", after)
	}
	larger := fresh
	larger.Quantity = decimal.NewFromInt(4)
	for name, r := range map[string]order.Report{
		"what contradicts the order": larger, "a word that is not known": report(order.Uncertain, 5, "0"), "more filled than ordered": report(order.Accepted, 5, "4"),
	} {
		if after := answer(o, r); !after.Doubtful() {
			t.Errorf("%s ends the doubt", name)
		}
	}
	if got := order.FromAnswer(order.Order{Origin: g, Status: order.Denied}, fresh); got != nil {
		t.Errorf("an answer about an order that was never sent gives %v", kinds(got))
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	g := origin("x1", order.Buy, "3")
	r := report(order.PartiallyFilled, 5, "1", trade(g, 5, "1", "100"))
	r.Spec = order.Spec{ID: "web_1", Symbol: g.Symbol, Side: order.Sell, Quantity: dec("2"), Price: dec("9")} // its type is none of ours
	r.Fills[0].Side, r.Fills[0].OrderID = order.Sell, ""
	o := hear(fold(order.Order{}, order.NewExternal(order.Origin{Spec: order.Spec{ID: "x1", Owner: "me"}, Broker: "paper"}, r, second(9))), r)
	if !o.External || o.ID != "x1" || o.Owner != "me" || o.VenueID != "v1" || o.Status != order.PartiallyFilled || !o.Filled.Equal(dec("1")) || !o.Quantity.Equal(dec("2")) {
		t.Errorf("%+v", o)
	}
}

func TestDisagreement(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "3")
	in := orders(g)
	for name, tc := range map[string]struct {
		order  order.Order
		report order.Report
		agree  bool
	}{
		"both open":                      {in[order.Accepted], report(order.Accepted, 9, "0"), true},
		"both partly filled":             {in[order.PartiallyFilled], report(order.PartiallyFilled, 9, "1"), true},
		"both canceled":                  {in[order.Canceled], report(order.Canceled, 9, "0"), true},
		"ended here, open there":         {in[order.Canceled], report(order.Accepted, 9, "0"), false},
		"fills here that are not there":  {in[order.PartiallyFilled], report(order.Accepted, 9, "0"), false},
		"fills there that are not here":  {in[order.Accepted], report(order.PartiallyFilled, 9, "1"), false},
		"filled there, its fills not":    {in[order.Accepted], report(order.Filled, 9, "3"), false},
		"a word that is not known":       {in[order.Accepted], report(order.Uncertain, 9, "0"), false},
		"rejected here, canceled there":  {in[order.Rejected], report(order.Canceled, 9, "0"), true},
		"another quantity at the venue":  {in[order.Accepted], order.Report{Spec: order.Spec{Quantity: dec("5")}, Status: order.Accepted, At: second(9)}, false},
		"a cancel that is still pending": {in[order.PendingCancel], report(order.Accepted, 9, "0"), true},
	} {
		o := hear(tc.order, tc.report)
		if got := order.Disagreement(o, tc.report); (got == "") != tc.agree {
			t.Errorf("%s: %q", name, got)
		}
	}
	if order.Disagreement(in[order.Accepted], report(order.Canceled, 9, "0")) == "" {
		t.Error("open here and canceled there agree")
	}
}

// TestFromReport_AnyOrderEndsTheSame draws what happens to an order at a venue,
// lets the reports of it be repeated and reordered, and wants the state that the
// venue has.
func TestFromReport_AnyOrderEndsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := generator(t)
		g := origin("o1", rapid.SampledFrom([]order.Side{order.Buy, order.Sell}).Draw(t, "side"), "1")
		g.Quantity = drawDecimal(t, "quantity", 1000)
		history := happen(t, g)
		start := sent(g)
		if rapid.Bool().Draw(t, "no answer to the submission") {
			start = fold(start, event(g.ID, order.KindLost))
		}
		want := hear(start, history...)
		got := hear(start, shuffled(rng, twice(rng, history))...)
		if diff := same(want, got); diff != "" {
			t.Fatalf("reports in another order end otherwise: %s", diff)
		}
		for _, r := range twice(rng, history) {
			if events := order.FromReport(got, r); len(events) > 0 {
				t.Fatalf("a report that was seen adds %v", kinds(events))
			}
		}
		last := history[len(history)-1]
		if !got.Filled.Equal(last.Filled) || last.Status.Final() && got.Status != last.Status || got.NeedsQuery() && last.Status != order.PendingCancel {
			t.Fatalf("the venue has %v with %v, we have %+v", last.Status, last.Filled, got)
		}
	})
}

// happen draws the reports of one order, in the order in which they were made.
func happen(t *rapid.T, g order.Origin) []order.Report {
	if rapid.IntRange(0, 9).Draw(t, "rejected") == 0 {
		return []order.Report{report(order.Rejected, 1, "0")}
	}
	rng := generator(t)
	reports := []order.Report{report(order.Accepted, 1, "0")}
	parts := split(rng, g.Quantity, rapid.IntRange(1, 5).Draw(t, "fills"))
	ends := rapid.SampledFrom([]order.Status{order.Filled, order.Canceled, order.Expired, order.PendingCancel, order.PartiallyFilled}).Draw(t, "end")
	if ends != order.Filled {
		parts = parts[:rapid.IntRange(0, len(parts)-1).Draw(t, "of them")]
	}
	var total decimal.Decimal
	for i, part := range parts {
		if rapid.IntRange(0, 4).Draw(t, "a word that is not known") == 0 {
			reports = append(reports, order.Report{Status: order.Uncertain, VenueID: "v1", Filled: total, At: second(10*i + 5)})
		}
		total = total.Add(part)
		f := trade(g, 10*i+9, "1", "1")
		f.Quantity, f.Price = part, drawDecimal(t, "price", 1000)
		status := order.PartiallyFilled
		if total.Equal(g.Quantity) {
			status = order.Filled
		}
		reports = append(reports, order.Report{Status: status, VenueID: "v1", Filled: total, Fills: []order.Fill{f}, At: f.At})
	}
	if ends == order.Filled || ends == order.PartiallyFilled {
		return reports
	}
	return append(reports, order.Report{Status: ends, VenueID: "v1", Filled: total, At: second(99)})
}

// TestFromReport_NeverMakesUpAFill takes reports of any content.
func TestFromReport_NeverMakesUpAFill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := origin("o1", order.Buy, "3")
		o := sent(g)
		reported := make(map[string]decimal.Decimal)
		for range rapid.IntRange(1, 20).Draw(t, "reports") {
			r := report(order.Status(rapid.IntRange(0, 12).Draw(t, "status")), rapid.IntRange(0, 30).Draw(t, "at"), "0")
			r.Filled = drawDecimal(t, "filled", 5)
			r.Side = order.Side(rapid.IntRange(0, 2).Draw(t, "side"))
			for range rapid.IntRange(0, 3).Draw(t, "fills") {
				f := trade(g, rapid.IntRange(1, 6).Draw(t, "trade"), "1", "1")
				f.Quantity = drawDecimal(t, "part", 4).Sub(dec("0.5"))
				r.Fills = append(r.Fills, f)
			}
			for _, e := range order.FromReport(o, r) {
				next, err := order.Apply(o, e)
				if err != nil {
					t.Fatalf("an event of a report is refused: %v", err)
				}
				if e.Kind == order.KindFill {
					reported[e.Fill.TradeID] = e.Fill.Quantity
				}
				o = next
			}
		}
		var sum decimal.Decimal
		for _, q := range reported {
			sum = sum.Add(q)
		}
		if !o.Filled.Equal(sum) || o.Filled.GreaterThan(o.Quantity) || (o.Status == order.Filled) != o.Filled.Equal(o.Quantity) {
			t.Fatalf("%v filled of %v, reported %v, %v", o.Filled, o.Quantity, sum, o.Status)
		}
	})
}

func TestEvent_JSON(t *testing.T) {
	t.Parallel()
	g := origin("o1", order.Buy, "0.00000001")
	g.Key, g.External = "k", true
	f := trade(g, 5, "0.00000001", "61234.123456789012345678")
	for _, want := range []order.Event{
		created(g), filled(f),
		{},
		{
			Kind: order.KindDenied, OrderID: "o1", At: second(1).Add(time.Nanosecond), VenueAt: second(2), VenueID: "v", Reason: "r",
			Filled: dec("1.5"), Denial: &order.Denial{Rule: "a", Limit: "b", Value: "c"},
		},
		{Kind: order.KindAdjusted, Adjustment: &order.Adjustment{Symbol: symbol("BTCUSDT"), Quantity: dec("-1"), Price: dec("2")}},
	} {
		if diff := cmp.Diff(want, throughJSON(t, want)); diff != "" {
			t.Error(diff)
		}
	}
	for _, o := range orders(origin("o1", order.Buy, "3")) {
		if diff := cmp.Diff(o, throughJSON(t, o)); diff != "" {
			t.Error(diff)
		}
	}
}
