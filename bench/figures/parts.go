package main

// part is something that is measured by commands of its own.
type part struct {
	name     string
	needs    []string // programs, and variables of the environment with a $
	once     bool     // it has rounds of its own
	commands []string // of bash, from the root of the project
	readings []reading
}

// parts returns what is measured, in the order of a round.
func parts() []part {
	return []part{
		starts(), allocations(), size(), calls(), push(), charts(), kept(), kernels(), aggregation(), pine(), pinePeers(), backtests(), backtestPeers(), alerts(), beside(), libraries(),
		besideChartgen("shipped"), besideChartgen("O3"), besideChartgen("native"),
	}
}

// noBench runs the benchmarks of a pattern alone.
const noBench = `go test -run '^$' -bench `

func starts() part {
	p := part{name: "start", commands: []string{"go -C deploy test ./check -count=1 -run TestStart_Answers -v -runs 20"}}
	for figure, flags := range map[string]string{"start.mcp": "--mcp", "start.mcp.trade": "--mcp --trade", "start.serve": "--serve", "start.serve.trade": "--serve --trade"} {
		line := `^ *start_test.go:\d+: ` + flags + `: .*`
		p.readings = append(p.readings, text(figure, line+`processor time: median ([\d.]+)(ms|s),`, 1, "ms"), text(figure+".rss", line+`VmRSS (\d+) kB`, 1.0/1024, "MB"))
	}
	return p
}

func allocations() part {
	line := `start_test.go:\d+: `
	return part{name: "allocations", once: true, commands: []string{"go test -count=1 -run TestStart_Allocations -v ./cmd/candela"}, readings: []reading{
		text("alloc.mcp", line+`--mcp: \{Bytes:(\d+) `, 1e-6, "MB"), text("alloc.mcp.trade", line+`--mcp --trade: \{Bytes:(\d+) `, 1e-6, "MB"),
		text("alloc.collections", line+`--mcp --trade: .*Collections:(\d+)\}`, 1, ""),
	}}
}

func size() part {
	return part{name: "size", once: true, commands: []string{
		`into=$(mktemp -d) && GOARCH=amd64 GOOS=linux CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$into/candela" ./cmd/candela && wc -c <"$into/candela" && rm -r "$into"`,
	}, readings: []reading{text("size", `^(\d+)$`, 1e-6, "MB")}}
}

func calls() part {
	return part{name: "calls", commands: []string{noBench + "ToolCall -benchtime 5s ./internal/serve/httpd"}, readings: []reading{
		bench("calls.of_bare", "ToolCall", "of_bare", 1, ""),
	}}
}

func push() part {
	return part{name: "push", once: true, commands: []string{noBench + "Push -benchtime 1x -count 3 ./internal/serve/httpd -push-clients 10000"}, readings: []reading{
		bench("push.of_bare", "PushBesideABareHub", "p99_ratio", 1, ""), bench("push.slow", "PushBesideSlowReaders", "p99_ratio", 1, ""),
	}}
}

func charts() part {
	const ms = "ms"
	return part{name: "charts", commands: []string{noBench + "Call -benchtime 200x ./internal/serve/tool"}, readings: []reading{
		bench("chart", "Call/default_chart", "ns/op", 1e-6, ms), bench("chart.bytes", "Call/default_chart", "bytes", 1e-3, "KB"),
		bench("summary.small", "Call/small_summary", "ns/op", 1e-6, ms), bench("indicators", "Call/get_indicators", "ns/op", 1e-6, ms),
	}}
}

func kept() part {
	const again, owners = "Summary/asked_again_by_one_owner,_50_symbols", "Summary/asked_again_by_1,000_owners,_50_symbols"
	return part{name: "kept", commands: []string{noBench + "Summary -benchtime 1000x ./internal/serve/tool", noBench + "Share -benchtime 1000x ./internal/alerting/evaluate"}, readings: []reading{
		bench("summary.again", "Summary/asked_again", "ns/op", 1e-6, "ms"), bench("summary.cold", "Summary/cold", "ns/op", 1e-6, "ms"),
		ratio("summary.owners", owners, again, "ns/op"), bench("summary.kept", owners, "kept-B/symbol", 1e-3, "KB"), bench("summary.kept50", owners, "kept-B/symbol", 50e-6, "MB"),
		bench("scan.rsi", "Share/rsi/kept", "ns/op", 1e-3, "us"), bench("scan.rsi.fresh", "Share/rsi/fresh", "ns/op", 1e-3, "us"),
		bench("scan.cipher", "Share/cipher_b/kept", "ns/op", 1e-3, "us"), bench("scan.cipher.fresh", "Share/cipher_b/fresh", "ns/op", 1e-3, "us"),
	}}
}

func kernels() part {
	p := part{name: "kernels", needs: []string{"gcc", "npm"}, commands: []string{"bench/kernels/run.sh -passes 10"}}
	for figure, name := range map[string]string{"kernel.macd": "MACD 12 26 9", "kernel.rsi": "RSI 14", "kernel.bands": "BBANDS 20"} {
		line := `^\| ` + name + ` *\| `
		p.readings = append(p.readings, text(figure, line+`([\d.]+)`, 1, "ns"), text(figure+".talib", line+`[\d.]+ *\| [\d.]+ *\| ([\d.]+)`, 1, "ns"),
			text(figure+".tulip", line+`[\d.]+ *\| [\d.]+ *\| [\d.]+ *\| [\d.]+ *\| ([\d.]+)`, 1, "ns"))
	}
	return p
}

func aggregation() part {
	return part{name: "aggregation", commands: []string{noBench + "Aggregate -benchtime 1x -count 20 ./lib/market"}, readings: []reading{
		bench("aggregate", "Aggregate/4h", "ns/bar", 1, "ns"), bench("aggregate.copy", "Aggregate/floor-copy", "ns/bar", 1, "ns"),
	}}
}

func pine() part {
	return part{name: "pine", commands: []string{noBench + "Scripts -benchtime 30ms -count 12 ./lib/pine"}, readings: []reading{
		bench("pine.plain", "Scripts/plain", "ns/bar", 1, "ns"), bench("pine.loop", "Scripts/loop", "ns/bar", 1, "ns"),
	}}
}

func pinePeers() part {
	return part{name: "pine beside peers", once: true, needs: []string{"npm", "pip"}, commands: []string{"bench/pine/run.sh"}, readings: []reading{
		text("pine.pinets", `^PineTS plain.pine ([\d.]+) us`, 1, "us"), text("pine.pynecore", `^PyneCore plain.py ([\d.]+) us`, 1, "us"),
	}}
}

func backtests() part {
	return part{name: "back-tests", commands: []string{
		noBench + "'Rules/(stepped|columns)' -benchtime 10x ./internal/work/research/rules", noBench + "Rules/sweep-1000 -benchtime 1x ./internal/work/research/rules",
	}, readings: []reading{
		bench("backtest.columns", "Rules/columns", "bars/cpu-s", 1e-6, "million"), bench("backtest.stepped", "Rules/stepped", "bars/cpu-s", 1e-6, "million"),
		bench("backtest.sweep", "Rules/sweep-1000", "cpu-s/op", 1, "s"),
	}}
}

func backtestPeers() part {
	return part{name: "back-tests beside peers", once: true, needs: []string{"npm", "pip"}, commands: []string{"bench/backtests/run.sh"}, readings: []reading{
		text("backtest.vectorbt", `^vectorbt .* ([\d,]+) bars/s`, 1e-6, "million"),
	}}
}

func alerts() part {
	return part{name: "alerts", commands: []string{noBench + "'Index_Tick(Nothing$|Fires)' ./internal/alerting/alert"}, readings: []reading{
		bench("alerts.nothing", "Index_TickNothing/tick", "ns/op", 1, "ns"), bench("alerts.fires", "Index_TickFires/1000000", "ns/op", 1e-3, "us"),
	}}
}

// beside has a verdict of its own, which is the bar of the page: what it prints is read whichever it is.
func beside() part {
	line := `^ *beside_test.go:\d+: `
	return part{name: "alerts beside long work", once: true, commands: []string{"LONGTEST=1 go test -count=1 ./e2e/research -run TestBeside_AlertsDoNotWait -v || true"}, readings: []reading{
		text("beside.p50", line+`scan, .*alone p50 ([\d.]+)(µs|ms|s),`, 1, "ms"), text("beside.p99", line+`scan, .*alone p50 \S+ p90 \S+ p99 ([\d.]+)(µs|ms|s);`, 1, "ms"),
		text("beside.scan", line+`scan, .* and ([\d.]+) times`, 1, "times"), text("beside.sweep", line+`sweep, .* and ([\d.]+) times`, 1, "times"),
		text("beside.other", line+`another program, .* and ([\d.]+) times`, 1, "times"),
	}}
}

func libraries() part {
	p := part{name: "pictures by libraries", once: true, needs: []string{"npm", "python3", "chromium"}, commands: []string{"bench/pictures/run.sh"}}
	line := `^chart 1440x810, 200 bars, `
	p.readings = []reading{
		text("picture.web", line+`lightweight-charts: least time ([\d.]+) ms`, 1, "ms"), text("picture.mpl", line+`mplfinance: least time ([\d.]+) ms`, 1, "ms"),
		text("picture", line+`candela: processor ([\d.]+) ms`, 1, "ms"),
	}
	return p
}

// besideChartgen measures beside chartgen, built in one of three ways.
func besideChartgen(way string) part {
	variable := "CHARTGEN_" + way
	p := part{name: "beside chartgen " + way, once: true, needs: []string{"$" + variable, "npm", "python3", "chromium"}, commands: []string{`bench/pictures/run.sh "$` + variable + `"`}}
	for figure, line := range map[string]string{"chart200": "chart 1440x810, 200 bars", "chart500": "chart 1440x810, 500 bars", "cold": "summary, 200 bars", "again": "summary of a file, 200 bars", "small": "small summary of a file, 200 bars"} {
		own, peer := text(way+"."+figure, "^"+line+`, candela: processor ([\d.]+) ms`, 1, ""), text("", "^"+line+`, chartgen: processor ([\d.]+) ms`, 1, "")
		own.per = peer.pattern
		p.readings = append(p.readings, own)
	}
	return p
}

// rows returns the rows of the page that are written from figures.
func rows() []row {
	most := func(figure string, limit float64) bar { return bar{figure, true, limit} }
	least := func(figure string, limit float64) bar { return bar{figure, false, limit} }
	return []row{
		{"start until the first answer, `--mcp`", "{start.mcp} of processor time, {start.mcp.rss} resident", []bar{most("start.mcp", 9), most("start.mcp.rss", 22)}},
		{"the same, `--mcp --trade`", "{start.mcp.trade} of processor time, {start.mcp.trade.rss} resident", []bar{most("start.mcp.trade", 13)}},
		{"start until the first page, `--serve`, `--serve --trade`", "{start.serve}, {start.serve.trade} of processor time", nil},
		{"allocated until the first answer, `--mcp`, `--mcp --trade`", "{alloc.mcp}, {alloc.mcp.trade}, {alloc.collections} collections", []bar{most("alloc.mcp", 2.2), most("alloc.mcp.trade", 3.1), most("alloc.collections", 0)}},
		{"binary for linux/amd64, as released", "{size}", []bar{most("size", 34)}},
		{"`tools/call` over HTTP, requests a second, of a bare net/http handler", "{calls.of_bare+}", []bar{least("calls.of_bare", 0.6)}},
		{"push to 10,000 streams, p99, of a bare hub", "{push.of_bare}", []bar{most("push.of_bare", 1.3)}},
		{"the same with 1,000 readers that do not read", "{push.slow}", []bar{most("push.slow", 1.1)}},
		{"default chart in the process, 200 bars", "{chart+}, {chart.bytes}", nil},
		{"the same over stdio, of chartgen's, at 200 and 500 bars", "{native.chart200}, {native.chart500}", []bar{most("native.chart200", 0.6), most("native.chart500", 0.8)}},
		{"the same picture by lightweight-charts in Chromium, by mplfinance", "{picture.web}, {picture.mpl}", nil},
		{"summary of 200 bars of a symbol that was asked for before, in the process", "{summary.again+}", nil},
		{"the same of four plain indicators", "{summary.small+}", nil},
		{"the same of a symbol that nobody has asked for", "{summary.cold+}", nil},
		{"the same three over stdio, of chartgen's", "{native.again}, {native.small}, {native.cold}", []bar{most("native.again", 1), most("native.small", 1.5), most("native.cold", 1.3)}},
		{"the same, 50 symbols that 1,000 owners poll, of one owner who does", "{summary.owners+}", nil},
		{"kept of a symbol with the default indicators, of those 50", "{summary.kept}, {summary.kept50}", nil},
		{"an indicator of a scan or a new alert where it was asked for before: RSI, Cipher B", "{scan.rsi}, {scan.cipher}; computed afresh {scan.rsi.fresh}, {scan.cipher.fresh}", nil},
		{"MACD over a million bars, per bar", "{kernel.macd}; TA-Lib {kernel.macd.talib}, Tulip {kernel.macd.tulip}", nil},
		{"RSI, the same", "{kernel.rsi}; TA-Lib {kernel.rsi.talib}, Tulip {kernel.rsi.tulip}", nil},
		{"Bollinger bands, the same", "{kernel.bands}; TA-Lib {kernel.bands.talib}, Tulip {kernel.bands.tulip}", nil},
		{"a million bars of 1m to 4h, per bar", "{aggregate}; a copy takes {aggregate.copy}", nil},
		{"Pine script with two averages and a MACD, per bar", "{pine.plain+}; PineTS {pine.pinets}, PyneCore {pine.pynecore}", nil},
		{"back-test of a crossing over columns, bars a second", "{backtest.columns+}; vectorbt {backtest.vectorbt}", []bar{least("backtest.columns", 30)}},
		{"the same bar by bar", "{backtest.stepped+}", []bar{least("backtest.stepped", 4)}},
		{"1,000 pairs of lengths over 100,000 bars", "{backtest.sweep+} of processor time", []bar{most("backtest.sweep", 3)}},
		{"a price that fires none of a million alerts", "{alerts.nothing+}, no allocation", []bar{most("alerts.nothing", 300)}},
		{"a price that fires 1 of a million", "{alerts.fires+}", nil},
		{"from a price at the venue until the client has the alert, p50 and p99", "{beside.p50}, {beside.p99}", nil},
		{"the p99 beside a sweep, a scan, another program of the lowest priority", "{beside.sweep}, {beside.scan}, {beside.other}", []bar{most("beside.sweep", 1.1), most("beside.scan", 1.1)}},
	}
}
