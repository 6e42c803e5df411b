package console

import (
	"net/http"
	"net/url"
	"strings"

	"candela/internal/access/door"
)

// loginPath returns the address of the login that leads back to a page.
func loginPath(back string) string { return Root + "/login?to=" + url.QueryEscape(back) }

// safeBack returns where to go after the login: a path of the console, never another site.
func safeBack(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.Contains(to, `\`) ||
		!strings.HasPrefix(u.Path, Root+"/") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "..") || strings.HasPrefix(u.Path, Root+"/login") || strings.HasPrefix(u.Path, Root+"/events") {
		return Root + "/"
	}
	return u.RequestURI()
}

// showLogin shows the login form.
func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	if _, err := c.cfg.Owner.Of(r); err == nil {
		http.Redirect(w, r, safeBack(r.URL.Query().Get("to")), http.StatusSeeOther) //nolint:gosec // G710: safeBack returns paths of the console alone
		return
	}
	c.loginForm(w, r, http.StatusOK, r.URL.Query().Get("to"), "")
}

func (c *Console) loginForm(w http.ResponseWriter, r *http.Request, status int, to, mistake string) {
	f := c.frameOf(r)
	c.render(w, status, "login", map[string]any{
		"Token": c.cfg.Owner.LoginToken(w, r), "To": safeBack(to), "Mistake": mistake, "Base": c.cfg.BaseURL, "Prefs": readPrefs(r),
		"Mode": f.Mode,
	})
}

// login starts a session.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	if !door.SameOrigin(c.base, r) {
		refuse(w, "The form was sent by another site. You are not logged in.")
		return
	}
	if !door.ReadForm(w, r, maxForm) {
		return
	}
	to := r.PostFormValue("to")
	if !c.cfg.Owner.ValidatesLogin(r, r.PostFormValue("token")) {
		c.loginForm(w, r, http.StatusForbidden, to, "The form had expired, or your browser does not keep cookies. Enter the passphrase again.")
		return
	}
	s, err := c.cfg.Owner.Login(w, r, r.PostFormValue("passphrase"))
	if err != nil {
		c.loginForm(w, r, statusOf(err), to, c.public(r.Context(), err))
		return
	}
	c.cfg.Log.InfoContext(r.Context(), "[Console] owner logged in", "session", s.ID)
	http.Redirect(w, r, safeBack(to), http.StatusSeeOther)
}

// logoutAct ends the session of this browser.
func logoutAct() act {
	return act{path: "/logout", asks: withoutAsking, safe: true, do: func(c *Console, v *visit) (done, error) {
		return done{To: "/login"}, c.cfg.Owner.Logout(v.w, v.r, v.session)
	}}
}
