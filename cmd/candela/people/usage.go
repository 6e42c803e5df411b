package people

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/access/metering"
	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// dayText says what the value of --since and --until is.
const dayText = "a day, such as 2026-11-01"

// ownerUsage prints what owners used: the sums by owner, or the lines of all hours as JSON.
func ownerUsage(_ context.Context, in cli.Call, cfg *config.Config, f ownerFlags) error {
	since, err := day("--since", f.since)
	if err != nil {
		return err
	}
	until, err := day("--until", f.until)
	if err != nil {
		return err
	}
	if !until.IsZero() && !until.After(since) {
		return fault.Field("--until", f.until, "a day after that of --since; it is not included")
	}
	sums := map[principal.Owner]metering.Line{}
	encode := json.NewEncoder(in.Stdout)
	for line, err := range metering.Read(filepath.Join(cfg.Home, statedir.UsageName), since, until) {
		switch {
		case err != nil:
			return err
		case len(f.ids) > 0 && !slices.Contains(f.ids, line.Owner):
		case f.json:
			if err := encode.Encode(line); err != nil {
				return err
			}
		default:
			sum := sums[line.Owner]
			sum.Calls += line.Calls
			sum.Failed += line.Failed
			sum.Milliseconds += line.Milliseconds
			sums[line.Owner] = sum
		}
	}
	if f.json {
		return nil
	}
	table := cli.Table(in.Stdout)
	fmt.Fprintln(table, "ID\tCALLS\tFAILED\tPROCESSOR SECONDS")
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[id]
		fmt.Fprintf(table, "%s\t%d\t%d\t%.3f\n", id, sum.Calls, sum.Failed, float64(sum.Milliseconds)/1000)
	}
	return table.Flush()
}

// day parses a flag with a day, in UTC; "" is the zero time.
func day(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return at, fault.Field(name, value, dayText)
	}
	return at, nil
}
