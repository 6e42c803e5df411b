// The owner at the consent page, without a browser: opens the address, fills the
// form, and carries the answer to the client as a browser would.

import { secret } from "./secrets.mjs";

export const passphrase = process.env.E2E_PASSPHRASE;

export class Owner {
  cookies = new Map();

  async #fetch(url, init = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { Accept: "text/html", ...(cookie && { Cookie: cookie }), ...init.headers } });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split(/=(.*)/s);
      this.cookies.set(name, value);
    }
    return response;
  }

  // decide opens an authorization request and returns where the answer leads.
  async decide(url, decision = "approve") {
    let page = await this.#fetch(url);
    let html = await page.text();
    const login = /name="login" value="([^"]+)"/.exec(html)?.[1];
    if (login) {
      // The document of the client is read only after the owner has logged in.
      const body = new URLSearchParams({ login, passphrase });
      page = await this.#fetch(new URL("/consent", url), { method: "POST", body, headers: { Origin: new URL(url).origin } });
      html = await page.text();
    }
    const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
    if (!request) throw new Error(`no form but ${page.status}: ${html}`);
    const body = new URLSearchParams({ request, decision });
    if (html.includes('type="password"')) body.set("passphrase", passphrase);
    const answer = await this.#fetch(new URL("/consent", url), { method: "POST", body, headers: { Origin: new URL(url).origin } });
    if (answer.status !== 303) throw new Error(`consent: ${answer.status} ${await answer.text()}`);
    const to = new URL(answer.headers.get("location"));
    secret(passphrase, to.searchParams.get("code"));
    return to;
  }

  // visit opens an address at the client's own listener.
  async visit(url) {
    await (await fetch(url)).text();
  }
}
