package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/backtest/simulate"
)

// Kind says what an intent asks for.
type Kind string

// An intent opens a position, sets the prices at which a part of one is closed, closes a part now, or takes back what
// an earlier one asked for.
const (
	EntryKind    Kind = "entry"
	LineKind     Kind = "line"
	CloseKind    Kind = "close"
	WithdrawKind Kind = "withdraw"
)

// Intent is what a deployment wants at a close, with all its terms. It is recorded before anything is sent, and a
// recomputation never changes it.
type Intent struct {
	Key      string          `json:"key"`
	Kind     Kind            `json:"kind"`
	ID       string          `json:"id,omitempty"`   // of the order in the program
	From     string          `json:"from,omitempty"` // of an exit or a close, the entry that it belongs to
	Lot      int             `json:"lot,omitempty"`  // number of the trade that a line protects
	Of       Kind            `json:"of,omitempty"`   // of a withdrawal: what is taken back
	Side     order.Side      `json:"side,omitempty"`
	Quantity decimal.Decimal `json:"quantity,omitzero"`
	Closes   decimal.Decimal `json:"closes,omitzero"` // how much of Quantity closes what is held against it
	Limit    decimal.Decimal `json:"limit,omitzero"`
	Stop     decimal.Decimal `json:"stop,omitzero"`
	Trails   bool            `json:"trails,omitempty"`

	// Of an entry: its exits, as prices, or as distances from the price at which it will be filled.
	StopLoss      decimal.Decimal `json:"stop_loss,omitzero"`
	TakeProfit    decimal.Decimal `json:"take_profit,omitzero"`
	StopApart     decimal.Decimal `json:"stop_apart,omitzero"`
	TargetApart   decimal.Decimal `json:"target_apart,omitzero"`
	StopPercent   decimal.Decimal `json:"stop_pct,omitzero"`
	TargetPercent decimal.Decimal `json:"target_pct,omitzero"`
}

// Market reports whether the intent asks for the next price, whatever it is.
func (i *Intent) Market() bool {
	return i.Kind == CloseKind || i.Kind == EntryKind && i.Limit.IsZero() && i.Stop.IsZero()
}

// key names an intent so that it cannot double: it is the same whenever the same bar is computed for the same
// deployment, and another for all else.
func key(deployment string, bar int64, kind Kind, p place) string {
	var room [256]byte
	text := room[:0]
	part := func(s string) {
		text = append(append(strconv.AppendInt(text, int64(len(s)), 10), ':'), s...)
	}
	number := func(n int64) {
		var digits [20]byte
		part(string(strconv.AppendInt(digits[:0], n, 10)))
	}
	part(deployment)
	number(bar)
	part(string(kind))
	part(string(p.kind))
	part(p.id)
	part(p.from)
	number(int64(p.lot))
	number(int64(p.nth))
	hash := sha256.Sum256(text)
	var name [3 + 2*20]byte
	copy(name[:], "s1-")
	hex.Encode(name[3:], hash[:20])
	return string(name[:])
}

// exact turns the floats of a model into decimals of so many digits.
type exact struct{ price, quantity int32 }

func digitsOf(step decimal.Decimal) int32 { return max(0, -step.Exponent()) }

func (e exact) priceOf(x float64) decimal.Decimal { return decimalOf(x, e.price) }

func (e exact) quantityOf(x float64) decimal.Decimal { return decimalOf(x, e.quantity) }

// decimalOf returns a float as a decimal, zero for none.
func decimalOf(x float64, digits int32) decimal.Decimal {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return decimal.Zero
	}
	// Away from the middle between two decimals, the product finds the nearest one as well as the digits of x do, and
	// much faster.
	if digits < int32(len(powers)) {
		scaled := x * powers[digits]
		if n := math.Round(scaled); math.Abs(n) < 1<<52 && math.Abs(scaled-n) < 0.25 {
			return decimal.New(int64(n), -digits)
		}
	}
	return decimal.NewFromFloat(x).Round(digits)
}

// powers are those of ten, exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12} //nolint:gochecknoglobals // constants

func sideOf(s simulate.Side) order.Side {
	if s == simulate.Long {
		return order.Buy
	}
	return order.Sell
}
