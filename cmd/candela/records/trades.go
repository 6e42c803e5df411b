package records

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/internal/work/charting"
	"candela/internal/work/ordering"
	"candela/lib/fault"
	"candela/lib/market"
)

// tradeFlags are the flags of the command.
type tradeFlags struct {
	json  bool
	csv   string // a file, - for standard output
	owner principal.Owner
	query order.TradeQuery
}

// accountTrades are the trades of an account in JSON.
type accountTrades struct {
	Account string `json:"account"`
	ordering.Trades
}

// Trades prints what orders took out of positions: of the program that runs, or of the store.
func Trades(ctx context.Context, in cli.Call) error {
	var f tradeFlags
	rest, err := f.parse(in.Args)
	if err != nil {
		return err
	}
	in.Args = rest
	cfg, err := in.Flags("trades", "flags only")
	if err != nil {
		return err
	}
	found, err := app.Commands(cfg, in.Stderr).Trades(ctx, f.owner, f.query)
	if err != nil {
		return err
	}
	all := make([]accountTrades, len(found))
	for i, one := range found {
		all[i] = accountTrades{one.Account, ordering.TradesOf(one.Page)}
	}
	if f.csv != "" {
		if err := writeTrades(f.csv, in.Stdout, all); err != nil || f.csv == "-" {
			return err
		}
	}
	if f.json {
		return cli.PrintJSON(in.Stdout, all)
	}
	return printTrades(in.Stdout, all)
}

func (f *tradeFlags) parse(args []string) (rest []string, err error) {
	rest, err = cli.CutFlags(args, map[string]*bool{"--json": &f.json}, []cli.Flag{
		cli.ValueFlag("--symbol", func(value string) (err error) {
			f.query.Symbol, err = market.ParseSymbol(value)
			return err
		}),
		cli.ValueFlag("--reason", func(value string) (err error) {
			f.query.Reason, err = order.ParseReason(value)
			return err
		}),
		cli.ValueFlag("--since", moment("--since", &f.query.From, 0)), cli.ValueFlag("--until", moment("--until", &f.query.To, 1)),
		cli.ValueFlag("--csv", func(value string) error {
			if f.csv = value; value == "" {
				f.csv = "-"
			}
			return nil
		}),
		cli.ValueFlag("--owner", func(value string) error {
			if f.owner = principal.Owner(value); value == "" {
				return fault.Field("--owner", value, "the id of an owner, as candela owners list shows it")
			}
			return nil
		}),
	})
	switch q := f.query; {
	case err != nil:
	case !q.To.IsZero() && !q.From.Before(q.To):
		err = fault.Field("--since", q.From.Format(time.RFC3339), "a time before that of --until")
	case f.json && f.csv == "-":
		err = fault.Field("--json", "true", "--csv with a file, or only one of both")
	}
	return rest, err
}

// moment reads a flag with a date or a time, and adds so many days or seconds.
func moment(name string, to *time.Time, after int) func(string) error {
	return func(value string) error {
		at, ok := charting.ParseMoment(value, after)
		if *to = time.Unix(at, 0).UTC(); !ok {
			return fault.Field(name, value, charting.MomentAllowed)
		}
		return nil
	}
}

func printTrades(w io.Writer, all []accountTrades) error {
	if len(all) == 0 || len(all) == 1 && len(all[0].Trades.Trades) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was closed.")
		return err
	}
	for _, a := range all {
		fmt.Fprintf(w, "%s:\n", a.Account)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "CLOSED\tSYMBOL\tSIDE\tQUANTITY\tENTRY\tEXIT\tNET\tREASON")
		for _, t := range a.Trades.Trades {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Closed, cli.Plain(t.Symbol), t.Side, t.Quantity, t.EntryPrice, t.ExitPrice, strings.TrimSpace(t.Net+" "+cli.Plain(t.Currency)), t.Reason)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, s := range a.Sums {
			fmt.Fprintf(w, "Sum: %s after fees of %s%s%s; %d with a profit, %d with a loss.\n", strings.TrimSpace(s.Net+" "+cli.Plain(s.Currency)), s.Fees, funded(s.Funding), besides(s.OtherFees), s.Wins, s.Losses)
		}
		if a.Since != "" {
			fmt.Fprintf(w, "Trades before %s are only in the history of orders.\n", a.Since)
		}
	}
	return nil
}

func funded(amount string) string {
	if amount == "" {
		return ""
	}
	return " and funding of " + amount
}

func besides(fees map[string]string) string {
	if len(fees) == 0 {
		return ""
	}
	return " and, not in it, " + cli.Plain(feeList(fees))
}

// feeList has fees by asset, such as "0.01 BNB, 2 USDT".
func feeList(fees map[string]string) string {
	parts := make([]string, 0, len(fees))
	for _, asset := range slices.Sorted(maps.Keys(fees)) {
		parts = append(parts, fees[asset]+" "+asset)
	}
	return strings.Join(parts, ", ")
}

// writeTrades writes a table to a file or to standard output.
func writeTrades(path string, stdout io.Writer, all []accountTrades) error {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{
		"account", "symbol", "venue", "side", "quantity", "entry_price", "exit_price", "opened_at", "closed_at", "reason",
		"realized_pnl", "fees", "net", "currency", "other_fees", "order_id", "funding",
	})
	for _, a := range all {
		for _, t := range a.Trades.Trades {
			_ = w.Write([]string{
				a.Account, fault.Cell(t.Symbol), t.Venue, t.Side, t.Quantity, t.EntryPrice, t.ExitPrice, t.Opened, t.Closed, t.Reason,
				t.Realised, t.Fees, t.Net, fault.Cell(t.Currency), fault.Cell(feeList(t.OtherFees)), fault.Cell(t.OrderID), t.Funding,
			})
		}
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	if path == "-" {
		_, err := stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o600)
}
