package drift

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Close is the price at a time.
type Close struct {
	At    time.Time
	Price float64
}

// Point is what the model and the account had earned at a close, what they held at its price, without funding.
type Point struct {
	At             time.Time
	Model, Account float64
}

// MostPoints bounds a curve.
const MostPoints = 200

// Curve returns what both had earned at closes, which are in order: at most MostPoints of them, the last one always. That one
// counts all fills.
func Curve(model []Entry, account Account, rate decimal.Decimal, closes []Close) []Point {
	if len(closes) == 0 {
		return nil
	}
	var made, got purse
	fee := rate.InexactFloat64()
	for i := range model {
		for _, f := range slices.Concat(model[i].In, model[i].Out) {
			made.add(&f, f.Quantity.Abs().Mul(f.Price).InexactFloat64()*fee)
		}
	}
	for _, fills := range account.In {
		for i := range fills {
			got.add(&fills[i], fills[i].Fee.InexactFloat64())
		}
	}
	for i := range account.Out {
		got.add(&account.Out[i], account.Out[i].Fee.InexactFloat64())
	}
	made.sort()
	got.sort()
	stride := (len(closes) + MostPoints - 1) / MostPoints
	var points []Point
	for i := (len(closes) - 1) % stride; i < len(closes); i += stride {
		c := closes[i]
		if i == len(closes)-1 {
			made.through(time.Time{})
			got.through(time.Time{})
		} else {
			made.through(c.At)
			got.through(c.At)
		}
		points = append(points, Point{At: c.At, Model: made.worth(c.Price), Account: got.worth(c.Price)})
	}
	return points
}

// purse is money and what it bought, after some of its fills.
type purse struct {
	left       []flow
	cash, held float64
}

// flow is what a fill does to a purse.
type flow struct {
	at         time.Time
	cash, held float64
}

func (p *purse) add(f *Fill, fee float64) {
	held := f.Quantity.InexactFloat64()
	p.left = append(p.left, flow{f.At, -held*f.Price.InexactFloat64() - fee, held})
}

func (p *purse) sort() {
	slices.SortStableFunc(p.left, func(a, b flow) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
}

// through counts the fills before a time, zero for all.
func (p *purse) through(at time.Time) {
	for len(p.left) > 0 && (at.IsZero() || p.left[0].at.Before(at)) {
		p.cash += p.left[0].cash
		p.held += p.left[0].held
		p.left = p.left[1:]
	}
}

func (p *purse) worth(price float64) float64 { return p.cash + p.held*price }
