// An editor made with the protocol's own library (npm `@agentclientprotocol/sdk`), which checks what it
// receives: a session is prompted, asked about, set, stopped, left and loaded.
//
//   node client.mjs FOLDER COMMAND...
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import assert from "node:assert/strict";
import * as acp from "@agentclientprotocol/sdk";

const [folder, ...command] = process.argv.slice(2);

// with(WORK): a fresh agent and what it told, for the length of the work.
async function withAgent(work) {
  const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  const told = [];
  const asked = [];
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const editor = acp
    .client({ name: "weir-outside" })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      const once = params.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: once.optionId } };
    })
    .onNotification(acp.methods.client.session.update, ({ params }) => {
      told.push(params.update);
    });
  const ended = new Promise((resolve) => agent.on("exit", resolve));
  await editor.connectWith(stream, async (ctx) => {
    const able = await ctx.request("initialize", {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { session: { notices: {} } },
      clientInfo: { name: "weir-outside", version: "1" },
    });
    assert.equal(able.protocolVersion, acp.PROTOCOL_VERSION);
    await work(ctx, told, asked);
    agent.stdin.end();
  });
  assert.equal(await ended, 0, "the agent ends well when the editor has gone");
}

const words = (told, kind) =>
  told.filter((one) => one.sessionUpdate === kind).map((one) => one.content.text ?? "").join("");
const prompt = (sessionId, text) => ({ sessionId, prompt: [{ type: "text", text }] });

let sessionId;
await withAgent(async (ctx, told, asked) => {
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

await withAgent(async (ctx, told) => {
  await ctx.request("session/load", { sessionId, cwd: folder, mcpServers: [] });
  assert.equal(words(told, "user_message_chunk"), "Write.Again.Wait.");
  assert.match(words(told, "agent_message_chunk"), /It is written.*Twice/s);
  await ctx.request("session/close", { sessionId });
  await ctx.request("session/resume", { sessionId, cwd: folder, mcpServers: [] });
});
console.log("a session was prompted, asked about, set, stopped, left, loaded and resumed");
