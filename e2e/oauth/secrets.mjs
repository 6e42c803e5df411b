// Secrets that a run has used, for the search of the server's log.
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export function secret(...values) {
  for (const value of values) if (value) appendFileSync(process.env.E2E_SECRETS, value + "\n");
}

// under notes every value of a secret's name in the JSON files of a folder.
export function secretsUnder(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) secretsUnder(path);
    else {
      const text = readFileSync(path, "utf8");
      for (const [, value] of text.matchAll(/"(?:access_token|client_secret|code_verifier)":\s*"([^"]+)"/g)) secret(value);
      if (/verifier/.test(name)) secret(text.trim());
    }
  }
}
