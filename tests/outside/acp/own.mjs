// An editor before the agent that has files and terminals of its own.
//
//   node own.mjs FOLDER COMMAND...
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";
import { prompt, withAgent } from "./editor.mjs";

const [folder, ...command] = process.argv.slice(2);
const path = `${folder}/note.txt`;
const files = new Map([[path, "typed, not saved\n"]]);

await withAgent(command, async ({ ctx, told, terminals }) => {
  const { sessionId } = await ctx.request("session/new", { cwd: folder, mcpServers: [] });
  await ctx.request("session/set_mode", { sessionId, modeId: "auto-edit" });
  const first = await ctx.request("session/prompt", prompt(sessionId, "Append."));
  assert.equal(first.stopReason, "end_turn");
  assert.equal(readFileSync(path, "utf8"), "typed, not saved\nmore\n");

  const second = await ctx.request("session/prompt", prompt(sessionId, "Run."));
  assert.equal(second.stopReason, "end_turn");
  const shown = told.find((one) => one.content?.some?.((content) => content.type === "terminal"));
  assert.ok(shown, "a terminal is part of the call");
  while (!terminals[0].released) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(terminals[0].params.args[0], "__tail", "the terminal runs nothing of the command");
  assert.equal(terminals[0].printed, "one\ntwo\n");
  await ctx.request("session/close", { sessionId });
}, { files });
console.log("unsaved text was read and kept, and a command was shown in a terminal");
