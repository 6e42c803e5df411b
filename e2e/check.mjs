// What every client is asked to do, whichever library and transport it uses.
import assert from "node:assert/strict";

// answer returns the JSON that a tool answered with.
export const answer = ({ content }) => JSON.parse(content[0].text);

// judge lists and calls through a connected client and checks what comes back.
export async function judge(client, { symbol } = {}) {
  const { tools } = await client.listTools();
  assert.equal(tools.length, 15);
  for (const tool of tools) {
    assert.ok(tool.description && tool.annotations.title, tool.name);
  }

  const picture = await client.callTool({
    name: "generate_chart",
    arguments: { format: "both", bars: 60, width: 400, height: 300, symbol },
  });
  assert.deepEqual(picture.content.map((c) => c.type), ["image", "text"]);
  assert.ok(Buffer.from(picture.content[0].data, "base64").subarray(1, 4).equals(Buffer.from("PNG")));

  const summary = await client.callTool({ name: "generate_chart", arguments: { format: "summary", bars: 60, symbol } });
  assert.equal(summary.structuredContent, undefined, "the answer is written twice");
  assert.equal(answer(summary).source, symbol ? "fetched" : "sample");

  const catalog = answer(await client.callTool({ name: "list_indicators", arguments: {} }));
  assert.equal(catalog.total, catalog.indicators.length);

  const refused = await client.callTool({ name: "place_order", arguments: { symbol: "X", side: "buy", type: "market", quantity: 1 } });
  assert.equal(refused.isError, true);
  assert.equal(answer(refused).code, "trading_disabled");

  const wrong = await client.callTool({ name: "get_indicators", arguments: { symbol: "X", indicators: ["rsii"] } });
  assert.equal(wrong.isError, true);
  assert.ok(answer(wrong).suggestions.includes("rsi"));

  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /unknown tool/);
}
