// What a client is asked to do behind a proxy: the parts of ../check.mjs that hold
// for a server that trades.
import assert from "node:assert/strict";

export async function judge(client) {
  assert.equal((await client.listTools()).tools.length, 15);
  const picture = await client.callTool({ name: "generate_chart", arguments: { format: "both", bars: 60 } });
  assert.deepEqual(picture.content.map((c) => c.type), ["image", "text"]);
  assert.ok(Buffer.from(picture.content[0].data, "base64").subarray(1, 4).equals(Buffer.from("PNG")));
}
