// What an admin connects on a page: endpoints of models and MCP servers. Nothing is asked outside of
// this machine: both are small servers here.

import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Browser, House, PASSWORD, closing, holds, same, setUp, signIn, test } from './lib.mjs';

const vendor = createServer((request, answer) => {
  const known = request.headers.authorization === 'Bearer sk-own-0123456789';
  answer.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
  answer.end(known ? '{"data":[{"id":"heron-7b"},{"id":"heron-70b"}]}' : '{}');
});
await new Promise((done) => vendor.listen(0, '127.0.0.1', done));
const base = `http://127.0.0.1:${vendor.address().port}/v1`;
const nobody = 'http://127.0.0.1:9';
// An MCP server with one tool, as small as the protocol allows.
const server = `
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const say = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize') say({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'birds', version: '1' } });
  else if (method === 'tools/list') say({ tools: [{ name: 'count_herons', description: 'Counts herons.', inputSchema: { type: 'object' } }] });
  else if (id !== undefined) say({});
});
`;
const house = await House.start({
  hasModel: false,
  files: { 'birds server.js': server },
  env: { OLLAMA_HOST: nobody, LMSTUDIO_BASE_URL: nobody, LLAMACPP_BASE_URL: nobody, VLLM_BASE_URL: nobody },
});
const browser = await Browser.start();
const context = await browser.person(house.url);
const page = await context.newPage();
await setUp(house, page);
const settings = () => readFileSync(join(house.folder, 'config/weir/config.toml'), 'utf8');

await test('s10_an_endpoint_is_tested_added_and_used', async () => {
  await page.getByRole('link', { name: 'Add another endpoint' }).click();
  const form = page.getByRole('region', { name: 'Add an endpoint' });
  const fill = async (name, url, key) => {
    await form.getByLabel('Name').fill(name);
    await form.getByLabel('Base URL').fill(url);
    await form.getByLabel('API key').fill(key);
    await form.getByRole('button', { name: 'Test and save' }).click();
  };
  for (const [name, url, key, why] of [
    ['own', base, 'sk-wrong-0123456789', 'could not be used'],
    ['own', nobody, '', 'could not be used'],
    ['anthropic', base, '', 'already'],
    ['Not a name', base, '', 'lowercase'],
  ]) {
    await fill(name, url, key);
    await page.getByRole('alert').filter({ hasText: why }).waitFor();
    holds(!settings().includes('providers'), 'nothing is kept of what cannot be used');
  }
  await fill('own', base, 'sk-own-0123456789');
  await page.getByText('The endpoint own is saved.').waitFor();
  holds(settings().includes('providers') && !settings().includes('sk-own'), 'the key stands elsewhere');
  await page.goto('/');
  same(await page.getByLabel('Model', { exact: true }).inputValue(), 'own/heron-7b', 'the model of a new chat');
});

await test('s10_an_mcp_server_is_added_inspected_and_approved', async () => {
  await page.goto('/library/servers');
  const form = page.getByRole('region', { name: 'Add an MCP server' });
  await form.getByLabel('Name').fill('birds');
  await form.getByRole('button', { name: 'Add and inspect' }).click();
  await page.getByRole('alert').filter({ hasText: 'command or an address' }).waitFor();
  await form.getByLabel('Name').fill('birds');
  await form.getByLabel('Command').fill(`${process.execPath} "${house.work}/birds server.js"`);
  await form.getByRole('button', { name: 'Add and inspect' }).click();
  await page.getByRole('button', { name: 'Start and inspect' }).click();
  await page.getByText('count_herons').first().waitFor();
  // Its script holds the button back.
  await page.waitForLoadState();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('birds is approved: 1 tools.').waitFor();
});

await test('s10_who_is_no_admin_adds_neither', async () => {
  const csrf = await page.evaluate(() => document.body.dataset.csrf);
  await page.evaluate(async ([password, csrf]) => fetch('/api/v1/users', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
    body: JSON.stringify({ name: 'ann', password, role: 'user' }),
  }), [PASSWORD, csrf]);
  const anns = await browser.person(house.url);
  const ann = await anns.newPage();
  await signIn(ann, 'ann');
  for (const path of ['/models', '/library/servers']) {
    await ann.goto(path);
    same(await ann.getByRole('heading', { name: /^Add an/ }).count(), 0, `forms on ${path}`);
  }
  for (const [path, fields] of [
    ['/models/endpoint', { name: 'x', base_url: base, dialect: 'openai-chat' }],
    ['/mcp-servers', { name: 'x', command: 'true' }],
  ]) {
    const status = await ann.evaluate(async ([path, fields]) => (await fetch(path, {
      method: 'POST', body: new URLSearchParams(fields),
      headers: { 'x-csrf-token': document.body.dataset.csrf },
    })).status, [path, fields]);
    same(status, 403, path);
  }
  await anns.close();
});

await test('s10_an_endpoint_goes_as_it_came_with_its_key', async () => {
  await page.goto('/models');
  await page.getByRole('button', { name: 'Remove endpoint own' }).click();
  await page.getByText('The endpoint own was removed').waitFor();
  holds(!/\bown\b/.test(settings()), 'it is gone from the settings');
  same(await page.getByRole('rowheader', { name: 'own' }).count(), 0, 'rows of it');
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
vendor.close();
closing('browser_connect');
