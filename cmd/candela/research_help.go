package main

const researchFlags = `
  --json         print the answer as the MCP tool gives it
  --csv FILE     write the first table: trades, firings or rows; - is standard output
  --html FILE    write one page that needs nothing else
  --quiet        show no progress
`

const (
	backtestHelp = `
Runs over closed bars by TradingView's fill rules, and says how far the result can be trusted.

Flags:
  --rules FILE   JSON with long and short, each with enter, exit, stop_pct, target_pct and
                 max_bars; FILE may be the JSON itself
  --script FILE  a Pine script with strategy(), or the name of a stored one
  --bars N       closed bars, 5000 by default
  --from DATE, --to DATE
                 the bars from a date or time on, up to another
  --fill-model pine|paper
                 how orders fill, pine by default
  --magnify INTERVAL
                 fill orders along shorter bars of this interval, such as 5m
  --capital N, --size-pct N, --quantity N, --fee-bps N, --slip-bps N, --seed N
                 as in run_backtest; those that are given replace what a script declares
  --inputs JSON  inputs of the script, such as {"fast":10}
  --sweep JSON   values to try, such as {"fast":[5,10],"slow":[20,40]}; "$fast" in the rules
                 stands for them; with a script, fast is one of its inputs
  --walk-forward TRAIN:TEST
                 with --sweep: choose on TRAIN bars, run on the next TEST bars, move on
  --oos-pct N    newest bars that a sweep does not see, 30 by default
  --output FILE  draw it as PNG
  --theme NAME   dark or light` + researchFlags + `
Examples:
  candela backtest BTCUSDT 4h --script my_cross.pine --output report.png
  candela backtest BTCUSDT 1h --rules rules.json --csv trades.csv --html report.html
`
	testAlertHelp = `
Compares what the price did 1, 3, 5, 10 and 20 bars after the condition became true with what
it did after any bar.

Flags:
  --condition JSON  a condition of set_alert, or a file that has one
  --bars N          closed bars, 5000 by default
  --from DATE, --to DATE
                    the bars from a date or time on, up to another
  --seed N          of the random blocks` + researchFlags + `
Example:
  candela test-alert BTCUSDT 4h --condition '{"indicator_signal":{"indicator":"rsi","signal":"rsi_oversold"}}'
`
	scanHelp = `
Reads the symbols with half of each venue's limit at most. Exits with 1 if one of them could
not be read, after it has printed the others.

Flags:
  --symbols LIST    symbols with commas between them
  --list FILE       a file with symbols, one in each line; # begins a remark
  --condition JSON  a condition of set_alert on closed bars, or a file that has one
  --within-bars N   how many of the newest bars may meet it, 1 by default
  --columns LIST    values to show, such as close,rsi
  --rank COLUMN     order by this one, --order asc or desc
  --limit N         rows, 20 by default
  --max-seconds N   45 by default` + researchFlags + `
Example:
  candela scan 4h --list watchlist.txt --condition '{"value":{"indicator":"rsi","op":"<","value":30}}' --columns rsi
`
)
