package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/remote"
)

// deal is an order that somebody asked for, under a key of its own.
type deal struct {
	key, symbol, side string
	quantity          decimal.Decimal
	price             decimal.Decimal // zero for a market order

	// The fields below are from the answers, zero before they came.
	first, acked time.Time // when it was asked for, and when that was answered
	calls        int       // how often it was asked for
	id, status   string
	denied       bool // the guard has refused it
	late         bool // it was written down too late to be sent
	cancels      bool // a cancel was answered
}

// record is an order as the program reports it.
type record struct {
	ID     string          `json:"order_id"`
	Status string          `json:"status"`
	Filled decimal.Decimal `json:"filled_quantity"`
}

// arguments are those of place_order.
func (d *deal) arguments() string {
	kind := `"market"`
	if !d.price.IsZero() {
		kind = `"limit","price":` + d.price.String()
	}
	return fmt.Sprintf(`{"symbol":%q,"side":%q,"quantity":%s,"type":%s,"idempotency_key":%q}`, d.symbol, d.side, d.quantity, kind, d.key)
}

const (
	dealEvery = 400 * time.Millisecond // of each trader
	traders   = 2
	dealt     = 3 // symbols that they trade
)

// trade places orders with clients of their own, at a steady rate, until stop is
// called, which returns when all of them are answered.
func (p *people) trade() (stop func()) {
	over := make(chan struct{})
	var group sync.WaitGroup
	for i := range traders {
		c := p.client("trader " + strconv.Itoa(i))
		group.Go(func() {
			tick := time.NewTicker(dealEvery)
			defer tick.Stop()
			for n := 0; ; n++ {
				p.deal(c, p.newDeal(i, n))
				select {
				case <-over:
					return
				case <-p.ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	p.busy.Go(group.Wait)
	return func() {
		close(over)
		group.Wait()
	}
}

// newDeal makes up an order, worth little more than the venue demands: two of three
// buy, so that there is something to sell, and every fifth waits far from the price.
func (p *people) newDeal(trader, n int) *deal {
	d := &deal{key: fmt.Sprintf("trader-%d-%d", trader, n), symbol: p.symbol(n % dealt), side: "buy"}
	price := p.tape.At(d.symbol, time.Now().Unix()).C
	switch {
	case n%5 == 4:
		d.price = decimal.NewFromFloat(price / 2).Round(4)
		price /= 2
	case n/dealt%3 == 2:
		d.side = "sell"
	}
	d.quantity = quantityFor(8, price)
	p.mu.Lock()
	p.deals = append(p.deals, d)
	p.mu.Unlock()
	return d
}

// quantityFor returns how much of something is worth an amount, or little more.
func quantityFor(amount, price float64) decimal.Decimal {
	return decimal.NewFromFloat(math.Ceil(amount/price*1e5) / 1e5)
}

// deal places an order, repeats it with its key until it is answered, and cancels it
// if it waits.
func (p *people) deal(c *remote.Client, d *deal) {
	began := time.Now()
	answer, calls, err := p.insist(c, "place_order", d.arguments())
	refusal, ok := errors.AsType[*remote.RefusalError](err)
	denied, late := ok && refusal.Code == "order_denied", ok && refusal.Code == "not_sent"
	var got record
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	p.mu.Lock()
	d.first, d.acked, d.calls, d.denied, d.late, d.id, d.status = began, time.Now(), calls, denied, late, got.ID, got.Status
	p.mu.Unlock()
	switch {
	case denied || late || p.ctx.Err() != nil:
		return
	case err != nil:
		p.Errorf("the order %s after %d calls: %v", d.key, calls, err)
		return
	case d.price.IsZero():
		return
	}
	_, calls, err = p.insist(c, "cancel_order", `{"order_id":"`+got.ID+`"}`)
	if err != nil && p.ctx.Err() == nil {
		p.Errorf("cancel the order %s after %d calls: %v", d.key, calls, err)
	}
	p.mu.Lock()
	d.cancels = err == nil
	p.mu.Unlock()
}

// insist calls a tool until it is answered, as docs/trading.md advises, and
// returns how often it did.
func (p *people) insist(c *remote.Client, name, arguments string) (answer json.RawMessage, calls int, err error) {
	for deadline := time.Now().Add(2 * time.Minute); ; {
		calls++
		answer, err = p.call(c, name, arguments)
		if err == nil || !again(err) || time.Now().After(deadline) || !p.pause(100*time.Millisecond) {
			return answer, calls, err
		}
	}
}

// again reports whether a call that failed may be repeated.
func again(err error) bool {
	if r, ok := errors.AsType[*remote.RefusalError](err); ok {
		return r.Retryable
	}
	if s, ok := errors.AsType[*remote.StatusError](err); ok {
		return slices.Contains([]int{http.StatusUnauthorized, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, s.Status)
	}
	return true // there was no answer
}
