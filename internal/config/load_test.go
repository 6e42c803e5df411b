package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"candela/lib/fault"
)

// load runs Load with a fresh state directory that holds file.
func load(t *testing.T, file string, args, environ []string) (*Config, error) {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(home, FileName), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(Input{Parts: parts(), Args: args, Environ: append([]string{"CANDELA_HOME=" + home}, environ...)})
}

func problems(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *Error", err, err)
	}
	texts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		if fault.KindOf(p) != fault.Invalid {
			t.Errorf("problem %q has kind %v, want invalid", p, fault.KindOf(p))
		}
		texts = append(texts, p.Error())
	}
	return texts
}

func TestLoad_Precedence(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		file      string
		args, env []string
		want      int
	}{
		"default":                    {want: 200},
		"file beats default":         {file: "bars = 10", want: 10},
		"environment beats file":     {file: "bars = 10", env: []string{"CANDELA_BARS=20"}, want: 20},
		"flag beats environment":     {file: "bars = 10", env: []string{"CANDELA_BARS=20"}, args: []string{"--bars", "30"}, want: 30},
		"flag with equals sign":      {args: []string{"--bars=30"}, want: 30},
		"empty variable is not set":  {file: "bars = 10", env: []string{"CANDELA_BARS="}, want: 10},
		"last variable of two wins":  {env: []string{"CANDELA_BARS=20", "CANDELA_BARS=21"}, want: 21},
		"other variables are no use": {env: []string{"BARS=20", "candela_bars=21", "=C:=x"}, want: 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := load(t, tc.file, tc.args, tc.env)
			if err != nil {
				t.Fatal(err)
			}
			if c.Chart.Bars != tc.want {
				t.Errorf("bars = %d, want %d", c.Chart.Bars, tc.want)
			}
		})
	}
}

func TestLoad_Modes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		want Mode
	}{
		"nothing draws one chart":       {nil, ModeChart},
		"mcp":                           {[]string{"--mcp"}, ModeMCP},
		"mcp with trade stays mcp":      {[]string{"--mcp", "--trade"}, ModeMCP},
		"serve":                         {[]string{"--serve"}, ModeServe},
		"trade alone means serve":       {[]string{"--trade"}, ModeServe},
		"a mode can be switched off":    {[]string{"--mcp=0", "--serve=1"}, ModeServe},
		"trade with serve off is serve": {[]string{"--trade", "--mcp=false"}, ModeServe},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := load(t, "", tc.args, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.Mode() != tc.want {
				t.Errorf("mode = %v, want %v", c.Mode(), tc.want)
			}
		})
	}
}

func TestLoad_ReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, "colour = 1\nbars = \"many\"\n[table]\nx = 1\n",
		[]string{"--symbl", "BTC", "--port", "high", "--theme=drak", "--mcp", "--serve", "stray", "-bars", "7", "--width"},
		[]string{"CANDELA_BRAS=3", "CANDELA_LOG_LEVEL=loud"})
	got := problems(t, err)
	wants := []string{
		"unknown flag --symbl; did you mean --symbol?",
		`unexpected argument "stray"`,
		"-bars: write it with two dashes, --bars",
		`unexpected argument "7"`,
		"--width is required",
		"unknown environment variable CANDELA_BRAS; did you mean CANDELA_BARS?",
		`unknown key "colour" in `,
		`unknown key "table" in `,
		"bars: invalid value \"many\"; use an integer, a whole number from 1 to 5000",
		`CANDELA_LOG_LEVEL: invalid value "loud"; use debug, info, warn, error`,
		`--port: invalid value "high"; use a whole number from 1 to 65535`,
		`--theme: invalid value "drak"; use dark, light; did you mean "dark"?`,
		"--mcp (--mcp) and --serve (--serve) exclude each other",
	}
	joined := strings.Join(got, "\n")
	for _, want := range wants {
		if !strings.Contains(joined, want) {
			t.Errorf("no problem says %q", want)
		}
	}
	// --theme belongs to no running mode and is also idle.
	if len(got) != len(wants)+1 {
		t.Errorf("%d problems, want %d:\n%s", len(got), len(wants)+1, joined)
	}
}

// start is a configuration, and what is said of it.
type start struct {
	file      string
	args, env []string
	want      string // in the only problem; "" when the start is allowed
}

// starts are configurations by what they are.
type starts map[string]start

// check loads each, and demands that a refusal is one problem and shows no secret.
func (cases starts) check(t *testing.T) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tc.file, tc.args, tc.env)
			if tc.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			got := problems(t, err)
			if len(got) != 1 || !strings.Contains(got[0], tc.want) || strings.Contains(got[0], "hunter2") {
				t.Errorf("problems are %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLoad_Refusals(t *testing.T) {
	t.Parallel()
	const https = "--base-url=https://candela.example.com"
	cases := map[string]struct {
		file      string
		args, env []string
		want      string // in the only problem; "" when the start is allowed
	}{
		"mcp with serve":                     {args: []string{"--mcp", "--serve"}, want: "exclude each other"},
		"mcp by flag with serve by file":     {file: "serve = true", args: []string{"--mcp"}, want: "candela.toml: serve) exclude each other"},
		"public listener without base URL":   {args: []string{"--serve", "--listen", "0.0.0.0"}, want: "needs --base-url with https"},
		"public listener behind https":       {args: []string{"--serve", "--listen", "0.0.0.0", https}},
		"public listener, loopback base URL": {args: []string{"--serve", "--listen", "::", "--base-url=http://localhost:9315"}, want: "needs --base-url with https"},
		"other modes do not listen":          {args: []string{"--mcp"}, env: []string{"CANDELA_LISTEN=0.0.0.0"}},
		"venue over http off loopback":       {args: []string{"--binance-url=http://gateway.example.com"}, want: "http only for localhost"},
		"venue without a host":               {args: []string{"--kraken-url=https://"}, want: "absolute https URL"},
		"venue with a query":                 {args: []string{"--coinbase-url=https://a.example/?key=1"}, want: "without query"},
		"venue with a user":                  {args: []string{"--coinbase-url=https://me:pw@a.example"}, want: "absolute https URL"},
		"stream by http":                     {args: []string{"--kraken-stream-url=https://a.example"}, want: "absolute wss URL"},
		"venue behind a gateway":             {args: []string{"--binance-url=https://a.example/binance/", "--binance-stream-url=wss://a.example/s", "--binance-futures-url=https://a.example/f"}},
		"venue on this machine":              {args: []string{"--binance-url=http://127.0.0.1:9400", "--kraken-stream-url=ws://localhost:9401"}},
		"half a pair of keys":                {env: []string{"CANDELA_ALPACA_KEY_ID=a"}, want: "belong together"},
		"a pair of keys":                     {env: []string{"CANDELA_ALPACA_KEY_ID=a", "CANDELA_ALPACA_SECRET_KEY=b", "CANDELA_STOCK_VENUE=alpaca"}},
		"two pairs of keys":                  {args: []string{"--alpaca-key-file=x"}, env: []string{"CANDELA_ALPACA_KEY_ID=a", "CANDELA_ALPACA_SECRET_KEY=b"}, want: "remove one"},
		"alpaca without keys":                {args: []string{"--stock-venue=alpaca"}, want: "needs the keys of an account"},
		"a key as a flag":                    {args: []string{"--alpaca-secret-key=b"}, want: "--alpaca-secret-key is no flag"},
		"a feed of no kind":                  {args: []string{"--alpaca-feed=otc"}, want: "iex, sip, delayed_sip"},
		"yahoo off":                          {args: []string{"--yahoo=false"}},
		"yahoo by half":                      {args: []string{"--yahoo=no"}, want: "true, false, 1, 0"},
		"http base URL off loopback":         {args: []string{"--serve", "--base-url=http://candela.example.com"}, want: "http only for localhost"},
		"base URL with trailing slash":       {args: []string{"--serve", https + "/"}},
		"base URL with two of them":          {args: []string{"--serve", https + "//"}, want: "without path"},
		"base URL with path":                 {args: []string{"--serve", https + "/x"}, want: "without path"},
		"relative base URL":                  {args: []string{"--serve", "--base-url=candela.example.com"}, want: "absolute"},
		"base URL in capitals":               {args: []string{"--serve", "--base-url=https://Candela.example.com"}, want: "lower case"},
		"base URL with user":                 {args: []string{"--serve", "--base-url=https://me@candela.example.com"}, want: "absolute https URL"},
		"base URL with empty query":          {args: []string{"--serve", https + "?"}, want: "query"},
		"base URL with port out of range":    {args: []string{"--serve", https + ":70000"}, want: "absolute https URL"},
		"base URL with empty port":           {args: []string{"--serve", https + ":"}, want: "absolute https URL"},
		"base URL by IPv6 loopback":          {args: []string{"--serve", "--base-url=http://[::1]:9315"}},
		"localhost as a suffix":              {args: []string{"--serve", "--base-url=http://localhost.example.com"}, want: "http only for localhost"},
		"auto approve on loopback":           {args: []string{"--serve", "--oauth-auto-approve"}},
		"auto approve, public base URL":      {args: []string{"--serve", "--oauth-auto-approve", https}, want: "must both be loopback"},
		"auto approve, public listener": {
			args: []string{"--serve", "--oauth-auto-approve", "--listen=10.0.0.1", https}, want: "must both be loopback",
		},
		"listener by name":               {args: []string{"--serve", "--listen=localhost"}, want: "an IP address"},
		"admin on the server's port":     {args: []string{"--serve", "--admin-listen=0.0.0.0:9315"}, want: "choose another port"},
		"admin for everyone":             {args: []string{"--serve", "--admin-listen=0.0.0.0:9316"}, want: "add --allow-public-admin"},
		"admin for everyone, allowed":    {args: []string{"--serve", "--admin-listen=0.0.0.0:9316", "--allow-public-admin"}},
		"admin on another address":       {args: []string{"--serve", "--admin-listen=127.0.0.2:9315"}},
		"every proxy trusted":            {args: []string{"--serve", "--trusted-proxies=10.0.0.0/8,0.0.0.0/0"}, want: "none that covers every address"},
		"a scheme that runs in the page": {args: []string{"--serve", "--redirect-schemes=myapp,javascript"}, want: "none that a browser handles itself"},
		"a scheme with its colon":        {args: []string{"--serve", "--redirect-schemes=myapp:"}, want: "schemes of apps"},
		"a scheme of the network":        {args: []string{"--serve", "--redirect-schemes=http"}, want: "schemes of apps"},
		"every origin allowed":           {args: []string{"--serve", "--allowed-origins=*"}, want: "each scheme://host"},
		"flag of another mode":           {args: []string{"--port=9000"}, want: "--port has no effect in this mode (one chart): it belongs to --serve"},
		"variable of another mode":       {env: []string{"CANDELA_PORT=9000"}},
		"flag twice":                     {args: []string{"--bars=1", "--bars=2"}, want: "more than once"},
		"flag in place of a value":       {args: []string{"--symbol", "--log-scale"}, want: "--symbol is required"},
		"boolean yes":                    {args: []string{"--log-scale=yes"}, want: "true, false, 1, 0"},
		"boolean True":                   {env: []string{"CANDELA_LOG_SCALE=True"}, want: "true, false, 1, 0"},
		"boolean as a word in the file":  {file: `log_scale = "true"`, want: "a boolean"},
		"number as a string in the file": {file: `bars = "10"`, want: "an integer"},
		"list with a number":             {file: `indicators = ["rsi", 3]`, want: "an array of strings"},
		"list item with a comma":         {file: `indicators = ["rsi,macd"]`, want: "an array of strings"},
		"wrong value that is overridden": {file: "bars = 0", args: []string{"--bars=5"}, want: "candela.toml: bars"},
		"home in the file":               {file: `home = "/x"`, want: "home cannot stand in the file: use CANDELA_HOME"},
		"secret in the file":             {file: `owner_password = "hunter2"`, want: "owner_password cannot stand in the file: use CANDELA_OWNER_PASSWORD"},
		"secret as a flag":               {args: []string{"--owner-password=hunter2"}, want: "--owner-password is no flag"},
		"key with a dash":                {file: "log-scale = true", want: "did you mean log_scale?"},
		"key twice":                      {file: "bars = 1\nbars = 2", want: "line 2"},
		"broken file":                    {file: "bars = ", want: "candela.toml: line 1"},
		"interval of no length":          {args: []string{"--interval=7x"}, want: "1m 3m 5m"},
		"empty item in a list":           {args: []string{"--indicators=rsi,,macd"}, want: "none of them empty"},
		"timeout of nothing":             {args: []string{"--serve", "--shutdown-timeout=0s"}, want: "from 1s to 5m"},
		"Kubernetes service links": {
			env: []string{"CANDELA_SERVICE_HOST=10.1.2.3"}, want: "enableServiceLinks: false",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tc.file, tc.args, tc.env)
			if tc.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			got := strings.Join(problems(t, err), "\n")
			if !strings.Contains(got, tc.want) {
				t.Errorf("problems do not say %q:\n%s", tc.want, got)
			}
			if strings.Contains(got, "hunter2") {
				t.Errorf("the secret is in the message: %s", got)
			}
		})
	}
}

func TestLoad_OneMistakeGivesOneMessage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--serve", "--listen=0.0.0.0", "--base-url=nonsense"},
		{"--serve", "--oauth-auto-approve=maybe", "--listen=10.0.0.1", "--base-url=https://a.example"},
		{"--serve", "--admin-listen=0.0.0.0:9315x"},
		{"--mcp=2", "--port=1"},
		{"--nonsense", "value"},
	} {
		_, err := load(t, "", args, nil)
		if got := problems(t, err); len(got) != 1 {
			t.Errorf("%v gives %d problems: %q", args, len(got), got)
		}
	}
}

func TestLoad_HomeUnknown(t *testing.T) {
	t.Parallel()
	_, err := Load(Input{Parts: parts()})
	got := problems(t, err)
	if len(got) != 1 || !strings.Contains(got[0], "home directory is not known") {
		t.Errorf("problems = %q", got)
	}
}

func TestLoad_InspectTakesFlagsOfEveryMode(t *testing.T) {
	t.Parallel()
	c, err := Load(Input{Parts: parts(), Args: []string{"--port=9000", "--bars=3", "--home", t.TempDir()}, Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Port != 9000 || c.HTTP.BaseURL != "http://localhost:9000" {
		t.Errorf("port %d, base URL %s", c.HTTP.Port, c.HTTP.BaseURL)
	}
}

func TestLoad_PasswordFile(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, text string, perm os.FileMode) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := map[string]struct {
		path  string
		env   []string
		want  string
		holds string
	}{
		"one line":             {path: write(t, "correct horse\n", 0o600)},
		"a line of Windows":    {path: write(t, "correct horse\r\n", 0o600)},
		"readable by others":   {path: write(t, "correct horse", 0o644), want: "is open to other users"},
		"readable by a group":  {path: write(t, "correct horse", 0o640), want: "is open to other users"},
		"a hash for others":    {path: write(t, "$argon2id$hash", 0o444), holds: "$argon2id$hash"},
		"writable by others":   {path: write(t, "correct horse", 0o602), want: "can be written by every user"},
		"empty":                {path: write(t, "\n", 0o600), want: "is empty"},
		"two lines":            {path: write(t, "a\nb\n", 0o600), want: "more than one line"},
		"a directory":          {path: t.TempDir(), want: "not a regular file"},
		"absent":               {path: filepath.Join(t.TempDir(), "none"), want: "no such file"},
		"larger than is usual": {path: write(t, strings.Repeat("x", maxFileBytes+1), 0o600), want: "larger than"},
		"with a variable too":  {path: write(t, "correct horse", 0o600), env: []string{"CANDELA_OWNER_PASSWORD=x"}, want: "remove one"},
		"none":                 {path: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--serve", "--owner-password-file=" + tc.path}
			c, err := load(t, "", args, tc.env)
			if tc.want != "" {
				if got := problems(t, err); len(got) != 1 || !strings.Contains(got[0], tc.want) {
					t.Errorf("problems = %q, want %q", got, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := "correct horse"
			if tc.holds != "" || tc.path == "" {
				want = tc.holds
			}
			if got := c.OAuth.OwnerPassword.Reveal(); got != want {
				t.Errorf("password = %q", got)
			}
		})
	}
}

func TestLoad_FileWritableByAllIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, FileName)
	if err := os.WriteFile(path, []byte("bars = 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Load(Input{Parts: parts(), Args: []string{"--home", home}})
	if got := problems(t, err); len(got) != 1 || !strings.Contains(got[0], "chmod o-w") {
		t.Errorf("problems = %q", got)
	}
}

func TestConfig_Effective(t *testing.T) {
	t.Parallel()
	c, err := load(t, "scale = 2", []string{"--trade"}, []string{"CANDELA_OWNER_PASSWORD=hunter2", "HOME=/home/me", "CANDELA_CSV_DIR=~/bars"})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][2]string)
	for _, line := range c.Effective() {
		got[line.Name] = [2]string{line.Value, line.Origin}
	}
	want := map[string][2]string{
		"--trade":                {"true", "--trade"},
		"--serve":                {"true", "implied by --trade"},
		"--scale":                {"2", filepath.Join(c.Home, FileName) + ": scale"},
		"--port":                 {"9315", "default"},
		"--base-url":             {"http://localhost:9315", "default"},
		"--csv-dir":              {"/home/me/bars", "CANDELA_CSV_DIR"},
		"--home":                 {c.Home, "CANDELA_HOME"},
		"CANDELA_OWNER_PASSWORD": {"(set)", "CANDELA_OWNER_PASSWORD"},
	}
	for name, line := range want {
		if diff := cmp.Diff(line, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(got) != len(Settings(parts())) {
		t.Errorf("%d lines for %d settings", len(got), len(Settings(parts())))
	}
}

func TestLoad_AlpacaKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string // in the only problem; "" when the keys are read
	}{
		"two lines":          {"PKID\nhunter2\n", 0o600, ""},
		"lines of Windows":   {"PKID\r\nhunter2\r\n", 0o400, ""},
		"one line":           {"PKID", 0o600, "does not hold two lines"},
		"three":              {"PKID\nhunter2\nmore\n", 0o600, "does not hold two lines"},
		"nothing":            {"", 0o600, "does not hold two lines"},
		"others may read it": {"PKID\nhunter2\n", 0o644, "chmod 600"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		cfg, err := Load(Input{Parts: parts(), Args: []string{"--home", dir, "--alpaca-key-file", path}})
		if tc.want == "" {
			if err != nil || cfg.Values.Secret("alpaca-key-id").Reveal() != "PKID" || cfg.Values.Secret("alpaca-secret-key").Reveal() != "hunter2" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if runtime.GOOS == "windows" && tc.mode == 0o644 {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := Load(Input{Parts: parts(), Args: []string{"--home", dir, "--alpaca-key-file", filepath.Join(dir, "none")}}); err == nil {
		t.Error("a file that is not there is no problem")
	}
}

func TestLoad_BaseURLWithoutItsSlash(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", []string{"--serve", "--base-url=https://candela.example.com/"}, nil)
	if err != nil || c.HTTP.BaseURL != "https://candela.example.com" {
		t.Errorf("%s, %v", c.HTTP.BaseURL, err)
	}
}
