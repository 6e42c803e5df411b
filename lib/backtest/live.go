package backtest

import (
	"fmt"

	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// Live is a program that its caller steps by hand, a closed bar at a time. After the same bars its account is as that
// of a run over them. It is not safe for concurrent use.
type Live struct {
	account  *simulate.Account
	instance Instance
	bars     int
}

// NewLive starts a program without history.
func NewLive(p Program) (*Live, error) {
	account, err := simulate.New(p.Config())
	if err != nil {
		return nil, err
	}
	instance, err := p.Start(account)
	if err != nil {
		return nil, err
	}
	return &Live{account: account, instance: instance}, nil
}

// Step computes the program at the next closed bar. Where trades is false, the bar is only for its indicators. After
// an error the program has ended.
func (l *Live) Step(b market.Bar, trades bool) error {
	l.account.Pause(!trades)
	l.account.Bar(simulate.Bar{Time: b.T * 1000, Open: b.O, High: b.H, Low: b.L, Close: b.C, Volume: b.V})
	if err := l.instance.Next(b); err != nil {
		return fmt.Errorf("bar %d: %w", l.bars, err)
	}
	l.account.Computed()
	l.bars++
	return nil
}

// Bars returns how many bars were stepped.
func (l *Live) Bars() int { return l.bars }

// Account returns the account on which the program trades. The caller only reads it.
func (l *Live) Account() *simulate.Account { return l.account }

// Close gives back what the program holds.
func (l *Live) Close() {
	if holds, ok := l.instance.(interface{ Close() }); ok {
		holds.Close()
	}
}

// Engine numbers what programs compute. It grows when a version lets the same program order something else on the same
// bars.
const Engine = 2
