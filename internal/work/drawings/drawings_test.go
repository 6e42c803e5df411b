package drawings_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/work/drawings"
	"candela/lib/fault"
	"candela/lib/market"
)

type memory map[principal.Owner][]byte

func (m memory) Kept(_ context.Context, owner principal.Owner, _ string) ([]byte, error) {
	return m[owner], nil
}

// Keep calls a change twice, as a store does after a conflict.
func (m memory) Keep(_ context.Context, owner principal.Owner, _ string, change func([]byte) ([]byte, error)) error {
	if _, err := change(m[owner]); err != nil {
		return err
	}
	now, err := change(m[owner])
	if err == nil {
		m[owner] = now
	}
	return err
}

func shelf() *drawings.Shelf {
	return &drawings.Shelf{
		Store: memory{}, Now: func() time.Time { return time.Unix(1_770_000_000, 0) },
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			if s.Name == "NONE" {
				return s, fault.New(fault.NotFound, "unknown_symbol", "no such symbol")
			}
			return market.Symbol{Venue: "test", Name: s.Name}, nil
		},
	}
}

func who(owner principal.Owner) principal.Caller {
	return principal.Caller{Subject: owner, Client: "claude", Scope: principal.Trade}
}

func level(price string) drawings.Drawing {
	return drawings.Drawing{Type: "level", Price: decimal.RequireFromString(price)}
}

func line(kind string) drawings.Drawing {
	return drawings.Drawing{Type: kind, Time: 1_700_000_000, Price: decimal.NewFromInt(1), Time2: 1_700_003_600, Price2: decimal.NewFromInt(2)}
}

func TestShelf_KeepsWhatWasDrawn(t *testing.T) {
	t.Parallel()
	s, btc := shelf(), market.Symbol{Name: "BTCUSDT"}
	d, symbol, err := s.Set(t.Context(), who("ann"), btc, level("70000.10"))
	if err != nil || d.ID == "" || d.By != "claude" || symbol.String() != "test:BTCUSDT" {
		t.Fatalf("%+v, %s, %v", d, symbol, err)
	}
	if _, _, err := s.Set(t.Context(), who("ann"), market.Symbol{Venue: "test", Name: "ETHUSDT"}, line("measure")); err != nil {
		t.Fatal(err)
	}
	d.Price = decimal.NewFromInt(71000)
	if _, _, err := s.Set(t.Context(), who("ann"), btc, d); err != nil {
		t.Fatal(err)
	}
	listed, err := s.List(t.Context(), who("ann"), market.Symbol{})
	if err != nil || len(listed) != 2 || len(listed[0].Drawings) != 1 || !listed[0].Drawings[0].Price.Equal(d.Price) {
		t.Fatalf("%+v, %v", listed, err)
	}
	if listed, err = s.List(t.Context(), who("bob"), btc); err != nil || len(listed[0].Drawings) != 0 {
		t.Errorf("another owner sees %+v, %v", listed, err)
	}
	if _, _, err := s.Delete(t.Context(), who("bob"), btc, d.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another owner removes it: %v", err)
	}
	drawn, more, err := s.Saved(t.Context(), who("ann"), market.Symbol{Venue: "test", Name: "ETHUSDT"}, 20)
	if err != nil || more != 0 || len(drawn) != 1 || drawn[0].Text != "+1 (+100.00 %), 60 min" {
		t.Errorf("%+v, %d, %v", drawn, more, err)
	}
	if gone, _, err := s.Delete(t.Context(), who("ann"), btc, d.ID); err != nil || gone.ID != d.ID {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, _, err := s.Set(t.Context(), who("ann"), btc, d); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a drawing that is gone was changed: %v", err)
	}
}

func TestShelf_HasBounds(t *testing.T) {
	t.Parallel()
	s := shelf()
	fill := func(name string, n int) (err error) {
		for range n {
			if _, _, err = s.Set(t.Context(), who("ann"), market.Symbol{Name: name}, level("1")); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill("A", drawings.MostInSymbol+1); err == nil || !strings.Contains(err.Error(), "50 drawings on test:A") {
		t.Errorf("one symbol: %v", err)
	}
	full := make(map[string]any)
	for i := range drawings.Most / drawings.MostInSymbol {
		full["test:S"+strconv.Itoa(i)] = slices.Repeat([]drawings.Drawing{level("1")}, drawings.MostInSymbol)
	}
	value, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	s.Store = memory{"ann": value}
	if err := fill("Z", 1); err == nil || !strings.Contains(err.Error(), "500 drawings already") {
		t.Errorf("all symbols: %v", err)
	}
	drawn, more, err := s.Saved(t.Context(), who("ann"), market.Symbol{Venue: "test", Name: "S1"}, 20)
	if err != nil || len(drawn) != 20 || more != drawings.MostInSymbol-20 {
		t.Errorf("%d drawn, %d more, %v", len(drawn), more, err)
	}
}

func TestShelf_RefusesWhatIsNoDrawing(t *testing.T) {
	t.Parallel()
	with := func(d drawings.Drawing, change func(*drawings.Drawing)) drawings.Drawing {
		change(&d)
		return d
	}
	for name, c := range map[string]struct {
		d     drawings.Drawing
		field string
	}{
		"another type":         {with(level("1"), func(d *drawings.Drawing) { d.Type = "circle" }), "type"},
		"a price of 0":         {level("0"), "price"},
		"a price below 0":      {level("-1"), "price"},
		"a price without end":  {level("1e999999"), "price"},
		"a price of a million": {level("1." + strings.Repeat("1", 40)), "price"},
		"a level with a time":  {with(level("1"), func(d *drawings.Drawing) { d.Time = 5 }), "time"},
		"a line with one end":  {with(line("line"), func(d *drawings.Drawing) { d.Time2 = 0 }), "time2"},
		"a line to nothing":    {with(line("box"), func(d *drawings.Drawing) { d.Price2 = decimal.Zero }), "price2"},
		"a ray to the left":    {with(line("ray"), func(d *drawings.Drawing) { d.Time, d.Time2 = d.Time2, d.Time }), "time2"},
		"a time far away":      {with(line("fib"), func(d *drawings.Drawing) { d.Time2 = 1 << 60 }), "time2"},
		"a text without words": {drawings.Drawing{Type: "text", Time: 5, Price: decimal.NewFromInt(1)}, "text"},
		"a long text":          {with(level("1"), func(d *drawings.Drawing) { d.Text = strings.Repeat("x", drawings.MostText+1) }), "text"},
		"one that is not kept": {with(level("1"), func(d *drawings.Drawing) { d.ID = "d-9" }), "drawing_id"},
	} {
		if _, _, err := shelf().Set(t.Context(), who("ann"), market.Symbol{Name: "A"}, c.d); fault.Of(err) == nil || fault.Of(err).Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := shelf().Set(t.Context(), who("ann"), market.Symbol{Name: "NONE"}, level("1")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown symbol: %v", err)
	}
}
