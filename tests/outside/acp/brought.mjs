// An editor before the agent that brings folders and a server along, copies a session and deletes it.
//
//   node brought.mjs FOLDER COMMAND...
import assert from "node:assert/strict";
import * as unstable from "@agentclientprotocol/sdk/unstable";
import { prompt, withAgent } from "./editor.mjs";

const [folder, ...command] = process.argv.slice(2);
const setup = {
  cwd: `${folder}/work`,
  additionalDirectories: [`${folder}/lib`],
  mcpServers: [
    { name: "sh", command: "/bin/sh", args: [`${folder}/work/server.sh`], env: [{ name: "MODE", value: "brought" }] },
  ],
};

let sessionId;
await withAgent(command, async ({ ctx, told, asked, able }) => {
  for (const name of ["list", "resume", "close", "delete", "fork", "additionalDirectories"]) {
    assert.ok(able.sessionCapabilities[name], `${name} is offered`);
  }
  assert.equal(able.mcpCapabilities.http, true);
  ({ sessionId } = await ctx.request("session/new", setup));
  const ended = await ctx.request("session/prompt", prompt(sessionId, "Look, then write."));
  assert.equal(ended.stopReason, "end_turn");
  const titles = asked.map((one) => one.toolCall.title);
  assert.match(titles[0], /Start the MCP server sh/);
  assert.match(titles[1], /Use the tools/);
  assert.ok(told.some((one) => one.toolCallId === "mcp-server-sh" && one.status === "completed"));
  const { sessions } = await ctx.request("session/list", {});
  assert.deepEqual(sessions[0].additionalDirectories, setup.additionalDirectories);
}, { acp: unstable });

await withAgent(command, async ({ ctx, asked }) => {
  await ctx.request("session/load", { sessionId, ...setup });
  assert.equal(asked.length, 0, "nothing is asked twice");
  const fork = await ctx.request("session/fork", { sessionId, ...setup });
  assert.notEqual(fork.sessionId, sessionId);
  await assert.rejects(ctx.request("session/delete", { sessionId }), "it is open");
  await ctx.request("session/close", { sessionId });
  await ctx.request("session/delete", { sessionId });
  await ctx.request("session/delete", { sessionId });
  const { sessions } = await ctx.request("session/list", {});
  assert.ok(!sessions.some((one) => one.sessionId === sessionId));
}, { acp: unstable });
console.log("folders and a server were brought along, a session was copied and deleted");
