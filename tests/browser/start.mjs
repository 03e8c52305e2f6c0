// The first page while no model can be asked: it says so, and leads to one by a key that is checked.
// Nothing is asked outside of this machine: the vendor is a small server here.

import { createServer } from 'node:http';
import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { Browser, House, PASSWORD, closing, holds, same, setUp, signIn, test } from './lib.mjs';

const RIGHT = 'sk-right-0123456789';
const asked = [];
const vendor = createServer((request, answer) => {
  asked.push(request.headers['x-api-key']);
  const known = request.headers['x-api-key'] === RIGHT;
  answer.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
  answer.end(known ? '{"data":[{"id":"claude-sonnet-5-5"}]}' : '{"error":"invalid x-api-key"}');
});
await new Promise((done) => vendor.listen(0, '127.0.0.1', done));
const nobody = 'http://127.0.0.1:9';
const house = await House.start({
  hasModel: false,
  env: {
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${vendor.address().port}`, OPENAI_BASE_URL: nobody,
    OLLAMA_HOST: nobody, LMSTUDIO_BASE_URL: nobody, LLAMACPP_BASE_URL: nobody, VLLM_BASE_URL: nobody,
  },
});
const browser = await Browser.start();
const context = await browser.person(house.url);
const page = await context.newPage();
page.on('dialog', (dialog) => { throw new Error(`a dialog of the browser: ${dialog.message()}`); });
await setUp(house, page);
const keys = () => ['config', 'state', 'data'].map((part) => join(house.folder, part, 'weir/keys.toml'))
  .filter(existsSync).map((file) => readFileSync(file, 'utf8')).join('');

await test('s10_without_a_model_the_first_page_says_so_and_helps', async () => {
  await page.goto('/');
  await page.getByRole('heading', { name: 'Connect a model to start' }).waitFor();
  const text = await page.locator('main').innerText();
  for (const words of ['no model', 'ollama', 'weir demo']) holds(text.includes(words), `the page has ${words}`);
  same(await page.locator('#say').count(), 0, 'boxes for messages that nobody would answer');
});

await test('s10_a_key_is_checked_before_it_is_kept', async () => {
  await page.getByLabel('Provider').selectOption('anthropic');
  await page.getByLabel('API key').fill('sk-wrong-0123456789');
  await page.getByRole('button', { name: 'Save key' }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'does not accept this key' });
  await alert.waitFor();
  same(asked, ['sk-wrong-0123456789'], 'the keys that the vendor was asked about');
  holds(!keys().includes('sk-wrong'), 'a wrong key is not kept');
  await page.getByLabel('Provider').selectOption('openai');
  await page.getByLabel('API key').fill('sk-other-0123456789');
  await page.getByRole('button', { name: 'Save key' }).click();
  await page.getByRole('alert').filter({ hasText: 'could not be checked' }).waitFor();
  await page.getByLabel('Provider').selectOption('anthropic');
  await page.getByLabel('API key').fill(RIGHT);
  await page.getByRole('button', { name: 'Save key' }).click();
  await page.getByText('The key for anthropic is saved.').waitFor();
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  same(await page.getByLabel('Model', { exact: true }).locator('option:checked').innerText(),
    'Default (claude-sonnet-5-5)', 'what is chosen at the box');
});

await test('s10_who_is_no_admin_is_told_whom_to_ask', async () => {
  await page.goto('/models');
  await page.getByRole('button', { name: /Remove/ }).first().click();
  await page.waitForURL(/note=/);
  await page.evaluate(async (password) => fetch('/api/v1/users', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
    body: JSON.stringify({ name: 'ann', password, role: 'user' }),
  }), PASSWORD);
  const anns = await browser.person(house.url);
  const ann = await anns.newPage();
  await signIn(ann, 'ann');
  await ann.goto('/');
  await ann.getByText('Ask an admin of this server').waitFor();
  same(await ann.getByLabel('API key').count(), 0, 'fields for a key');
  await anns.close();
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
vendor.close();
closing('browser_start');
