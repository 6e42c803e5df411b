package console

import (
	"strings"

	"candela/internal/trading/guard"
	"candela/lib/fault"
)

// maxReason bounds what the owner writes about a halt or a refusal.
const maxReason = 200

// haltActs stop and resume trading. Stopping is easy, resuming asks for the passphrase.
func haltActs() []act {
	return []act{
		{path: "/halt", asks: confirmOnly, form: haltForm, do: (*Console).halt, safe: true},
		{path: "/resume", asks: passphrase, form: resumeForm, do: (*Console).resume},
	}
}

func haltForm(c *Console, v *visit) (form, error) {
	s := c.state(v.ctx())
	if !s.Trading {
		return form{}, errNoTrading
	}
	f := form{
		Title: "Halt trading?", Lead: "From this moment no order passes, from any client.", Submit: "Halt now", Keep: "Keep trading", Danger: true, Back: "/",
		Points: []point{
			{"x", "Open orders", "are cancelled at the venue, except those that protect a position. Orders that need approval are denied."},
			{"pause", "Positions", "stay as they are."},
			{"bell", "", "Alerts and charts go on."},
		},
		Fields: []field{{Name: "reason", Label: "Reason, for the audit log", Hint: "optional"}},
	}
	if s.Known {
		f.Points[0].Strong = plural(s.Working(), "open order")
	}
	return f, nil
}

func (c *Console) halt(v *visit) (done, error) {
	if c.cfg.Account == nil {
		return done{}, errNoTrading
	}
	if _, err := c.cfg.Account.Halt(v.ctx(), byConsole, reason(v)); err != nil {
		return done{}, err
	}
	c.cfg.Log.WarnContext(v.ctx(), "[Console] trading halted", "session", v.session.ID)
	return done{Notice: "Halted. Open orders are being cancelled.", To: back(v)}, nil
}

func resumeForm(c *Console, v *visit) (form, error) {
	s := c.state(v.ctx())
	if !s.Trading {
		return form{}, errNoTrading
	}
	f := form{
		Title: "Resume trading?", Lead: "Orders pass again within your policy. Nothing that was cancelled comes back. Resuming accepts the positions that the venue reports.",
		Submit: "Resume", Keep: "Stay halted", Back: "/",
	}
	if s.Why != "" {
		f.Points = []point{{"warn", "", s.Why}}
	}
	return f, nil
}

func (c *Console) resume(v *visit) (done, error) {
	if c.cfg.Account == nil {
		return done{}, errNoTrading
	}
	after, err := c.cfg.Account.Resume(v.ctx(), byConsole)
	if err != nil {
		return done{}, err
	}
	notice := "Trading is active."
	if after.Level() == guard.Halted {
		return done{Notice: "Trading is still halted: " + after.Explain(), To: back(v)}, nil
	}
	c.cfg.Log.WarnContext(v.ctx(), "[Console] trading resumed", "session", v.session.ID)
	if why := after.Explain(); why != "" {
		notice = "Resumed. Still in force: " + why
	}
	return done{Notice: notice, To: back(v)}, nil
}

// reason returns what the owner wrote, without characters that change how it is read.
func reason(v *visit) string { return fault.Clean(v.r.PostFormValue("reason"), maxReason) }

// back returns the page that the form was on.
func back(v *visit) string { return strings.TrimPrefix(safeBack(v.r.PostFormValue("to")), Root) }
