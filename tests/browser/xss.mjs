// What attackers write, said by the model and read in a real Chromium: nothing of it runs, nothing
// is asked of another host (S12). The vectors are those of the renderer's own tests: many in one answer,
// in the chat as it streams, after a reload and behind a shared link; and each by itself, as a file.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Browser, House, closing, holds, same, say, setUp, test, until } from './lib.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const file = join(here, '../../crates/weir-server/tests/it/vectors.json');
const vectors = JSON.parse(readFileSync(file, 'utf8'));
/** Vectors of one answer: a text has bounds of its own for formulas and drawings. */
const TOGETHER = 60;
const answers = [];
for (let at = 0; at < vectors.length; at += TOGETHER) answers.push(vectors.slice(at, at + TOGETHER));

// The script is lines: a control sign would end one. Those vectors are the renderer's own tests' alone.
const line = (text) => text.split('\n').map((part) => `  ${part}`).join('\n');
const plain = (text) => ![...text].some((c) => c < ' ' && c !== '\n');
const script = answers.map((some, at) => `says: |\n${
  some.filter(plain).map(line).join('\n\n')}\n\n  <!-- --> END-${at}\n`).join('\n---\n');

const files = Object.fromEntries(vectors.map((text, at) => [`v/${at}.md`, text]));
const house = await House.start({ script, files });
const browser = await Browser.start();
const owner = await browser.person(house.url);
const page = await owner.newPage();
const ran = (at) => at.evaluate(() => window.__ran ?? 0);

/** Moves over and clicks at what could be clicked at: some vectors wait for that. */
async function touch(at) {
  await at.evaluate(() => {
    for (const one of document.querySelectorAll('main *')) {
      for (const kind of ['pointerover', 'mouseover', 'focus', 'toggle', 'animationstart']) {
        one.dispatchEvent(new Event(kind, { bubbles: true }));
      }
    }
  });
}

await test('the first account is made', async () => { await setUp(house, page); });

await test(`s12_no_vector_runs_in_the_chat (${vectors.length} vectors)`, async () => {
  holds(vectors.length >= 200, 'there are 200 vectors');
  for (let at = 0; at < answers.length; at += 1) {
    await say(page, `question ${at}`);
    await until(`answer ${at} is there`, () => page.getByText(`END-${at}`).count(), 60000);
    await touch(page);
    same(await ran(page), 0, `scripts that ran after answer ${at}`);
  }
  await page.reload();
  await until('the chat is there again', () => page.getByText(`END-${answers.length - 1}`).count());
  await touch(page);
  same(await ran(page), 0, 'scripts that ran after loading again');
  browser.clean();
});

await test('s12_no_vector_runs_behind_a_shared_link', async () => {
  const session = new URL(page.url()).pathname.split('/')[2];
  const path = await page.evaluate(async (session) => {
    const answer = await fetch('/api/v1/shares', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
      body: JSON.stringify({ session, tools: true }),
    });
    return (await answer.json()).path;
  }, session);
  const stranger = await browser.person(house.url);
  const shared = await stranger.newPage();
  await shared.goto(path);
  await until('the shared chat is there', () => shared.getByText('END-0').count());
  await touch(shared);
  same(await ran(shared), 0, 'scripts that ran behind the link');
  const links = await shared.locator('main a').evaluateAll((all) => all.map((one) => one.protocol));
  holds(links.every((one) => ['http:', 'https:', 'mailto:'].includes(one)), `links lead out: ${links}`);
  browser.clean();
});

await test('s12_no_vector_runs_as_a_file', async () => {
  let next = 0;
  const reader = async () => {
    const tab = await owner.newPage();
    while (next < vectors.length) {
      const at = next++;
      await tab.goto(`/files?path=v%2F${at}.md`, { waitUntil: 'domcontentloaded' });
      // What holds a NUL is no text, and is only said.
      const texts = await tab.locator('main .prose').count();
      same(texts, vectors[at].includes('\0') ? 0 : 1, `texts on the page of file ${at}`);
      await touch(tab);
      same(await ran(tab), 0, `scripts that ran in ${JSON.stringify(vectors[at])}`);
    }
    await tab.close();
  };
  await Promise.all([reader(), reader(), reader(), reader()]);
  browser.clean();
});

await browser.close();
await house.stop();
closing('xss');
