package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/loopback"
	"candela/internal/operate/doctor"
	"candela/internal/store/statedir"
)

// home looks at the state directory, and at who has it.
func (x *examination) home() {
	const check = "state directory"
	path := x.Config.Home
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.say(newHome(path))
		return
	case err != nil:
		x.say(doctor.Wrong(check, "let the user that runs candela enter it, or choose another --home", "%s", err))
		return
	case !info.IsDir():
		x.say(doctor.Wrong(check, "move it away, or choose another --home", "%s is not a directory", path))
		return
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		x.say(doctor.Wrong(check, "chmod 700 "+path, "%s is open to other users (%v)", path, info.Mode()))
		return
	}
	if fix, what := unwritable(path, info); what != "" {
		x.say(doctor.Wrong(check, fix, "%s", what))
		return
	}
	x.say(doctor.Fine(check, "%s is writable, and for its owner alone", path))
	if free, err := freeBytes(path); err == nil {
		x.say(room(path, free))
	}
	x.lock()
}

// What the store needs to go on: a backup needs as much again as it has.
const (
	leastRoom = 16 << 20
	scantRoom = 256 << 20
)

// room judges how much can still be written beside the store.
func room(path string, free uint64) doctor.Finding {
	const (
		check = "disk"
		fix   = "make room on the disk of the state directory, or move it with --home: without room no alert fires and no order is sent"
	)
	switch {
	case free < leastRoom:
		return doctor.Wrong(check, fix, "%d KB are free in %s", free>>10, path)
	case free < scantRoom:
		return doctor.Doubtful(check, fix, "%d MB are free in %s", free>>20, path)
	}
	return doctor.Fine(check, "%d MB are free", free>>20)
}

// newHome judges a state directory that is not there yet.
func newHome(path string) doctor.Finding {
	const check = "state directory"
	parent := filepath.Dir(path)
	for {
		info, err := os.Stat(parent)
		if err == nil && info.IsDir() {
			if fix, what := unwritable(parent, info); what != "" {
				return doctor.Wrong(check, fix, "%s is not there and cannot be made: %s", path, what)
			}
			return doctor.Fine(check, "%s is not there; the first start makes it", path)
		}
		next := filepath.Dir(parent)
		if next == parent || err == nil {
			return doctor.Wrong(check, "choose another --home", "%s cannot be made: %s is not a directory", path, parent)
		}
		parent = next
	}
}

// unwritable says why nothing can be made in a directory, and what to do; both are
// "" when something can. Nothing is made to find out.
func unwritable(path string, info fs.FileInfo) (fix, what string) {
	const other = "chmod 700 %[1]s, chown it to the user that runs candela, or choose another --home"
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o200 == 0 {
		return fmt.Sprintf(other, path), fmt.Sprintf("%s is read-only (%v)", path, info.Mode().Perm())
	}
	err := mayWrite(path)
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf(other, path), "this user may not write in " + path
	}
	return "mount it for writing: ReadWritePaths= or StateDirectory= of a systemd unit, a volume of a container; or choose another --home",
		fmt.Sprintf("%s cannot be written: %s", path, err)
}

// lock looks at who runs there.
func (x *examination) lock() {
	const check = "lock"
	held, err := statedir.Holder(x.Config.Home)
	switch {
	case err != nil:
		x.say(doctor.Wrong(check, "chown the files in "+x.Config.Home+" to the user that runs candela", "%s", err))
	case held == "":
		x.say(doctor.Fine(check, "no candela runs in this state directory"))
	case x.running:
		x.say(doctor.Fine(check, "the server that runs has it"))
	case held == statedir.EngineLock:
		x.say(doctor.Doubtful(check, "stop the program that has it before starting another with --trade, or give that one its own --home",
			"a program that trades, such as candela --mcp --trade in a client, runs in %s", x.Config.Home))
	default:
		x.say(doctor.Doubtful(check, "stop that process; its log says why it does not answer", "a server holds %s and does not answer on its control socket", held))
	}
}

// passphrase looks at how the owner proves to be the owner.
func (x *examination) passphrase() {
	const (
		check = "passphrase"
		fix   = "candela auth hash-password > FILE, chmod 600 FILE, and --owner-password-file FILE"
	)
	cfg := x.Config
	base, err := url.Parse(cfg.HTTP.BaseURL)
	local := err == nil && loopback.Host(strings.ToLower(base.Hostname()))
	switch given := cfg.OAuth.OwnerPassword; {
	case cfg.OAuth.AutoApprove:
		x.say(doctor.Doubtful(check, "leave --oauth-auto-approve out except to try things", "every client on this machine is let in without one"))
	case given.IsZero() && local:
		x.say(doctor.Doubtful(check, fix, "none is set: every start makes one up and prints it"))
	case given.IsZero():
		x.say(doctor.Wrong(check, fix, "none is set, and %s is for others to reach: every start makes one up, and only its log shows it", cfg.HTTP.BaseURL))
	default:
		if _, err := oauth.NewOwner(given.Reveal(), oauth.Cost{Memory: 8, Passes: 1, Threads: 1}); err != nil {
			x.say(doctor.Wrong(check, fix, "it cannot be used: %s", err))
			return
		}
		x.say(doctor.Fine(check, "it is set"))
	}
}

// port looks at an address to listen on. One that is free is taken for a moment.
func (x *examination) port(ctx context.Context, check string, address netip.AddrPort, flag string) {
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", address.String())
	if err == nil {
		_ = ln.Close() // nobody has connected
		if x.running {
			x.say(doctor.Wrong(check, "give candela doctor the settings that the server was started with", "a server runs in %s and does not listen on %s", x.Config.Home, address))
			return
		}
		x.say(doctor.Fine(check, "%s is free", address))
		return
	}
	switch {
	case x.running && x.isCandela(ctx, address, check):
		x.say(doctor.Fine(check, "candela listens on %s", address))
	case errors.Is(err, fs.ErrPermission):
		x.say(doctor.Wrong(check, "choose a port of 1024 or more and let the proxy have the small ones", "this user may not listen on %s", address))
	case addressInUse(err):
		x.say(doctor.Wrong(check, fmt.Sprintf("stop the program that has it (ss -ltnp, lsof -i :%d or netstat -abno shows which), or choose another %s", address.Port(), flag), "%s is taken by another program", address))
	default:
		x.say(doctor.Wrong(check, "choose an address of this machine", "%s cannot be listened on: %s", address, err))
	}
}

// dialable is where a listener is reached from this machine: one on every address
// is reached on the loopback.
func dialable(a netip.AddrPort) netip.AddrPort {
	switch {
	case !a.Addr().IsUnspecified():
		return a
	case a.Addr().Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), a.Port())
}

// isCandela asks whether what listens on an address is candela.
func (x *examination) isCandela(ctx context.Context, address netip.AddrPort, check string) bool {
	path := "/"
	if check != "port" {
		path = "/healthz"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+dialable(address).String()+path, nil)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	if check != "port" {
		return err == nil && resp.StatusCode == http.StatusOK
	}
	var who struct {
		Name string `json:"name"`
	}
	// A loopback server that has another base URL may not tell.
	return json.Unmarshal(body, &who) == nil && (who.Name == "candela" || resp.StatusCode == http.StatusForbidden)
}
