package archtest

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notForClients are codes that only an operator meets, at the start or in a command.
func notForClients() []string {
	return []string{
		"adopt_first", "identity_linked", "ids_and_filter", "no_such_client", "no_trading", "not_finished", "one_owner", "other_policy", "owner_active", "owner_erased", "owner_exists", "owner_not_found", "owners_mode",
		"another_account", "button_busy", "button_ended", "cluster_secret", "denied", "invalid_file", "nats_open", "nats_refused", "other_prefix", "restore_incomplete", "nats_schema", "nats_single", "nats_too_old", "no_price", "no_store", "not_pending", "not_proven", "paper_first", "policy_invalid", "policy_not_applied", "receipt_key_damaged", "receipt_key_open", "stale", "store_foreign", "store_newer", "store_open", "store_tampered", "too_many_owners",
	}
}

// TestErrorCodesAreExplained reads the codes out of the source and out of
// docs/tools.md, so that a new one is explained before it is released.
func TestErrorCodesAreExplained(t *testing.T) {
	t.Parallel()
	// The store finds its code and its words in one place, so that it returns both.
	literal := regexp.MustCompile(`\b(?:Code: +|[A-Z]\w+Code = |New\((?:fault\.)?[A-Z]\w+, )"([a-z_]+)"|\breturn "(store_[a-z_]+)", "`)
	// Their codes reach an operator or a browser, not a caller of tools.
	others := regexp.MustCompile(`^internal/(app|config|operate|access/(?:cimd|door|metering|oauth|owner|plan|upstream|usage)|testkit|store/statedir|store/loginfile|alerting/sink|serve/console|serve/hostdesk|serve/httpd|serve/admin)/|test/|_test\.go$`)
	var used []string
	walk(t, func(name string, data []byte) {
		if path.Ext(name) != ".go" || !ours(name) || others.MatchString(name) {
			return
		}
		for line := range bytes.Lines(data) {
			if !bytes.Contains(line, []byte("Code")) && !bytes.Contains(line, []byte("New(")) && !bytes.Contains(line, []byte("store_")) {
				continue // few lines have one, and the expression takes its time
			}
			for _, m := range literal.FindAllSubmatch(line, -1) {
				used = append(used, string(m[1])+string(m[2]))
			}
		}
	})
	page, err := os.ReadFile(filepath.Join(root, "docs", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Error codes\n")
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		explained = append(explained, m[1])
	}
	for _, code := range used {
		if !slices.Contains(explained, code) && !slices.Contains(notForClients(), code) {
			t.Errorf("docs/tools.md does not explain the code %s: add it to errorCodes in internal/serve/tool/docs_test.go and run that with -update, or, where no client of a tool sees it, to notForClients here", code)
		}
	}
	for _, code := range append(explained, notForClients()...) {
		if !slices.Contains(used, code) {
			t.Errorf("the code %s is explained and nothing gives it", code)
		}
	}
}

// TestReadmeStaysShort keeps it to what somebody reads who does not know yet whether
// candela is of use.
func TestReadmeStaysShort(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	const most = 6 << 10
	if len(page) > most {
		t.Errorf("README.md has %d bytes, and at most %d is the rule: move what few need to docs/", len(page), most)
	}
}
