// Package webhook is the sink that posts JSON to a URL: signed records for a program, or the
// messages of Discord and Slack. It is called by package app through its Descriptor.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/fault"
)

// The settings.
const (
	urlSetting    = "webhook-url"
	formatSetting = "webhook-format"
	secretSetting = "webhook-secret"
	fileSetting   = "webhook-secret-file"
)

// minSecret is how many characters sign: fewer could be guessed by a holder of a
// signed request.
const minSecret = 16

// The formats of a request.
const (
	formatJSON     = "json"
	formatStandard = "standard"
	formatDiscord  = "discord"
	formatSlack    = "slack"
)

// The headers of a signed request, besides sink.HeaderSeq.
const (
	headerEvent     = "Candela-Event"     // alert_triggered, notice, or test
	headerTimestamp = "Candela-Timestamp" // unix seconds at which the request was signed
	headerSignature = "Candela-Signature" // v1= and the signature in hexadecimal digits
)

// Descriptor declares the sink.
func Descriptor() sink.Descriptor {
	signs := func(v setting.Values) bool { return signed(v.Text(formatSetting)) }
	return sink.Descriptor{
		Part: setting.Part{
			Name: "webhook", Title: "webhook", EnabledBy: urlSetting,
			Secrets: []setting.FileSecret{{Name: secretSetting, File: fileSetting, MinLength: minSecret, Purpose: "a secret to sign with", Needed: signs}},
			Settings: []setting.Spec{
				{Name: urlSetting, Arg: "URL", Kind: setting.Endpoint(), Doc: "where every fired alert is sent as signed JSON; https, or http on this machine"},
				{
					Name: formatSetting, Arg: "FORMAT", Default: formatJSON, Kind: setting.Choice(formatJSON, formatStandard, formatDiscord, formatSlack),
					Doc: "json, standard for Standard Webhooks, or discord or slack for a webhook of theirs, which is not signed",
				},
				{Name: fileSetting, Arg: "FILE", Kind: setting.Path(), Doc: "file of mode 0600 with the secret that signs, at least 16 characters"},
				{Name: secretSetting, Arg: "TEXT", Kind: setting.Secret(), Doc: "the secret itself"},
			},
			Check: check,
		},
		Open: func(env sink.Env) (sink.Receiver, error) {
			v := env.Values
			return New(v.URL(urlSetting).Reveal(), v.Text(formatSetting), v.Secret(secretSetting), env.AllowPrivate)
		},
	}
}

// check refuses a secret that nothing would use.
func check(v setting.Values) error {
	format := v.Text(formatSetting)
	if v.Secret(secretSetting).IsZero() && v.Text(fileSetting) == "" || signed(format) {
		return nil
	}
	return &fault.Error{
		Kind: fault.Invalid, Code: "refused", Field: secretSetting,
		Message: "--" + formatSetting + " " + format + " is not signed: remove the secret, or use --" + formatSetting + " json",
	}
}

// signed reports whether the requests of a format are signed.
func signed(format string) bool { return format == formatJSON || format == formatStandard }

// Receiver is a webhook. It is safe for concurrent use.
type Receiver struct {
	*sink.Client

	format string
	key    []byte
	keys   [][]byte // of Standard Webhooks
	gone   atomic.Bool
}

// New returns a receiver. The secret signs the formats json and standard and may be empty in the others.
func New(address, format string, secret secret.Text, allowPrivate bool) (*Receiver, error) {
	client, err := sink.NewClient(urlSetting, address, allowPrivate, each(secret)...)
	if err != nil {
		return nil, err
	}
	r := &Receiver{Client: client, format: format, key: []byte(secret.Reveal())}
	if format == formatStandard {
		if r.keys, err = standardKeys(secret.Reveal()); err != nil {
			client.Close()
			return nil, sink.BadSetting(secretSetting, err)
		}
	}
	return r, nil
}

// each returns the parts of a secret that are separated by spaces: none may stand in a reason.
func each(of secret.Text) (all []secret.Text) {
	for part := range strings.FieldsSeq(of.Reveal()) {
		all = append(all, secret.New(part))
	}
	return all
}

// Send posts a message in the configured format.
func (r *Receiver) Send(ctx context.Context, m sink.Message) sink.Answer {
	switch r.format {
	case formatStandard:
		return r.sendStandard(ctx, m)
	case formatDiscord:
		return discordAnswer(r.Do(ctx, asJSON(discordMessage(m))))
	case formatSlack:
		return slackAnswer(r.Do(ctx, asJSON(slackMessage(m))))
	}
	return r.Do(ctx, r.record(m)).Answer()
}

// Check connects to the server. Whether the receiver accepts messages is known after one.
func (r *Receiver) Check(ctx context.Context) sink.Answer { return r.Connect(ctx) }

// record returns a message for a program: the stored record of an alert, or an object.
func (r *Receiver) record(m sink.Message) sink.Request {
	switch {
	case m.Alert != nil:
		event := "alert_triggered"
		if m.Alert.Kind == notify.Order {
			event = "order_event"
		}
		req := r.sign(event, m.Alert.Data, m.Now)
		req.Header.Set(sink.HeaderSeq, strconv.FormatUint(m.Alert.Seq, 10))
		return req
	case m.Notice != nil:
		return r.sign("notice", noticeData(m.Notice), m.Now)
	}
	return r.sign("test", []byte(testData), m.Now)
}

// testData is the body of a test.
const testData = `{"test":true,"message":"candela notify test: alerts will arrive here"}`

// notice is a notice as JSON. It has no tokens: a program decides nothing.
type notice struct {
	ID    string `json:"notice_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
	Link  string `json:"link,omitempty"`
	Until string `json:"until"`
}

func noticeData(n *sink.Notice) []byte {
	return asJSON(notice{n.ID, n.Title, n.Text, n.Link, n.Until.UTC().Format(time.RFC3339)}).Body
}

// sign returns a JSON request with its signature: HMAC-SHA256 over the timestamp header, a
// full stop and the body. The signed time makes a replayed request detectable.
func (r *Receiver) sign(event string, body []byte, at time.Time) sink.Request {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	signature := "v1=" + hex.EncodeToString(mac.Sum(nil))
	return sink.Request{
		Header: http.Header{"Content-Type": {"application/json"}, headerEvent: {event}, headerTimestamp: {timestamp}, headerSignature: {signature}},
		Body:   body,
	}
}

// asJSON returns an unsigned JSON request.
func asJSON(body any) sink.Request {
	data, err := json.Marshal(body)
	if err != nil {
		panic("webhook: " + err.Error()) // it holds texts alone
	}
	return sink.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: data}
}
