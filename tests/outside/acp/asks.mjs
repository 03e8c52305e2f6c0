// An editor that shows forms, pages and how the context is made shorter, before the agent: what the agent and a
// server ask, commands that are typed, an image, and the same session loaded.
//
//   node asks.mjs FOLDER COMMAND...
import assert from "node:assert/strict";
import { prompt, withAgent, words } from "./editor.mjs";

const [folder, ...command] = process.argv.slice(2);
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const setup = { cwd: folder, mcpServers: [] };
const last = (told, kind) => told.filter((one) => one.sessionUpdate === kind).at(-1);

// What the person says: both colours, words, the size that is proposed, and that the page was opened.
const elicits = (params) => {
  const fields = params.requestedSchema?.properties ?? {};
  if (params.mode === "url") return { action: "accept" };
  if (fields.choices) return { action: "accept", content: { choices: ["red", "blue"] } };
  return { action: "accept", content: { answer: fields.answer.default ?? "I like it." } };
};

let sessionId;
await withAgent(command, async ({ ctx, told, elicited, completed }) => {
  ({ sessionId } = await ctx.request("session/new", setup));
  const first = await ctx.request("session/prompt", prompt(sessionId, "Ask, order and read."));
  assert.equal(first.stopReason, "end_turn");
  assert.deepEqual(elicited.map((one) => one.mode), ["form", "form", "form", "url"]);
  assert.equal(elicited[2].requestedSchema.properties.answer.type, "integer");
  assert.deepEqual(completed, [elicited[3].elicitationId]);
  assert.match(words(told, "agent_message_chunk"), /Thanks/);
  assert.ok(told.some((one) => one.rawOutput?.includes?.("size 3, accept")));
  assert.ok(told.some((one) => one.name === "read_file"));
  assert.equal(told.find((one) => one.sessionUpdate === "session_info_update").title, "Ask, order and read.");

  const image = { type: "image", data: dot, mimeType: "image/png" };
  const seen = { sessionId, prompt: [{ type: "text", text: "What is it?" }, image] };
  assert.equal((await ctx.request("session/prompt", seen)).stopReason, "end_turn");
  for (const [line, said] of [["/help", /\/compact/], ["/cost", /This session/], ["/undo", /undo/]]) {
    assert.equal((await ctx.request("session/prompt", prompt(sessionId, line))).stopReason, "end_turn");
    assert.match(last(told, "agent_message_chunk").content.text, said, line);
  }
  assert.equal((await ctx.request("session/prompt", prompt(sessionId, "/compact"))).stopReason, "end_turn");
  assert.equal(last(told, "compaction_update").status, "completed");
  assert.match(last(told, "compaction_summary_chunk").content.text, /Questions and files/);
}, { elicits });

await withAgent(command, async ({ ctx, told }) => {
  await ctx.request("session/load", { sessionId, ...setup });
  assert.ok(told.some((one) => one.sessionUpdate === "user_message_chunk" && one.content.data === dot));
  assert.equal(last(told, "compaction_update").status, "completed");
}, { elicits });
console.log("a person was asked by forms and a page, commands were typed, and an image was there again");
