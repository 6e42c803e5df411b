package httpd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/chart"
	"candela/lib/market"
)

// pushed is a whole server over a log of notifications that the test appends to.
type pushed struct {
	*scene
	log    *local.Inbox
	seq    uint64
	tokens *httpdtest.Revocable
}

func pushing(t *testing.T, body func(p *pushed)) {
	t.Helper()
	tokens := httpdtest.One()
	tokens["other"] = principal.Caller{Subject: "owner", Key: "key-of-other", Scope: principal.Trade}
	pushingTo(t, tokens, body)
}

// pushingTo is pushing with other tokens.
func pushingTo(t *testing.T, tokens httpdtest.Tokens, body func(p *pushed)) {
	t.Helper()
	p := &pushed{tokens: httpdtest.NewRevocable(tokens)}
	tools := func(t *testing.T) mcp.ToolSet {
		t.Helper()
		var err error
		if p.log, err = local.Open(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		parts := (&tooltest.Trading{}).Parts()
		parts.Notifications, parts.Subscriptions = p.log, p.log
		registry, err := tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return registry
	}
	servingOver(t, tools, p.tokens, func(c *httpd.Config) { c.Streams = p.log }, func(s *scene) {
		p.scene = s
		body(p)
	})
}

// fire appends n entries on a symbol, each its own commit.
func (p *pushed) fire(symbol string, n int) {
	p.t.Helper()
	parsed, err := market.ParseSymbol(symbol)
	if err != nil {
		p.t.Fatal(err)
	}
	for range n {
		p.seq++
		p.log.Append([]notify.Entry{{
			Seq: p.seq, Owner: "owner", Symbol: parsed, Type: "price_above", At: time.Now(), Data: fmt.Appendf(nil, `{"alert_id":"a-%d"}`, p.seq),
		}})
	}
}

// listen opens a stream. Last-Event-ID is left out when it is empty.
func (p *pushed) listen(token, last string) (*bufio.Reader, net.Conn) {
	p.t.Helper()
	conn := p.p.dial(p.t)
	resume := ""
	if last != "" {
		resume = "Last-Event-ID: " + last + "\n"
	}
	send(p.t, conn, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\n%s\n", token, resume)
	stream := readHead(p.t, conn).body
	if frame := readFrame(p.t, stream); frame != ": connected\n" {
		p.t.Fatalf("began with %q", frame)
	}
	return stream, conn
}

// event reads the next frame, which must carry the entry with the seq.
func (p *pushed) event(stream *bufio.Reader, seq uint64) {
	p.t.Helper()
	want := fmt.Sprintf("event: message\nid: %d\ndata: "+`{"jsonrpc":"2.0","method":"notifications/alert_triggered","params":{"alert_id":"a-%d"}}`+"\n", seq, seq)
	if frame := readFrame(p.t, stream); frame != want {
		p.t.Fatalf("frame %q, want %q", frame, want)
	}
}

// call runs a tool and returns the text of its result.
func (p *pushed) call(token, name, arguments string) string {
	p.t.Helper()
	conn := p.p.dial(p.t)
	defer func() { _ = conn.Close() }()
	p.ask(conn, token, name, arguments)
	return p.result(conn)
}

func (p *pushed) ask(conn net.Conn, token, name, arguments string) {
	p.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	send(p.t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\nContent-Length: %d\n\n%s", token, len(body), body)
}

func (p *pushed) result(conn net.Conn) string {
	p.t.Helper()
	data, err := io.ReadAll(readHead(p.t, conn).body)
	if err != nil {
		p.t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		p.t.Fatalf("%v: %s", err, data)
	}
	return answer.Result.Content[0].Text
}

func (p *pushed) expect(got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Fatalf("answered %s, want %s", got, want)
	}
}

// TestPush_ExampleFlow is the interface's own: subscribe, an alert fires, the
// notification arrives; away, 1,500 fire, back: the newest 1,000 arrive in order.
func TestPush_ExampleFlow(t *testing.T) {
	t.Parallel()
	pushing(t, func(p *pushed) {
		stream, conn := p.listen("good", "")
		p.fire("binance:BTCUSDT", 1) // nobody has subscribed
		p.expect(p.call("good", "list_subscriptions", `{}`), `{"subscribed":false}`)
		p.expect(p.call("good", "subscribe_notifications", `{"symbols":["btcusdt"],"alert_types":["price_above"]}`),
			`{"status":"subscribed","symbols":["BTCUSDT"],"alert_types":["price_above"]}`)
		p.fire("AAPL", 1)
		p.fire("binance:BTCUSDT", 1)
		p.event(stream, 3)
		synctest.Wait()
		p.expect(p.call("good", "list_subscriptions", `{}`),
			`{"subscribed":true,"symbols":["BTCUSDT"],"alert_types":["price_above"],"offline_queue_size":0,"connected":true}`)
		p.expect(p.call("other", "list_subscriptions", `{}`), `{"subscribed":false}`)

		_ = conn.Close()
		synctest.Wait()
		p.fire("kraken:BTCUSDT", 1500)
		p.expect(p.call("good", "list_subscriptions", `{}`),
			`{"subscribed":true,"symbols":["BTCUSDT"],"alert_types":["price_above"],"offline_queue_size":1000,"connected":false}`)
		stream, conn = p.listen("good", "")
		for seq := range uint64(1000) {
			p.event(stream, 504+seq)
		}
		p.fire("kraken:BTCUSDT", 1)
		p.event(stream, 1504)
		p.expect(p.call("good", "unsubscribe_notifications", `{}`), `{"status":"unsubscribed"}`)
		p.fire("kraken:BTCUSDT", 1)
		if frame := readFrame(p.t, stream); frame != ": keep-alive\n" {
			p.t.Fatalf("%q came without a subscription", frame)
		}
		polled := 0
		for range 4 { // an answer has at most 500
			polled += strings.Count(p.call("other", "get_notifications", `{}`), "alert_id")
		}
		if polled != 1505 {
			p.t.Fatalf("the polling queue had %d, want all that fired", polled)
		}
		p.expect(p.call("good", "get_notifications", `{}`), `[]`)
		_ = conn.Close()
	})
}

func TestPush_ResumesWithoutGapOrRepetition(t *testing.T) {
	t.Parallel()
	pushing(t, func(p *pushed) {
		p.call("good", "subscribe_notifications", `{}`)
		p.fire("AAPL", 5)
		stream, conn := p.listen("good", "")
		for seq := range uint64(3) {
			p.event(stream, 1+seq) // the other two are on their way when the connection breaks
		}
		_ = conn.Close()
		synctest.Wait()
		p.fire("AAPL", 1)
		stream, conn = p.listen("good", "3")
		for seq := range uint64(3) {
			p.event(stream, 4+seq)
		}
		_ = conn.Close()
	})
}

// A reader that is stuck is cut off after the write's timeout, and misses nothing
// when it comes back; the others never notice.
func TestPush_StuckReaderIsCutOffAndMissesNothing(t *testing.T) {
	t.Parallel()
	pushing(t, func(p *pushed) {
		for _, token := range []string{"good", "other"} {
			p.call(token, "subscribe_notifications", `{}`)
		}
		stuck, conn := p.listen("good", "")
		well, other := p.listen("other", "")
		began := time.Now()
		for seq := range uint64(200) {
			p.fire("AAPL", 1)
			p.event(well, 1+seq)
		}
		if time.Since(began) != 0 {
			p.t.Fatalf("the reader that is stuck held the other up for %s", time.Since(began))
		}
		if got, _ := p.log.Subscription(p.t.Context(), principal.Caller{Subject: "owner", Key: "key-of-good"}); got.Queued != 200 || !got.Connected {
			p.t.Fatalf("%+v", got)
		}
		time.Sleep(61 * time.Second)
		for range 4 {
			readFrame(p.t, well) // keep-alives
		}
		if got, _ := p.log.Subscription(p.t.Context(), principal.Caller{Subject: "owner", Key: "key-of-good"}); got.Connected {
			p.t.Fatal("it still holds its stream")
		}
		_, _ = stuck, conn.Close()
		back, conn := p.listen("good", "")
		for seq := range uint64(200) {
			p.event(back, 1+seq)
		}
		_, _ = conn.Close(), other.Close()
	})
}

func TestPush_SecondStreamGoesOnForTheFirst(t *testing.T) {
	t.Parallel()
	pushing(t, func(p *pushed) {
		p.call("good", "subscribe_notifications", `{}`)
		first, conn1 := p.listen("good", "")
		p.fire("AAPL", 1)
		p.event(first, 1)
		synctest.Wait()
		second, conn2 := p.listen("good", "")
		if rest, err := io.ReadAll(first); err != nil || len(rest) > 0 {
			p.t.Fatalf("the first stream gave %q, %v", rest, err)
		}
		p.fire("AAPL", 1)
		p.event(second, 2)
		_, _ = conn1.Close(), conn2.Close()
	})
}

func TestPoll_WaitsAndGivesEachOnce(t *testing.T) {
	t.Parallel()
	pushing(t, func(p *pushed) {
		began := time.Now()
		time.AfterFunc(100*time.Second, func() { p.fire("AAPL", 2) })
		p.expect(p.call("good", "get_notifications", `{"wait_seconds":240}`), `[{"alert_id":"a-1"},{"alert_id":"a-2"}]`)
		if took := time.Since(began); took != 100*time.Second {
			p.t.Fatalf("after %s", took)
		}
		p.expect(p.call("good", "get_notifications", `{"wait_seconds":5}`), `[]`)
	})
}

// A call that waits when the owner throws its client out brings nothing more, and
// takes nothing from the others.
func TestPoll_RevokedTokenGetsNothingMore(t *testing.T) {
	t.Parallel()
	pushing(t, func(p *pushed) {
		conn := p.p.dial(p.t)
		p.ask(conn, "good", "get_notifications", `{"wait_seconds":240}`)
		synctest.Wait()
		p.tokens.Revoke("good")
		p.fire("AAPL", 1)
		answer := readHead(p.t, conn)
		if body, _ := io.ReadAll(answer.body); answer.status != http.StatusUnauthorized || strings.Contains(string(body), "a-1") {
			p.t.Fatalf("%d %s", answer.status, body)
		}
		_ = conn.Close()
		p.expect(p.call("other", "get_notifications", `{}`), `[{"alert_id":"a-1"}]`)
	})
}

// The next client gets the notifications that one that left did not. Each leave returns what
// the client got before.
func TestPoll_AnswerThatIsLostGoesBack(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(p *pushed, conn net.Conn) string{
		"left while waiting": func(p *pushed, conn net.Conn) string {
			_ = conn.Close()
			synctest.Wait()
			p.fire("AAPL", 1)
			return ""
		},
		"left instead of reading": func(p *pushed, conn net.Conn) string {
			p.fire("AAPL", 1)
			synctest.Wait()
			_ = conn.Close()
			return ""
		},
		"cancelled in the same moment": func(p *pushed, conn net.Conn) string {
			other := p.p.dial(p.t)
			sendPost(p.t, other, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			p.fire("AAPL", 1)
			got, _ := io.ReadAll(readHead(p.t, conn).body)
			readHead(p.t, other)
			_, _ = conn.Close(), other.Close()
			return string(got)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pushing(t, func(p *pushed) {
				conn := p.p.dial(p.t)
				p.ask(conn, "good", "get_notifications", `{"wait_seconds":240}`)
				synctest.Wait()
				got := leave(p, conn)
				synctest.Wait()
				if strings.Contains(got, "a-1") {
					p.expect(p.call("other", "get_notifications", `{}`), `[]`)
				} else {
					p.expect(p.call("other", "get_notifications", `{}`), `[{"alert_id":"a-1"}]`)
				}
			})
		})
	}
}

// TestStream_EndsWhenAnotherServerHasIt is for a token whose stream was opened at a
// server beside this one.
func TestStream_EndsWhenAnotherServerHasIt(t *testing.T) {
	t.Parallel()
	streams := &later{}
	serving(t, httpdtest.One(), func(c *httpd.Config) { c.Streams = streams }, func(s *scene) {
		t := s.t
		source := mcptest.NewSource()
		streams.Streams = source
		conn := s.p.dial(t)
		send(t, conn, openStream)
		stream := readHead(t, conn).body
		readFrame(t, stream)
		source.TakeOver("")
		if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
			t.Fatalf("the stream gave %q, %v", rest, err)
		}
		_ = conn.Close()
	})
}
