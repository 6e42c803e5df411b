package config

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/setting"
)

func TestLoad_Owners(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode bits there")
	}
	provider := []string{
		"--owners=oidc", "--oidc-issuer=https://login.example.com/realms/home", "--oidc-client-id=candela",
		"--oidc-client-secret-file=" + secretFile(t, "s3cret"),
	}
	with := func(args ...string) []string {
		return slices.Concat([]string{"--serve", "--oidc-allow=group:traders"}, provider, args)
	}
	trade := func(args ...string) []string { return with(append([]string{"--trade"}, args...)...) }
	without := func(i int) []string { return slices.Delete(with(), 2+i, 3+i) }
	keys := []string{"CANDELA_ALPACA_KEY_ID=k", "CANDELA_ALPACA_SECRET_KEY=s"}
	rules := func(text string) []string {
		return slices.Concat([]string{"--serve", "--oidc-allow=" + text}, provider)
	}
	cases := starts{
		"one owner":                {args: []string{"--serve"}},
		"said so":                  {args: []string{"--serve", "--owners=single"}},
		"many":                     {args: with()},
		"many on paper":            {args: trade()},
		"many replicas":            {args: with("--nats-url=nats://127.0.0.1:4222", "--cluster-secret-file="+secretFile(t, goodSecret))},
		"in the file":              {file: "owners = \"oidc\"\noidc_issuer = \"http://127.0.0.1:5556/dex\"\noidc_allow = [\"domain:example.com\", \"claim:desk=7\"]", args: []string{"--serve", provider[2], provider[3]}},
		"for other days":           {file: `oidc_issuer = "https://login.example.com"`, args: []string{"--serve"}},
		"another mode":             {args: []string{"--serve", "--owners=many"}, want: "single, oidc"},
		"no issuer":                {args: without(1), want: "needs --oidc-issuer, --oidc-client-id and --oidc-client-secret-file"},
		"no client":                {args: without(2), want: "needs --oidc-issuer, --oidc-client-id and --oidc-client-secret-file"},
		"no secret":                {args: without(3), want: "needs --oidc-issuer, --oidc-client-id and --oidc-client-secret-file"},
		"a secret others can read": {args: append(without(3), "--oidc-client-secret-file="+openFile(t)), want: "chmod 600"},
		"nobody allowed":           {args: slices.Concat([]string{"--serve"}, provider), want: "needs --oidc-allow"},
		"everybody":                {args: rules("anyone")},
		"a rule of no kind":        {args: rules("email:ann@example.com"), want: "any of group:G, domain:D"},
		"a rule without a value":   {args: rules("claim:desk"), want: "any of group:G, domain:D"},
		"in the clear":             {args: append(without(1), "--oidc-issuer=http://login.example.com"), want: "an https URL"},
		"an issuer with a query":   {args: append(without(1), "--oidc-issuer=https://login.example.com/?tenant=1"), want: "an https URL"},
		"email as the subject":     {args: with("--oidc-subject=email"), want: "never given to another person"},
		"UPN as the subject":       {args: with("--oidc-subject=UPN"), want: "never given to another person"},
		"oid as the subject":       {args: with("--oidc-subject=oid")},
		"a lasting token":          {args: with("--oidc-scopes=openid offline_access"), want: "offline_access not"},
		"no openid":                {args: with("--oidc-scopes=email"), want: "openid among them"},
		"signed in for ever":       {args: with("--oidc-max-age=1000h"), want: "from 5m to 720h"},
		"real money":               {args: trade("--live", "--broker=alpaca"), env: keys, want: "one person's money"},
		"a shared account":         {args: trade("--broker=alpaca"), env: keys, want: "share one account"},
		"webhooks":                 {args: trade("--webhook-url=https://hooks.example.com", "--webhook-secret-file="+secretFile(t, strings.Repeat("x", 32))), want: "alerts of all owners to one receiver"},
		"approval by nobody":       {args: with("--oauth-auto-approve"), want: "every client acts for a person"},
		"a console":                {args: with("--console"), want: "the one owner with a passphrase"},
		"no console":               {args: with("--console=false")},
		"stored logins":            {args: with("--persist-logins")},
		"a passphrase":             {args: with("--owner-password-file=" + secretFile(t, "correct horse battery")), want: "a passphrase would open nothing"},
		"stdio that trades":        {args: []string{"--mcp", "--trade"}, env: []string{"CANDELA_OWNERS=oidc"}, want: "on stdio nobody signs in"},
		"stdio that draws":         {args: []string{"--mcp"}, env: []string{"CANDELA_OWNERS=oidc"}},
		"an issuer for one owner":  {args: []string{"--serve", provider[1]}, want: "--oidc-issuer has no effect without --owners oidc"},
		"a host's desk":            {args: trade("--host-desk=127.0.0.1:9400", "--host-password-file="+secretFile(t, "correct horse battery"))},
		"a desk behind a proxy":    {args: trade("--host-desk=10.0.0.1:9400", "--host-desk-url=https://host.example.com", "--host-password-file="+secretFile(t, "correct horse battery"))},
		"a desk for one owner":     {args: []string{"--serve", "--trade", "--host-desk=127.0.0.1:9400", "--host-password-file=" + secretFile(t, "correct horse battery")}, want: "needs --owners oidc and --trade"},
		"a desk without records":   {args: with("--host-desk=127.0.0.1:9400", "--host-password-file="+secretFile(t, "correct horse battery")), want: "needs --owners oidc and --trade"},
		"a desk for anybody":       {args: trade("--host-desk=127.0.0.1:9400"), want: "needs --host-password-file"},
		"a desk in the clear":      {args: trade("--host-desk=10.0.0.1:9400", "--host-password-file="+secretFile(t, "correct horse battery")), want: "can be reached from other machines over http"},
		"a desk at the door":       {args: trade("--host-desk=127.0.0.1:9315", "--host-password-file="+secretFile(t, "correct horse battery")), want: "clashes with another listener"},
		"a desk for all to read":   {args: trade("--host-desk=127.0.0.1:9400", "--host-password-file="+openFile(t)), want: "chmod 600"},
		"a desk under one origin":  {args: trade("--host-desk=127.0.0.1:9400", "--base-url=https://c.example.com", "--host-desk-url=https://c.example.com", "--host-password-file="+secretFile(t, "correct horse battery")), want: "must differ from --base-url"},
		"a passphrase for no desk": {args: trade("--host-password-file=" + secretFile(t, "correct horse battery")), want: "no effect without --host-desk"},
		"a venue without licence":  {args: with("--yahoo"), want: "Yahoo's data is for personal use, and --owners oidc (--owners) shows it to others: leave --yahoo out, or add --licensed-venues yahoo"},
		"the venue off":            {args: with("--yahoo=false")},
		"a venue with a licence":   {args: with("--yahoo", "--licensed-venues=yahoo")},
		"a licence for a stranger": {args: with("--licensed-venues=binance"), want: "any of yahoo, alpaca"},
		"keys without licence":     {args: with(), env: keys, want: "Alpaca licenses its data"},
		"a licence for one owner":  {args: []string{"--serve", "--licensed-venues=yahoo"}, want: "--licensed-venues has no effect without --owners oidc"},
		"a contact of two lines":   {args: with("--oidc-contact=a\nb"), want: "one line"},
	}
	cases.check(t)
}

func TestLoad_OwnersValues(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode bits there")
	}
	c, err := load(t, "", []string{
		"--serve", "--owners=oidc", "--oidc-issuer=https://login.example.com/", "--oidc-client-id=candela", "--oidc-allow=group:a, sub:b",
		"--oidc-client-secret-file=" + secretFile(t, "s3cret"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Owners
	yahoo := setting.Part{Name: "yahoo", Licence: "for personal use"}
	if !c.Withheld(yahoo) || c.Withheld(setting.Part{Name: "binance"}) {
		t.Error("not what may not be shown is off, but something else")
	}
	if c.Owners.Licensed = []string{"yahoo"}; c.Withheld(yahoo) {
		t.Error("a venue is off in spite of a licence")
	}
	if c.Owners = (Owners{Mode: "single"}); c.Withheld(yahoo) {
		t.Error("a venue is off for one owner")
	}
	if c.Owners = o; !c.ManyOwners() || c.HTTP.Console || o.Secret.Reveal() != "s3cret" || o.Issuer != "https://login.example.com/" || o.MaxAge != 12*time.Hour ||
		o.Logout != "tokens" || o.Subject != "sub" || !slices.Equal(o.Allow, []string{"group:a", "sub:b"}) || !slices.Equal(o.Scopes, []string{"openid", "email", "profile"}) {
		t.Errorf("%+v", o)
	}
	for _, line := range c.Effective() {
		if strings.Contains(line.Value, "s3cret") {
			t.Errorf("%+v", line)
		}
		if line.Name == "--oidc-max-age" && line.Value != "12h" {
			t.Errorf("%+v", line)
		}
	}
}
