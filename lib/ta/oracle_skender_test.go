package ta_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"candela/internal/testkit/sharedtest"
	"candela/lib/market"
)

// Reference results of Skender.Stock.Indicators 3.0 on 502 real daily bars. They
// lie beside the repository and are read in place.
const skenderDir = "data/skender"

// skenderCase says how a file of Skender's maps to an indicator of ours.
type skenderCase struct {
	file      string
	indicator string
	params    string            // what makes ours compute the same thing
	fields    map[string]string // their field, our line
	seed      string            // as in oracleCase
	late      int               // theirs stands this many bars after ours
	until     int
	why       string // of params, seed, late or until
}

func skenderCases() []skenderCase {
	hist := "histogram 0"
	return []skenderCase{
		{file: "adl", indicator: "ad", fields: map[string]string{"adl": "A/D"}},
		{file: "adx", indicator: "adx", fields: map[string]string{"adx": "ADX", "pdi": "+DI", "mdi": "-DI"}},
		{file: "atr", indicator: "atr", fields: map[string]string{"atr": "ATR"}, seed: "differs", why: "leaves out the first true range, as TA-Lib does"},
		{file: "vwap", indicator: "anchored_vwap", params: `{"anchor": "2017-01-03"}`, fields: map[string]string{"vwap": "AVWAP"}},
		{file: "bb", indicator: "bbands", fields: map[string]string{"sma": "BB Mid", "upperBand": "BB Upper", "lowerBand": "BB Lower"}},
		{file: "cci", indicator: "cci", fields: map[string]string{"cci": "CCI"}},
		{file: "cmf", indicator: "cmf", fields: map[string]string{"cmf": "CMF"}},
		{file: "donchian", indicator: "donchian", fields: map[string]string{"centerline": "DC Mid", "upperBand": "DC Upper", "lowerBand": "DC Lower"}, late: 1, why: "leaves out the present bar"},
		{file: "heikinashi", indicator: "heikin_ashi", fields: map[string]string{"open": "HA Open", "high": "HA High", "low": "HA Low", "close": "HA Close"}},
		{file: "ichimoku", indicator: "ichimoku", params: `{"displacement": 27}`, fields: map[string]string{"tenkanSen": "Tenkan", "kijunSen": "Kijun", "senkouSpanA": "Senkou A", "senkouSpanB": "Senkou B", "chikouSpan": "Chikou"}, why: "shifts by 26 where TradingView shifts by 25"},
		{file: "keltner", indicator: "keltner", params: `{"multiplier": 2}`, fields: map[string]string{"centerline": "KC Mid"}},
		{file: "keltner", indicator: "keltner", params: `{"multiplier": 2}`, fields: map[string]string{"upperBand": "KC Upper", "lowerBand": "KC Lower"}, seed: "differs", why: "its ATR leaves out the first true range"},
		{file: "macd", indicator: "macd", fields: map[string]string{"macd": "MACD", "signal": "Signal", "histogram": hist}},
		{file: "mfi", indicator: "mfi", fields: map[string]string{"mfi": "MFI"}},
		{file: "obv", indicator: "obv", fields: map[string]string{"obv": "OBV"}},
		{file: "pivot-points", indicator: "pivot", params: `{"levels": 3, "timeframe": "month"}`, fields: map[string]string{"pp": "Pivot", "r1": "R1", "s1": "S1", "r2": "R2", "s2": "S2", "r3": "R3", "s3": "S3"}},
		{file: "roc", indicator: "roc", fields: map[string]string{"roc": "ROC"}},
		{file: "rsi", indicator: "rsi", fields: map[string]string{"rsi": "RSI"}},
		{file: "stoch", indicator: "stoch", fields: map[string]string{"oscillator": "%K", "signal": "%D"}},
		{file: "supertrend", indicator: "supertrend", fields: map[string]string{"superTrend": "Supertrend"}, seed: "differs", why: "its ATR leaves out the first true range"},
		{file: "vwap", indicator: "vwap", params: `{"anchor": "year"}`, fields: map[string]string{"vwap": "VWAP"}, until: 251, why: "begins with the first bar and never restarts; bar 251 is the first of 2018"},
		{file: "willr", indicator: "williams_r", fields: map[string]string{"williamsR": "%R"}},
		// psar is left out: like TA-Lib it limits the stop by the two bars before and
		// then looks whether the price reached it, TradingView the other way round.
	}
}

func TestOracles_Skender(t *testing.T) {
	t.Parallel()
	bars := skenderBars(t)
	table := make(map[string]worst)
	for _, c := range skenderCases() {
		p := make(map[string]json.RawMessage)
		if c.params != "" {
			if err := json.Unmarshal([]byte(c.params), &p); err != nil {
				t.Fatal(err)
			}
		}
		o := oracleCase{Oracle: "skender", Set: "default", Params: p, Seed: "same", Step: 1, Until: c.until, Lines: map[string]oracleSeries{}, Hist: map[string]oracleSeries{}}
		if c.seed != "" {
			o.Seed = c.seed
		}
		for field, label := range c.fields {
			s := skenderSeries(t, c.file, field, c.late)
			if label == "histogram 0" {
				o.Hist["0"] = s
			} else {
				o.Lines[label] = s
			}
		}
		set := barSet{Name: "default", Interval: market.Day1, T: bars.T, O: bars.O, H: bars.H, L: bars.L, C: bars.C, V: bars.V}
		problems, w := o.compare(c.indicator, &set)
		for _, p := range problems {
			t.Errorf("%s: %s", c.indicator, p)
		}
		keepWorst(table, c.indicator, w)
	}
	logWorst(t, "skender", table)
}

// skenderBars reads the bars the results were made from.
func skenderBars(t *testing.T) *market.Bars {
	t.Helper()
	raw, err := os.ReadFile(sharedtest.Path(t, skenderDir+"/default.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	bars := market.MakeBars(len(rows), false)
	for _, row := range rows[1:] {
		day, err := time.Parse(time.DateOnly, row[0])
		if err != nil {
			t.Fatal(err)
		}
		var x [5]float64
		for i := range x {
			if x[i], err = strconv.ParseFloat(row[1+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		bars.Append(market.Bar{T: day.Unix(), O: x[0], H: x[1], L: x[2], C: x[3], V: x[4], TakerBuy: math.NaN()})
	}
	return &bars
}

// skenderSeries reads one field of a result, moved back by late bars.
func skenderSeries(t *testing.T, file, field string, late int) oracleSeries {
	t.Helper()
	raw, err := os.ReadFile(sharedtest.Path(t, skenderDir+"/"+file+".standard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	values := make([]float64, len(rows))
	for i, row := range rows {
		text, ok := row[field]
		if !ok {
			t.Fatalf("%s has no field %s", file, field)
		}
		values[i] = math.NaN()
		if string(text) != "null" {
			if err := json.Unmarshal(text, &values[i]); err != nil {
				t.Fatalf("%s %s: %v", file, field, err)
			}
		}
	}
	values = values[late:]
	first := firstValue(values)
	if first < 0 {
		t.Fatalf("%s %s has no value", file, field)
	}
	return oracleSeries{First: first, Values: values[first:]}
}
