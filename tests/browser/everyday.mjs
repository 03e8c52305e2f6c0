// What people know of chat programs: chats at the side, Ctrl+K, copying, once more, choices at the box,
// links into long chats, pictures that come late, tables and code that stay whole.

import { Browser, House, closing, holds, rested, same, say, setUp, test, until } from './lib.mjs';

const joined = '👩\u200d👩';
const script = `
when: "table"
says: |
  The **numbers**:

  | Name of the thing | One more column with words | Another column with words | Sum |
  |---|---|---|---:|
  | a_rather_long_name_of_something | some words that fill the cell | and more of them here | 1,204 |

  \`\`\`python
  print("${joined}")
  \`\`\`

  \`\`\`mermaid
  graph LR
  A[One] --> B[Two]
  \`\`\`
end
says: Line.
`;
const house = await House.start({ script });
const browser = await Browser.start();
const context = await browser.person(house.url, { viewport: { width: 1280, height: 860 } });
await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: house.url });
const page = await context.newPage();
await setUp(house, page);
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
let chat = '';

await test('s12_tables_and_code_stay_whole_and_a_small_diagram_is_small', async () => {
  await page.goto('/');
  await say(page, 'The table, please.');
  await rested(page);
  chat = new URL(page.url()).pathname;
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 860 });
    const cell = page.getByRole('cell', { name: '1,204' });
    const line = await cell.evaluate((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getClientRects().length;
    });
    same(line, 1, `lines of a number at ${width} px`);
    const drawn = await page.locator('.drawing svg').evaluate((svg) => svg.getBoundingClientRect().width);
    holds(drawn > 40 && drawn < 400, `two boxes are ${drawn} px wide at ${width} px`);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  const code = await page.locator('.code-block code').innerText();
  holds(code.includes(joined) && !code.includes('U+200D'), `an emoji is whole in code: ${code}`);
});

await test('s11_code_and_answers_are_copied_as_they_were_written', async () => {
  await page.getByRole('button', { name: 'Copy this code' }).click();
  await until('the code is copied', async () => (await clipboard()) === `print("${joined}")`);
  await page.getByRole('button', { name: /Copy this answer/ }).click();
  await until('the Markdown is copied', async () => (await clipboard()).startsWith('The **numbers**:'));
  holds((await clipboard()).includes('|---|---|---|---:|'), 'a table is copied as Markdown');
});

await test('s11_an_answer_is_asked_for_again_in_a_copy', async () => {
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForURL((url) => url.pathname.startsWith('/chats/') && url.pathname !== chat);
  await rested(page);
  await page.getByRole('cell', { name: '1,204' }).waitFor();
});

/** The script of the chats at the side has run: it comes after the page. */
async function sideIsLive() {
  const address = await until('its script is there', () => page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => name).find((name) => name.endsWith('/side.js'))));
  await page.evaluate((address) => import(address), address);
}

await test('s7_chats_stand_at_the_side_are_found_and_renamed_in_place', async () => {
  await page.goto('/');
  await say(page, 'Only a line about herons.');
  await rested(page);
  const side = page.getByRole('region', { name: 'Your chats' });
  const here = side.locator('a[aria-current]');
  await here.waitFor();
  await sideIsLive();
  await here.locator('xpath=..').hover();
  await side.getByRole('link', { name: /^Rename Only a line about herons/ }).click();
  const field = side.getByRole('textbox', { name: 'New name of this chat' });
  await field.fill('Herons');
  await field.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Herons' }).waitFor();
  await page.reload();
  await side.getByRole('link', { name: 'Herons', exact: true }).waitFor();
  await side.getByRole('searchbox', { name: 'Search chats' }).fill('heron');
  await until('one chat is left', async () => (await side.getByRole('listitem').count()) === 1);
  // Pages that come without the list get it.
  await page.goto('/settings');
  await side.getByRole('link', { name: 'Herons', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Herons' }).waitFor();
});

await test('s10_ctrl_k_goes_to_a_chat_or_a_page', async () => {
  await page.goto('/files');
  await page.locator('body').press('Control+k');
  const field = page.getByRole('combobox', { name: 'Go to a chat or page' });
  await field.fill('heron');
  await page.getByRole('option', { name: /Herons/ }).waitFor();
  await field.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Herons' }).waitFor();
  await page.waitForLoadState();
  await page.locator('body').press('Control+k');
  await field.fill('usage');
  await page.getByRole('option', { name: /Usage/ }).waitFor();
  await field.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
});

await test('s11_permission_and_thinking_are_chosen_at_the_box', async () => {
  await page.goto(chat);
  await page.locator('html.scripted').waitFor({ state: 'attached' });
  await page.getByLabel('Permission', { exact: true }).selectOption('plan');
  await page.locator('#status[data-permission="plan"]').waitFor({ state: 'attached' });
  await page.getByLabel('Thinking', { exact: true }).selectOption('low');
  await page.locator('#status[data-thinking="low"]').waitFor({ state: 'attached' });
  await page.reload();
  same(await page.getByLabel('Permission', { exact: true }).inputValue(), 'plan', 'what is chosen after a reload');
});

await test('s11_a_picture_that_comes_late_does_not_push_the_answer_away', async () => {
  const canvas = await page.evaluate(() => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [900, 900];
    canvas.getContext('2d').fillRect(0, 0, 900, 900);
    return canvas.toDataURL('image/png').split(',')[1];
  });
  await page.route(/\/blobs\//, async (route) => {
    await new Promise((done) => setTimeout(done, 700));
    await route.continue().catch(() => {});
  });
  await page.goto('/');
  await page.locator('html.scripted').waitFor({ state: 'attached' });
  await page.locator('#files').setInputFiles({ name: 'black.png', mimeType: 'image/png', buffer: Buffer.from(canvas, 'base64') });
  await say(page, 'Look at this.');
  await rested(page);
  await until('the picture is there', () => page.locator('.picture img').evaluate((img) => img.complete && img.naturalHeight > 0));
  await until('the answer is in sight', () => page.getByText('Line.', { exact: true }).last().evaluate((line) => {
    const { top, bottom } = line.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }));
  await page.unroute(/\/blobs\//);
});

await test('s7_a_link_into_a_long_chat_shows_its_place_at_once', async () => {
  const long = await page.evaluate(async () => {
    const post = async (path, body) => {
      const answer = await fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
        body: JSON.stringify(body),
      });
      return answer.json();
    };
    const { id } = await post('/api/v1/sessions', {});
    for (let n = 0; n < 90; n += 1) {
      await post(`/api/v1/sessions/${id}/input`, { content: [{ type: 'text', text: `Message number ${n}.` }] });
      for (;;) {
        const { status } = await (await fetch(`/api/v1/sessions/${id}`)).json();
        if (status !== 'running') break;
        await new Promise((done) => setTimeout(done, 5));
      }
    }
    return id;
  });
  await page.goto(`/chats/${long}?from=0`);
  const early = await page.locator('li.entry', { hasText: 'Message number 5.' }).getAttribute('id');
  await page.goto(`/chats/${long}`);
  await page.locator('html.scripted').waitFor({ state: 'attached' });
  same(await page.locator(`#${early}`).count(), 0, 'the entry before it is asked for');
  let asked = 0;
  page.on('request', (request) => { if (request.url().includes('/entries?')) asked += 1; });
  const took = await page.evaluate(async (id) => {
    const began = performance.now();
    location.hash = id;
    while (!document.getElementById(id)) await new Promise((done) => setTimeout(done, 2));
    return performance.now() - began;
  }, early);
  console.log(`      a link into a chat of 180 messages: ${Math.round(took)} ms`);
  same(asked, 1, 'requests that a link takes');
  await until('it is in sight', () => page.locator(`#${early}`).evaluate((entry) => {
    const { top, bottom } = entry.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }));
  // What is left out is had by a button, and then nothing is missing and nothing twice.
  const shown = () => page.locator('#log > li[id]').count();
  while ((await page.locator('li.gap').count()) > 0) {
    const before = await shown();
    // Pressed twice, it is done once. A real second click may land on what comes in.
    await page.locator('li.gap button').evaluate((button) => { button.click(); button.click(); });
    await until('some of it is there', async () => (await shown()) > before);
  }
  while (await page.locator('#older').isVisible()) {
    const before = await page.locator('#log > li').count();
    await page.locator('#older').click();
    await until('there are more', async () => (await page.locator('#log > li').count()) > before);
  }
  const ids = await page.locator('#log > li').evaluateAll((all) => all.map((one) => one.id));
  await page.goto(`/chats/${long}?from=0`);
  same(ids, await page.locator('#log > li').evaluateAll((all) => all.map((one) => one.id)), 'the entries');
  // Earlier ones that come late do not stand before those of a link that was followed meanwhile.
  await page.goto(`/chats/${long}`);
  await page.locator('html.scripted').waitFor({ state: 'attached' });
  let free;
  const held = new Promise((done) => { free = done; });
  await page.route(/\/entries\?before=/, async (route) => {
    const answer = await route.fetch();
    await held;
    await route.fulfill({ response: answer });
  });
  const late = page.waitForResponse(/\/entries\?before=/);
  await page.locator('#older').click();
  await page.evaluate(async (id) => {
    location.hash = id;
    while (!document.getElementById(id)) await new Promise((done) => setTimeout(done, 2));
  }, early);
  free();
  await (await late).finished();
  await new Promise((done) => setTimeout(done, 200));
  const places = await page.locator('#log > li[id^="e"]').evaluateAll((all) => all.map((one) => Number(one.id.slice(1))));
  same(places, [...places].sort((a, b) => a - b), 'the order of the entries');
  await page.unroute(/\/entries\?before=/);
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_everyday');
