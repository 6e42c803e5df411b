package records

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/config"
	"candela/internal/kit/disk"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/conn"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// Receipt runs the commands of receipts: verify, key, rotate, or the receipt of the order that the first argument names.
func Receipt() cli.Runner {
	others := map[string]cli.Runner{"verify": verifyReceipt, "key": printKeys, "rotate": rotateKey}
	return func(ctx context.Context, in cli.Call) error {
		if len(in.Args) > 0 && others[in.Args[0]] != nil {
			run := others[in.Args[0]]
			in.Args = in.Args[1:]
			return run(ctx, in)
		}
		return makeReceipt(ctx, in)
	}
}

// proofs is a log of which receipts are made, with its key.
type proofs struct {
	receipt.Source

	key   func() (chain.Key, error)
	owner func(ctx context.Context, id string) (principal.Owner, error) // of an order
	close func() error
}

// openProofs opens the log in the state directory, or that of the replicas.
func openProofs(ctx context.Context, cfg *config.Config) (proofs, error) {
	if cfg.Shared() {
		c, err := conn.Connect(ctx, conn.ConfigOf(cfg), slog.New(slog.DiscardHandler))
		if err != nil {
			return proofs{}, err
		}
		source := audit.NewSource(c)
		return proofs{source, func() (chain.Key, error) { return audit.Key(c), nil }, source.OrderOwner, func() error { c.Close(); return nil }}, nil
	}
	log, err := ledger.OpenAudit(ctx, cfg.Home)
	if err != nil {
		return proofs{}, err
	}
	return proofs{log, receipt.KeyIn(cfg.Home), log.OrderOwner, log.Close}, nil
}

// makeReceipt prints the receipt of an order, or writes it to a file.
func makeReceipt(ctx context.Context, in cli.Call) error {
	var out, owner string
	rest, err := cli.CutFlags(in.Args, nil, []cli.Flag{cli.TextFlag("--out", &out, "the file to write"), cli.TextFlag("--owner", &owner, "the id of an owner, as candela owners list shows it")})
	if err != nil {
		return err
	}
	id, rest := cli.CutWord(rest)
	if id == "" {
		return fault.Missing("receipt", "the ID of an order, or verify, key or rotate")
	}
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	log, err := openProofs(ctx, cfg)
	if err != nil {
		return err
	}
	made, err := issue(ctx, log, principal.Owner(owner), id)
	if err = errors.Join(err, log.close()); err != nil {
		return err
	}
	if made.Note {
		fmt.Fprintln(in.Stderr, "The order has a note. The receipt contains it: read it before you hand the receipt on.")
	}
	if out == "" {
		_, err = in.Stdout.Write(made.Text)
		return err
	}
	if err := disk.Create(out, func(file *os.File) error { _, err := file.Write(made.Text); return err }); err != nil {
		return fault.Field("--out", out, "a new file in a folder that exists").Because(err)
	}
	_, err = fmt.Fprintf(in.Stdout, "Receipt of order %s: %s, %d bytes\n", id, out, len(made.Text))
	return err
}

// issue makes the receipt of an order of an owner, "" for the one who has it.
func issue(ctx context.Context, log proofs, owner principal.Owner, id string) (receipt.Issued, error) {
	if owner == "" {
		var err error
		if owner, err = log.owner(ctx, id); err != nil {
			return receipt.Issued{}, err
		}
	}
	return receipt.Issuer{Source: log.Source, Key: log.key, Now: time.Now}.Issue(ctx, owner, id)
}

// verifyReceipt checks a receipt against the keys in a file, of a server, or of the state directory.
func verifyReceipt(ctx context.Context, in cli.Call) error {
	var file, url string
	asJSON := false
	rest, err := cli.CutFlags(in.Args, map[string]*bool{"--json": &asJSON}, []cli.Flag{cli.TextFlag("--key", &file, "a file with a public key or a JWK set"), cli.TextFlag("--url", &url, "the address of the server that made the receipt")})
	if err != nil {
		return err
	}
	name, rest := cli.CutWord(rest)
	if name == "" {
		return fault.Missing("receipt verify", "the file of a receipt")
	}
	data, err := readSome(name)
	if err != nil {
		return err
	}
	keys, err := keysFrom(ctx, in, rest, file, url)
	if err != nil {
		return err
	}
	d, err := receipt.Parse(data)
	var found receipt.Found
	if err == nil {
		found, err = receipt.Verify(d, keys)
	}
	if err != nil {
		return fault.New(fault.Conflict, "receipt_refused", "%s is refused", name).Because(err)
	}
	return printFound(in.Stdout, asJSON, d, found)
}

// printFound says what a receipt proves.
func printFound(w io.Writer, asJSON bool, d receipt.Document, found receipt.Found) error {
	r := d.Receipt
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"ok": true, "order_id": r.OrderID, "mode": r.Mode, "installation": r.Installation, "events": found.Events, "first": found.First, "checkpoint": found.Last, "key": found.Key.ID(), "vouched": found.Vouched})
	}
	fmt.Fprintf(w, "Valid: order %s (%s), %s from %d on, in the log before %s\n", cli.Plain(r.OrderID), cli.Plain(r.Mode), cli.Count(found.Events, "event"), found.First, cli.Plain(found.Last))
	fmt.Fprintf(w, "Signed by installation %s with key %s\n", cli.Plain(r.Installation), found.Key.ID())
	if found.Key.Until != "" {
		fmt.Fprintf(w, "That key was replaced at %s. If it became known to others, they can sign with an earlier date: compare the checkpoint with one kept elsewhere.\n", cli.Plain(found.Key.Until))
	}
	if !found.Vouched {
		fmt.Fprintln(w, "key not vouched for: no earlier key of the installation signed this one. Ask the owner why.")
	}
	_, err := fmt.Fprintln(w, "It proves that the holder of the key recorded exactly this, not that the record is true.")
	return err
}

// keysFrom reads the keys of a verification: from a file, from a server, or from the log in the state directory.
func keysFrom(ctx context.Context, in cli.Call, args []string, file, url string) (receipt.Keys, error) {
	switch {
	case file != "" && url != "":
		return nil, fault.Field("--url", url, "one of --key and --url")
	case file != "":
		data, err := readSome(file)
		if err != nil {
			return nil, err
		}
		keys, err := receipt.ParseKeys(data)
		if err != nil {
			return nil, fault.Field("--key", file, "a public key or a JWK set").Because(err)
		}
		return keys, nil
	case url != "":
		return keysOf(ctx, url)
	}
	cfg, err := in.Config(args)
	if err != nil {
		return nil, err
	}
	keys, err := keysIn(ctx, cfg)
	if f := fault.Of(err); f != nil && f.Code == "no_store" {
		return nil, fault.New(fault.NotFound, "no_keys", "State directory %s has no keys: name them with --key FILE or --url BASE, or the replicas with --nats-url.", cfg.Home)
	}
	return keys, err
}

func keysIn(ctx context.Context, cfg *config.Config) (receipt.Keys, error) {
	log, err := openProofs(ctx, cfg)
	if err != nil {
		return nil, err
	}
	changes, err := log.Keys(ctx)
	return receipt.NewKeys(changes), errors.Join(err, log.close())
}

// keysOf asks a server for its keys.
func keysOf(ctx context.Context, base string) (receipt.Keys, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+receipt.KeysPath, nil)
	if err != nil {
		return nil, fault.Field("--url", base, "the address of a server, such as https://candela.example.com")
	}
	answer, err := (&http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "no_keys", "The keys of %s cannot be read: %v", base, err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxRead))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fault.New(fault.Unavailable, "no_keys", "The keys of %s cannot be read: it returned %s.", base, answer.Status)
	}
	keys, err := receipt.ParseKeys(data)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "no_keys", "The keys of %s cannot be read: %v", base, err)
	}
	return keys, nil
}

// maxRead bounds the files and answers that are read.
const maxRead = 8 << 20

// readSome reads a file of a bounded size, - for standard input.
func readSome(name string) ([]byte, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil { //nolint:gosec // G304: the user names the file
			return nil, fault.Field("file", name, "a file that can be read").Because(err)
		}
		defer func() { _ = file.Close() }() // only read
	}
	return io.ReadAll(io.LimitReader(file, maxRead))
}

// printKeys prints the public keys of the installation.
func printKeys(ctx context.Context, in cli.Call) error {
	rest, asJSON := cli.CutJSON(in.Args)
	cfg, err := in.Config(rest)
	if err != nil {
		return err
	}
	keys, err := keysIn(ctx, cfg)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return fault.New(fault.NotFound, "no_receipt", "No key was made yet: the first start with --trade makes it.")
	}
	if asJSON {
		set, err := keys.JWKS()
		if err == nil {
			_, err = fmt.Fprintf(in.Stdout, "%s\n", set)
		}
		return err
	}
	last := keys[len(keys)-1]
	_, err = fmt.Fprintf(in.Stdout, "%s\n%s since %s; %s so far\n", base64.StdEncoding.EncodeToString(last.Public), last.ID(), last.From, cli.Count(len(keys), "key"))
	return err
}

// rotateKey replaces the key. No server may run, because it would sign with the old one.
func rotateKey(ctx context.Context, in cli.Call) error {
	cfg, err := in.Config(in.Args)
	if err != nil {
		return err
	}
	if cfg.Shared() {
		return fault.New(fault.Unsupported, "no_rotation", "With replicas (--nats-url) the key of receipts follows from the cluster secret and cannot be replaced alone. docs/scaling.md says how to change the secret.")
	}
	if _, err := keysIn(ctx, cfg); err != nil { // a store that is not there is not made
		return err
	}
	release, err := statedir.LockAll(cfg.Home, "the key of receipts is replaced")
	if err != nil {
		return err
	}
	defer release()
	log, err := ledger.Open(ctx, cfg.Home, time.Now)
	if err != nil {
		return err
	}
	key, err := log.Rotate(ctx)
	if err = errors.Join(err, log.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Stdout, "Receipts are signed with key %s from now on; the old key vouches for it.\n", key)
	return err
}
