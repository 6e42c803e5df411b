package webhook

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"

	"candela/internal/alerting/sink"
	"candela/lib/pattern"
)

const (
	// maxDiscord bounds the content of a Discord message in characters.
	maxDiscord = 2000
	// maxSlack bounds the text of a Slack message, which Slack cuts at 40,000 characters.
	maxSlack = 12_000

	suppressEmbeds = 1 << 2 // of a Discord message: no preview, so nobody fetches the link
)

// discord is a message of a Discord webhook.
type discord struct {
	Content  string   `json:"content"`
	Mentions mentions `json:"allowed_mentions"`
	Flags    int      `json:"flags"`
}

// mentions lists what a message may mention: nothing, whatever a note says.
type mentions struct {
	Parse []string `json:"parse"`
}

func discordMessage(m sink.Message) discord {
	link := ""
	if m.Notice != nil && m.Notice.Link != "" {
		link = "\n" + m.Notice.Link
	}
	content := "**" + escaped(m.Title(), maxDiscord/2, markdown) + "**\n"
	content += escaped(m.Text(), maxDiscord-units(content)-units(link), markdown) + link
	return discord{Content: content, Mentions: mentions{Parse: []string{}}, Flags: suppressEmbeds}
}

// slack is a message of a Slack webhook.
type slack struct {
	Text        string `json:"text"`
	UnfurlLinks bool   `json:"unfurl_links"` // false: Slack does not fetch the link
	UnfurlMedia bool   `json:"unfurl_media"`
}

func slackMessage(m sink.Message) slack {
	link := ""
	if m.Notice != nil && m.Notice.Link != "" {
		link = "\n<" + escaped(m.Notice.Link, maxSlack, mrkdwn) + "|Open candela>"
	}
	text := "*" + escaped(m.Title(), maxSlack/2, mrkdwn) + "*\n"
	return slack{Text: text + escaped(m.Text(), maxSlack-units(text)-units(link), mrkdwn) + link}
}

// escaped returns text with every character escaped, cut to a number of UTF-16 units: the
// venues count at most these.
func escaped(text string, most int, escape func(rune) string) string {
	const more = "..."
	var b strings.Builder
	length, cut := 0, 0 // cut is where more still fits
	for _, r := range strings.ToValidUTF8(text, "?") {
		one := escape(r)
		if length+units(one) > most {
			return b.String()[:cut] + more
		}
		b.WriteString(one)
		if length += units(one); length <= most-len(more) {
			cut = b.Len()
		}
	}
	return b.String()
}

func units(text string) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// markdown escapes a character of Discord's Markdown.
func markdown(r rune) string {
	if strings.ContainsRune("\\*_~`|>#[]()<-", r) {
		return "\\" + string(r)
	}
	return string(r)
}

// mrkdwn escapes the three control characters of Slack.
func mrkdwn(r rune) string {
	switch r {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	}
	return string(r)
}

// discordAnswer adds the delay that Discord puts into the body, in seconds, and what it
// calls a webhook that does not exist any more.
func discordAnswer(r sink.Reply) sink.Answer {
	a := r.Answer()
	var body struct {
		Code       int     `json:"code"`
		RetryAfter float64 `json:"retry_after"`
	}
	if a.Outcome == sink.Delivered || json.Unmarshal(r.Body, &body) != nil {
		return a
	}
	if r.Status == http.StatusTooManyRequests && body.RetryAfter > 0 {
		a.Wait = max(a.Wait, sink.Bounded(time.Duration(math.Ceil(min(body.RetryAfter, 1e6)*1000))*time.Millisecond))
	}
	if body.Code == 10015 {
		a.Text += ": Discord does not know this webhook; create a new one and change --" + urlSetting
	}
	return a
}

// slackError matches the words in which Slack describes a failure.
var slackError = pattern.Of(`^[a-z_]{1,60}$`)

// slackAnswer adds the word in which Slack describes a failure.
func slackAnswer(r sink.Reply) sink.Answer {
	a := r.Answer()
	if word := strings.TrimSpace(string(r.Body)); a.Outcome == sink.Refused && slackError().MatchString(word) {
		a.Text += ": " + word
	}
	return a
}
