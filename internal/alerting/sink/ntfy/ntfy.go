// Package ntfy is the sink that sends a line of text to a topic of an ntfy server, or to
// anything that accepts a plain POST. It is called by package app through its Descriptor.
package ntfy

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"candela/internal/alerting/sink"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/pattern"
)

// The settings.
const (
	urlSetting   = "ntfy-url"
	tokenSetting = "ntfy-token"
	fileSetting  = "ntfy-token-file"
)

// Descriptor declares the sink.
func Descriptor() sink.Descriptor {
	return sink.Descriptor{
		Part: setting.Part{
			Name: "ntfy", Title: "ntfy", EnabledBy: urlSetting,
			Secrets: []setting.FileSecret{{Name: tokenSetting, File: fileSetting}},
			Settings: []setting.Spec{
				{Name: urlSetting, Arg: "URL", Kind: setting.Endpoint(), Doc: "topic of an ntfy server that gets a line of text for every fired alert"},
				{Name: fileSetting, Arg: "FILE", Kind: setting.Path(), Doc: "file of mode 0600 with the access token of that server, where it wants one"},
				{Name: tokenSetting, Arg: "TEXT", Kind: setting.Secret(), Doc: "the token itself"},
			},
		},
		Open: func(env sink.Env) (sink.Receiver, error) {
			return New(env.Values.URL(urlSetting).Reveal(), env.Values.Secret(tokenSetting), env.AllowPrivate)
		},
	}
}

// Receiver is a topic. It is safe for concurrent use.
type Receiver struct {
	*sink.Client

	token secret.Text
}

// New returns a receiver. token may be empty.
func New(address string, token secret.Text, allowPrivate bool) (*Receiver, error) {
	client, err := sink.NewClient(urlSetting, address, allowPrivate, token)
	if err != nil {
		return nil, err
	}
	return &Receiver{client, token}, nil
}

// Send publishes a message.
func (r *Receiver) Send(ctx context.Context, m sink.Message) sink.Answer {
	return r.Do(ctx, r.request(m)).Answer()
}

// Check connects to the server. Whether the topic accepts messages is known after one.
func (r *Receiver) Check(ctx context.Context) sink.Answer { return r.Connect(ctx) }

func (r *Receiver) request(m sink.Message) sink.Request {
	tags, priority := "test_tube", "default"
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	switch {
	case m.Alert != nil:
		f := sink.ParseFiring(m.Alert)
		tags, priority = look(f)
		header.Set(sink.HeaderSeq, strconv.FormatUint(m.Alert.Seq, 10))
		if sequenceID().MatchString(f.ID) {
			header.Set("X-Sequence-ID", f.ID) // a repetition replaces the first
		}
	case m.Notice != nil:
		tags, priority = "raised_hand", "high"
		if link := m.Notice.Link; link != "" {
			header.Set("Click", link)
			header.Set("Actions", `view, "Open candela", "`+link+`"`)
		}
		if sequenceID().MatchString(m.Notice.ID) {
			header.Set("X-Sequence-ID", m.Notice.ID)
		}
	}
	header.Set("Title", title(m.Title()))
	header.Set("Tags", tags)
	header.Set("Priority", priority)
	if !r.token.IsZero() {
		header.Set("Authorization", "Bearer "+r.token.Reveal())
	}
	return sink.Request{Header: header, Body: []byte(m.Text())}
}

// sequenceID matches the IDs that ntfy accepts. It accepts those of alerts.
var sequenceID = pattern.Of(`^[-_0-9A-Za-z]{1,64}$`)

// title returns a text as the value of a header; ntfy decodes RFC 2047.
func title(text string) string {
	return mime.BEncoding.Encode("utf-8", strings.Join(strings.Fields(text), " "))
}

// look returns the emoji name that ntfy shows and the priority, which is high for a recent
// firing.
func look(f sink.Firing) (tags, priority string) {
	tags, priority = "bell", "high"
	switch f.Condition.Type {
	case "price_above":
		tags = "chart_with_upwards_trend"
	case "price_below":
		tags = "chart_with_downwards_trend"
	}
	if f.Late {
		priority = "default"
	}
	return tags, priority
}
