// An editor before the agent: a session is prompted, asked about, set, stopped, left and loaded.
//
//   node client.mjs FOLDER COMMAND...
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";
import { prompt, withAgent, words } from "./editor.mjs";

const [folder, ...command] = process.argv.slice(2);

let sessionId;
await withAgent(command, async ({ ctx, told, asked }) => {
  ({ sessionId } = await ctx.request("session/new", { cwd: folder, mcpServers: [] }));
  const first = await ctx.request("session/prompt", prompt(sessionId, "Write."));
  assert.equal(first.stopReason, "end_turn");
  assert.equal(asked.length, 1);
  assert.ok(asked[0].toolCall.content.some((content) => content.type === "diff"));
  assert.equal(readFileSync(`${folder}/a.txt`, "utf8"), "one\n");
  assert.match(words(told, "agent_message_chunk"), /It is written/);

  await ctx.request("session/set_mode", { sessionId, modeId: "auto-edit" });
  const set = await ctx.request("session/set_config_option", { sessionId, configId: "thinking", value: "low" });
  assert.equal(set.configOptions.find((option) => option.id === "thinking").currentValue, "low");
  assert.equal(set.configOptions.find((option) => option.id === "mode").currentValue, "auto-edit");
  const second = await ctx.request("session/prompt", prompt(sessionId, "Again."));
  assert.equal(second.stopReason, "end_turn");
  assert.equal(asked.length, 1, "nothing more was asked");
  assert.ok(told.some((one) => one.sessionUpdate === "plan"));

  const third = ctx.request("session/prompt", prompt(sessionId, "Wait."));
  setTimeout(() => ctx.notify("session/cancel", { sessionId }), 500);
  assert.equal((await third).stopReason, "cancelled");
  const { sessions } = await ctx.request("session/list", { cwd: folder });
  assert.equal(sessions[0].sessionId, sessionId);
});

await withAgent(command, async ({ ctx, told }) => {
  await ctx.request("session/load", { sessionId, cwd: folder, mcpServers: [] });
  assert.equal(words(told, "user_message_chunk"), "Write.Again.Wait.");
  assert.match(words(told, "agent_message_chunk"), /It is written.*Twice/s);
  await ctx.request("session/close", { sessionId });
  await ctx.request("session/resume", { sessionId, cwd: folder, mcpServers: [] });
});
console.log("a session was prompted, asked about, set, stopped, left, loaded and resumed");
