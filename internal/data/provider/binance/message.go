package binance

import (
	"errors"
	"fmt"
	"math"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// message is anything that comes over a stream.
type message struct {
	stream   string // the name of the stream it belongs to
	event    string // kline, serverShutdown; empty for an answer to us
	at       time.Time
	kline    kline
	mark     float64 // of a markPriceUpdate
	isAnswer bool
	refused  string // what the venue has against a request of ours
}

type kline struct {
	bar      market.Bar
	interval string
	closed   bool
	fields   int
}

// klineFields is how many fields of a kline must be there.
const klineFields = 10

// parseMessage reads a message of the combined stream. Every key is distinguished by
// case: t and T, v and V mean different things.
func parseMessage(data []byte) (message, error) {
	var m message
	j := strictjson.NewReader(data)
	j.Object(func(key []byte) {
		switch string(key) {
		case "stream":
			m.stream = j.Text()
		case "data":
			j.Object(func(key []byte) { parseEvent(j, key, &m) })
		case "result":
			m.isAnswer = true
		case "id": // answers come in the order of the questions
		case "code", "msg", "error":
			m.isAnswer = true
			m.refused += string(key) + " " + string(j.Raw()) + " "
		default:
			parseEvent(j, key, &m)
		}
	})
	if err := j.End(); err != nil {
		return m, err
	}
	return m, m.check()
}

// parseEvent reads one field of an event.
func parseEvent(j *strictjson.Reader, key []byte, m *message) {
	switch string(key) {
	case "e":
		m.event = j.Text()
	case "E":
		m.at = time.UnixMilli(j.Int()).UTC()
	case "k":
		j.Object(func(key []byte) { parseKline(j, key, &m.kline) })
	case "p":
		if m.event == "markPriceUpdate" {
			m.mark = j.Quoted()
		}
	}
}

func parseKline(j *strictjson.Reader, key []byte, k *kline) {
	k.fields++
	switch string(key) {
	case "t":
		k.bar.T = seconds(j, j.Int())
	case "o":
		k.bar.O = j.Quoted()
	case "h":
		k.bar.H = j.Quoted()
	case "l":
		k.bar.L = j.Quoted()
	case "c":
		k.bar.C = j.Quoted()
	case "v":
		k.bar.V = j.Quoted()
	case "V":
		k.bar.TakerBuy = j.Quoted()
	case "x":
		k.closed = j.Bool()
	case "i":
		k.interval = j.Text()
	case "T":
		if ms := j.Int(); ms%1000 != 999 {
			j.Failf("close time %d is not the last millisecond of a bar", ms)
		}
	default:
		k.fields-- // not one of ours
	}
}

// check returns what a message lacks to be used.
func (m *message) check() error {
	switch {
	case m.refused != "":
		return fmt.Errorf("the venue refused a request: %s", m.refused)
	case m.isAnswer || m.event == "serverShutdown":
		return nil
	case m.event == "markPriceUpdate" && (m.stream == "" || m.at.IsZero() || !(m.mark > 0) || math.IsInf(m.mark, 0)):
		return errors.New("a mark price without a stream, a time or a price above 0")
	case m.event != "kline":
		return nil // events that nobody asked for are the venue's business
	case m.stream == "":
		return errors.New("a kline of no stream")
	case m.kline.fields != klineFields:
		return fmt.Errorf("a kline with %d of the %d fields", m.kline.fields, klineFields)
	case m.at.IsZero():
		return errors.New("a kline without a time")
	}
	return m.kline.bar.Check()
}
