// An editor made with the protocol's own library (npm `@agentclientprotocol/sdk`), which checks what it
// receives. What it says yes to is the first answer that allows something once.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import assert from "node:assert/strict";
import * as stable from "@agentclientprotocol/sdk";

// A fresh agent and what it told and asked, for the length of `work`. `acp`: how much of the protocol is spoken.
// `files`: what is not saved yet, by path; with it the editor has files and terminals of its own. `elicits`: what a
// person answers to a form or page; with it the editor has these, and shows how the context is made shorter.
export async function withAgent(command, work, { acp = stable, files, elicits } = {}) {
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
  const terminals = files ? serveFilesAndTerminals(editor, acp.methods.client, files) : [];
  const able = { session: { notices: {} } };
  const [elicited, completed] = [[], []];
  if (elicits) {
    Object.assign(able, { session: { notices: {}, compaction: {} }, elicitation: { form: {}, url: {} } });
    editor
      .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
        elicited.push(params);
        return elicits(params);
      })
      .onNotification(acp.methods.client.elicitation.complete, ({ params }) => {
        completed.push(params.elicitationId);
      });
  }
  if (files) Object.assign(able, { fs: { readTextFile: true, writeTextFile: true }, terminal: true });
  const ended = new Promise((resolve) => agent.on("exit", resolve));
  await editor.connectWith(stream, async (ctx) => {
    const offered = await ctx.request("initialize", {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: able,
      clientInfo: { name: "weir-outside", version: "1" },
    });
    assert.equal(offered.protocolVersion, acp.PROTOCOL_VERSION);
    await work({ ctx, told, asked, elicited, completed, terminals, able: offered.agentCapabilities });
    agent.stdin.end();
  });
  assert.equal(await ended, 0, "the agent ends well when the editor has gone");
}

// An editor's own files and terminals: what a terminal printed is kept.
function serveFilesAndTerminals(editor, methods, files) {
  const terminals = [];
  const find = ({ params }) => terminals[Number(params.terminalId)];
  editor
    .onRequest(methods.fs.readTextFile, ({ params }) => ({
      content: files.get(params.path) ?? readFileSync(params.path, "utf8"),
    }))
    .onRequest(methods.fs.writeTextFile, ({ params }) => {
      writeFileSync(params.path, params.content);
      files.delete(params.path);
      return {};
    })
    .onRequest(methods.terminal.create, ({ params }) => {
      const program = spawn(params.command, params.args ?? [], { stdio: ["ignore", "pipe", "inherit"] });
      const terminal = { params, printed: "", released: false };
      program.stdout.on("data", (bytes) => (terminal.printed += bytes));
      terminal.ended = new Promise((resolve) => program.on("close", (exitCode) => resolve({ exitCode })));
      terminals.push(terminal);
      return { terminalId: String(terminals.length - 1) };
    })
    .onRequest(methods.terminal.waitForExit, (request) => find(request).ended)
    .onRequest(methods.terminal.release, (request) => {
      find(request).released = true;
      return {};
    });
  return terminals;
}

// The words of all pieces of one kind.
export const words = (told, kind) =>
  told.filter((one) => one.sessionUpdate === kind).map((one) => one.content.text ?? "").join("");

export const prompt = (sessionId, text) => ({ sessionId, prompt: [{ type: "text", text }] });
