package console

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// prefs is how the owner wants pages to look, kept in a cookie of the browser.
type prefs struct {
	Theme   string // dark, light or "" for the system's
	Marks   string // blue for blue and orange, "" for green and red
	Numbers string // en 1,234.50, de 1.234,50 or fr 1 234,50
	Zone    string // UTC, or a name such as Europe/Berlin
	Keys    string // off, or "" for on
}

const prefsCookie = "candela_view"

// choices lists the values that each preference may have, the first by default.
func choices() map[string][]string {
	return map[string][]string{
		"theme": {"", "dark", "light"}, "marks": {"", "blue"}, "numbers": {"en", "de", "fr"}, "keys": {"", "off"},
	}
}

// readPrefs reads the cookie. Values that are not allowed are ignored: anyone who can set a
// cookie could write them.
func readPrefs(r *http.Request) prefs {
	p := prefs{Numbers: "en", Zone: "UTC"}
	c, err := r.Cookie(prefsCookie)
	if err != nil {
		return p
	}
	for part := range strings.SplitSeq(c.Value, "&") {
		name, value, _ := strings.Cut(part, "=")
		p.set(name, value)
	}
	return p
}

// set changes one preference. A value that is not allowed changes nothing.
func (p *prefs) set(name, value string) {
	if name == "zone" {
		if validZone(value) {
			p.Zone = value
		}
		return
	}
	if !slices.Contains(choices()[name], value) {
		return
	}
	switch name {
	case "theme":
		p.Theme = value
	case "marks":
		p.Marks = value
	case "numbers":
		p.Numbers = value
	case "keys":
		p.Keys = value
	}
}

func validZone(name string) bool {
	if len(name) > 64 || name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// cookie returns the preferences for the browser to keep. Scripts may read it, as it holds no
// secret.
func (p prefs) cookie(secure bool) *http.Cookie {
	value := "theme=" + p.Theme + "&marks=" + p.Marks + "&numbers=" + p.Numbers + "&zone=" + p.Zone + "&keys=" + p.Keys
	return &http.Cookie{ //nolint:gosec // G124: it holds no secret, and Secure follows the base URL
		Name: prefsCookie, Value: value, Path: Root, MaxAge: 365 * 24 * 3600, Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// themeAct changes how pages look: a form on every page and in the settings.
func themeAct() act {
	return act{path: "/look", asks: withoutAsking, safe: true, do: func(c *Console, v *visit) (done, error) {
		p := v.prefs
		for _, name := range []string{"theme", "marks", "numbers", "zone", "keys"} {
			if values, given := v.r.PostForm[name]; given { //nolint:forbidigo // the field of a form, not the function
				p.set(name, values[0])
			}
		}
		http.SetCookie(v.w, p.cookie(c.cfg.Owner.Secure()))
		return done{To: strings.TrimPrefix(safeBack(v.r.PostFormValue("to")), Root)}, nil
	}}
}
