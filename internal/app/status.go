package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"candela/internal/desk"
	"candela/internal/fault"
	"candela/internal/guard"
	"candela/internal/ledger"
	"candela/internal/mcp"
	"candela/internal/order"
	"candela/internal/statedir"
	"candela/internal/stdio"
)

// Status is how a state directory stands, for its owner to read.
type Status struct {
	Running  bool            `json:"running"` // a program trades there; else this is what is stored
	Alerts   int             `json:"alerts"`  // that wait
	Accounts []AccountStatus `json:"accounts"`
}

// AccountStatus is one account: a program trades on one, a store may keep several.
type AccountStatus struct {
	Account string `json:"account"` // paper, or the venue and its network
	TradingState
	Open      int              `json:"open_orders"`
	Uncertain int              `json:"uncertain_orders,omitempty"` // of them, those whose fate is not known
	Positions []PositionStatus `json:"positions"`
}

// PositionStatus is one open position. Amounts are exact decimals.
type PositionStatus struct {
	Symbol     string `json:"symbol"`
	Side       string `json:"side"`
	Quantity   string `json:"quantity"`
	Entry      string `json:"entry_price"`
	Current    string `json:"current_price,omitempty"` // "" while no price is known
	Unrealized string `json:"unrealized_pnl,omitempty"`
}

// statusWait is how long prices may take to come, within the time that the control
// socket has for an answer.
const statusWait = 3 * time.Second

// statusOf returns what tells the status of a program that trades, nil for one that
// does not.
func (t *trading) statusOf(rt Runtime) func(context.Context) (Status, error) {
	if t == nil {
		return nil
	}
	seen := t.watched(rt)
	return func(ctx context.Context) (Status, error) {
		ctx, cancel := context.WithTimeout(ctx, statusWait)
		defer cancel()
		s := Status{Running: true, Accounts: []AccountStatus{}}
		for _, subject := range []string{accountOwner, stdio.Owner} {
			alerts, err := t.alerts.Alerts(ctx, mcp.Caller{Subject: subject})
			if err != nil {
				return s, err
			}
			s.Alerts += len(alerts)
		}
		now, here := t.deskStatus(ctx, rt, seen.Desk)
		if !here {
			return s, nil
		}
		held, err := t.orders.Positions(ctx, mcp.Caller{Subject: accountOwner})
		if err != nil {
			return s, err
		}
		one := newAccountStatus(accountOf(rt.Config.Trading), now.State)
		one.Open, one.Uncertain = now.Open, now.Uncertain
		for _, p := range held {
			one.add(p)
		}
		if rt.shared != nil {
			one.halting(rt.shared.desk.HaltFiles(ctx))
		}
		s.Accounts = append(s.Accounts, one)
		return s, nil
	}
}

// deskStatus returns what is known of the account, at whichever replica it is traded
// on. It reports false when that is not known in time.
func (*trading) deskStatus(ctx context.Context, rt Runtime, here func() (desk.Status, bool)) (desk.Status, bool) {
	if rt.shared == nil {
		return started(ctx, here)
	}
	now, err := rt.shared.desk.Status(ctx)
	return now, err == nil
}

// halting adds the halt files that the state does not name: it has one reason, and
// the owner has to remove them all.
func (a *AccountStatus) halting(files []string) {
	for _, file := range files {
		if strings.Contains(a.Why, file) {
			continue
		}
		if a.Why != "" {
			a.Why += ". "
		}
		a.Why += "The file " + file + " is there; remove it, then candela resume"
	}
}

// started returns the status of a desk once its account is loaded. It reports false when
// that is not in time.
func started(ctx context.Context, ask func() (desk.Status, bool)) (desk.Status, bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if now, here := ask(); !here || now.Broker != "" {
			return now, here
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return desk.Status{}, false
		}
	}
}

func newAccountStatus(account string, state guard.State) AccountStatus {
	name := strings.TrimPrefix(strings.TrimPrefix(account, accountOwner), "/")
	if name == "" {
		name = "paper"
	}
	return AccountStatus{Account: name, TradingState: stateOf(state), Positions: []PositionStatus{}}
}

func (a *AccountStatus) add(p order.Marked) {
	entry, _ := p.Average()
	one := PositionStatus{Symbol: p.Symbol.String(), Side: p.Side().String(), Quantity: p.There().Abs().String(), Entry: entry.String()}
	if last := p.Quote.Last; last.IsPositive() {
		one.Current, one.Unrealized = last.String(), p.Unrealised(last).String()
	}
	a.Positions = append(a.Positions, one)
}

// handleStatus answers in the program that trades.
func (c control) handleStatus(mux *http.ServeMux) {
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		s, err := c.status(r.Context())
		if err != nil {
			c.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // the owner's terminal went away
	})
}

// ReadStatus asks the program that trades in a state directory, or reads what is
// stored where none does. It changes nothing but the schema of a store that an
// earlier version wrote, which is brought to this one's to be read.
func ReadStatus(ctx context.Context, home string) (Status, error) {
	answer, err := knock(ctx, home, http.MethodGet, "/status")
	if err == nil {
		defer func() { _ = answer.Body.Close() }()
		switch answer.StatusCode {
		case http.StatusOK:
			var s Status
			if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
				return s, fmt.Errorf("control socket: %w", err)
			}
			return s, nil
		case http.StatusNotFound: // a server that does not trade
		default:
			return Status{}, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
		}
	} else if fault.KindOf(err) != fault.Unavailable {
		return Status{}, err
	}
	return storedStatus(ctx, home)
}

// storedStatus reads the store of a state directory in which no program trades.
func storedStatus(ctx context.Context, home string) (Status, error) {
	s := Status{Accounts: []AccountStatus{}}
	if _, err := os.Stat(filepath.Join(home, ledger.FileName)); errors.Is(err, fs.ErrNotExist) {
		return s, &fault.Error{
			Kind: fault.NotFound, Code: "no_store", Field: "home", Value: home,
			Message: fmt.Sprintf("nothing was ever traded in state directory %s: the first start with --trade makes its store", home),
		}
	}
	held, err := statedir.LockEngine(home)
	if statedir.IsLocked(err) {
		return s, &fault.Error{
			Kind: fault.Unavailable, Code: statedir.LockedCode, Field: "home", Value: home,
			Message: fmt.Sprintf("a program trades in state directory %s and does not answer: its log says why", home),
		}
	}
	if err != nil {
		return s, err
	}
	defer held.Release()
	l, err := ledger.Open(ctx, home, time.Now)
	if err != nil {
		return s, err
	}
	err = s.read(ctx, l, filepath.Join(home, statedir.HaltName))
	return s, errors.Join(err, l.Close())
}

// read adds what a store has.
func (s *Status) read(ctx context.Context, l *ledger.Ledger, haltFile string) error {
	for _, err := range l.Alerts(ctx) {
		if err != nil {
			return err
		}
		s.Alerts++
	}
	_, statErr := os.Lstat(haltFile)
	for _, account := range accounts() {
		state, book, err := desk.Stored(ctx, l, account)
		if err != nil {
			return err
		}
		if len(state.Causes) == 0 && len(book.Orders()) == 0 && len(book.Positions()) == 0 {
			continue // nothing ever happened there
		}
		one := newAccountStatus(account, state)
		if statErr == nil {
			one.TradingState = TradingState{Level: guard.Halted.String(), Why: "the file " + haltFile + " is there; remove it, then candela resume"}
		}
		for _, o := range book.Open() {
			one.Open++
			if o.Status == order.Uncertain {
				one.Uncertain++
			}
		}
		for _, p := range book.Positions() {
			if !p.Quantity.IsZero() {
				one.add(order.Marked{Position: p})
			}
		}
		s.Accounts = append(s.Accounts, one)
	}
	return nil
}
