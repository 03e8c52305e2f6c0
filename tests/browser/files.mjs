// Files as they look: a note with its properties and what links to it, a canvas, a document, an image; by
// keyboard, on a telephone, in both themes, with nothing for axe to find (K3, K7, S10).
//   WEIR_BROWSER_SHOTS=FOLDER  keeps a picture of each

import {
  Browser, House, closing, holds, keepShot, lookFaults, same, setUp, test, testLooks, until,
} from './lib.mjs';

const canvas = {
  nodes: [
    { id: 'a', type: 'text', text: 'Why <b>roses</b>?', x: 0, y: 0, width: 240, height: 80 },
    { id: 'b', type: 'file', file: 'Garden.md', x: 400, y: 0, width: 240, height: 80 },
  ],
  edges: [{ id: 'e', fromNode: 'a', toNode: 'b', label: 'grows' }],
};
// One red pixel.
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
const house = await House.start({
  files: {
    '.obsidian/app.json': '{}',
    'Garden.md': '---\ntags: [garden]\nstatus: open\n---\n# Garden\n\nRoses and **beans**.\n\n- [ ] Water them\n',
    'days/Monday.md': 'Worked in the [[Garden|green place]].\n',
    'Links.md': '# Links\n\nTo [[Garden#Garden|the garden]], [[Nobody]], ![[Garden]] and ![[dot.png]].\n',
    'plan.canvas': JSON.stringify(canvas),
    'letter.rtf': '{\\rtf1 Dear {\\b Ann}, <img src=x onerror=alert(1)>}',
    'dot.png': Buffer.from(png, 'base64'),
    'broken.docx': 'PK\u0003\u0004 no more',
  },
});
const browser = await Browser.start();
const context = await browser.person(house.url, { viewport: { width: 1280, height: 860 } });
const page = await context.newPage();
await setUp(house, page);
const at = (path) => `/files?path=${encodeURIComponent(path)}`;

await test('k3_a_note_is_read_and_its_links_are_followed_by_keyboard', async () => {
  await page.goto(at('Garden.md'));
  const prose = page.locator('.prose');
  holds((await prose.innerText()).includes('Roses and beans.'), 'the note reads as text');
  holds(!(await prose.innerText()).includes('status'), 'its properties stand apart');
  holds((await page.locator('pre.code').first().innerText()).includes('status: open'), 'its properties are shown');
  const links = page.getByRole('region', { name: 'Linked from' });
  holds((await links.innerText()).includes('a card of the canvas shows it'), 'a canvas is told in words');
  // From the top of the page to the note that links, with the keys alone.
  const wanted = await until('the link is reached', async () => {
    await page.keyboard.press('Tab');
    return page.evaluate(() => document.activeElement?.textContent?.trim() === 'days/Monday.md');
  });
  holds(wanted, 'the link takes the focus');
  await page.keyboard.press('Enter');
  await prose.getByText('Worked in the').waitFor();
  await page.goBack();
  await links.waitFor();
});

await test('k2_links_of_a_note_lead_to_their_pages_by_keyboard', async () => {
  await page.goto(at('Links.md'));
  const prose = page.locator('.prose');
  const text = await prose.innerText();
  holds(text.includes('Nobody (leads nowhere)'), 'a broken link says so in words');
  holds(text.includes('Garden (embedded)') && !text.includes('[['), 'nothing is left of the brackets');
  const image = prose.getByRole('img', { name: 'dot.png' });
  await until('the embedded image comes', () => image.evaluate((element) => element.naturalWidth === 1));
  await prose.getByRole('link', { name: 'the garden' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/path=Garden\.md#section-1$/);
  await prose.getByText('Roses and').waitFor();
  same(await prose.locator('#section-1').innerText(), 'Garden', 'the heading has the anchor');
});

await test('k7_a_canvas_is_drawn_and_said_in_words', async () => {
  await page.goto(at('plan.canvas'));
  const drawing = page.getByRole('group', { name: 'Canvas' });
  holds((await drawing.locator('svg').boundingBox()).height > 20, 'it is drawn');
  same(await drawing.locator('b').count(), 0, 'what a card says is text');
  await drawing.focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('summary', { hasText: 'In words' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Garden.md: grows').waitFor();
  await page.keyboard.press('Enter');
});

await test('k7_a_document_and_an_image_are_shown_and_a_broken_one_says_so', async () => {
  await page.goto(at('letter.rtf'));
  await page.getByText('Dear Ann').waitFor();
  same(await page.locator('.prose img').count(), 0, 'what a document says is text');
  await page.goto(at('dot.png'));
  await until('the image came', () => page.locator('.picture img').evaluate((image) => image.naturalWidth === 1));
  await page.goto(at('broken.docx'));
  await page.getByText('cannot be shown').waitFor();
});

await testLooks('s10_files_as_they_look', { browser, house, page }, async (tab, look) => {
  const faults = [];
  for (const path of ['Garden.md', 'Links.md', 'plan.canvas', 'letter.rtf', 'dot.png', 'broken.docx']) {
    await tab.goto(at(path));
    faults.push(...await lookFaults(tab, path));
    await keepShot(tab, `file-${path.replace(/\W+/g, '-')}-${look}`);
  }
  return faults;
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_files');
