package deploy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/shopspring/decimal"
)

// Most entries of a journal are bars. These are written and read without encoding/json, which takes longer than computing
// the bar: written byte by byte as it writes them, and read only as they are written here.

// scan reads an entry of bars, and reports false for any other, and for one that was written in another way. What it reads
// is valid until the next.
func (e *entry) scan(data []byte) bool {
	if rest, ok := bytes.CutPrefix(data, []byte(`{"kind":"bar","at":"`)); ok {
		return e.scanBar(afterQuote(rest))
	}
	rest, ok := bytes.CutPrefix(data, []byte(`{"kind":"bars","at":"`))
	return ok && e.scanBlock(afterQuote(rest))
}

// afterQuote returns what comes after a text without escapes.
func afterQuote(data []byte) []byte { return data[bytes.IndexByte(data, '"')+1:] }

// scanBar reads what comes after the time of one bar.
func (e *entry) scanBar(rest []byte) bool {
	text, ok := bytes.CutPrefix(rest, []byte(`,"bar":"`))
	const size = (barBytes + 2) / 3 * 4 // in base64
	if !ok || len(text) < size+1 || text[size] != '"' {
		return false
	}
	var one [size]byte
	if n, err := base64.StdEncoding.Decode(one[:], text[:size]); err != nil || n != barBytes {
		return false
	}
	kept := append(e.Bar[:0], one[:barBytes]...)
	rest, late := bytes.CutPrefix(text[size+1:], []byte(`,"late":true`))
	intents, ok := bytes.CutPrefix(rest, []byte(`,"intents":`))
	if n := len(intents); !ok || n < 4 || intents[0] != '[' || intents[n-2] != ']' || intents[n-1] != '}' {
		return false
	}
	*e = entry{Kind: entryBar, Bar: kept, Late: late, Intents: written{intents[:len(intents)-1]}}
	return true
}

// scanBlock reads what comes after the time of bars. The block itself is read when its bars are.
func (e *entry) scanBlock(rest []byte) bool {
	rest, named := bytes.CutPrefix(rest, []byte(`,"through":`))
	through, rest, both := bytes.Cut(rest, []byte(`,"bars":`))
	bars, rest, all := bytes.Cut(rest, []byte(`,"block":"`))
	end := bytes.IndexByte(rest, '"')
	if !named || !both || !all || end != len(rest)-2 || rest[end+1] != '}' {
		return false
	}
	t, err := strconv.ParseInt(string(through), 10, 64)
	n, err2 := strconv.Atoi(string(bars))
	if err != nil || err2 != nil || n <= 0 || n > historyBars {
		return false
	}
	*e = entry{Kind: entryBars, Through: t, Bars: n, Bar: e.Bar[:0], text: rest[:end]}
	return true
}

// appendIntents writes intents as encoding/json does.
func appendIntents(to []byte, all []Intent) []byte {
	to = append(to, '[')
	for k := range all {
		if k > 0 {
			to = append(to, ',')
		}
		to = all[k].append(to)
	}
	return append(to, ']')
}

func (i *Intent) append(to []byte) []byte {
	to = appendText(append(to, `{"key":`...), i.Key)
	to = appendText(append(to, `,"kind":`...), string(i.Kind))
	to = appendIf(to, `,"id":`, i.ID)
	to = appendIf(to, `,"from":`, i.From)
	if i.Lot != 0 {
		to = strconv.AppendInt(append(to, `,"lot":`...), int64(i.Lot), 10)
	}
	to = appendIf(to, `,"of":`, string(i.Of))
	if i.Side != 0 {
		to = appendText(append(to, `,"side":`...), i.Side.String())
	}
	to = appendAmount(to, `,"quantity":`, i.Quantity)
	to = appendAmount(to, `,"closes":`, i.Closes)
	to = appendAmount(to, `,"limit":`, i.Limit)
	to = appendAmount(to, `,"stop":`, i.Stop)
	if i.Trails {
		to = append(to, `,"trails":true`...)
	}
	to = appendAmount(to, `,"stop_loss":`, i.StopLoss)
	to = appendAmount(to, `,"take_profit":`, i.TakeProfit)
	to = appendAmount(to, `,"stop_apart":`, i.StopApart)
	to = appendAmount(to, `,"target_apart":`, i.TargetApart)
	to = appendAmount(to, `,"stop_pct":`, i.StopPercent)
	return append(appendAmount(to, `,"target_pct":`, i.TargetPercent), '}')
}

func appendIf(to []byte, name, text string) []byte {
	if text == "" {
		return to
	}
	return appendText(append(to, name...), text)
}

// appendText writes a text. A name that a script gives may have characters that need an escape.
func appendText(to []byte, text string) []byte {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(text) // a text always has a form
			return append(to, escaped...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}

func appendAmount(to []byte, name string, d decimal.Decimal) []byte {
	if d.IsZero() {
		return to
	}
	return append(append(append(append(to, name...), '"'), d.String()...), '"')
}
