// A chat as people use it: streaming, approval with a diff, undo, reload, two tabs, a cut line,
// attachments, the kill switch (S3, S4, S11).

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Browser, House, Wire, closing, conversation, holds, rested, same, say, setUp, signIn, test, until,
} from './lib.mjs';

const words = Array.from({ length: 120 }, (_, n) => `word${n + 1}`).join(' ');
const script = `
when: "greet"
think: I should look first.
says: I will change the note.
calls: write_file {"path": "notes.md", "content": "# Notes\\n\\nHello there.\\n"}

says: The note greets now.
end
when: "stream"
pace: 80ms
says: ${words}
end
when: "picture"
expect: image
says: I see a picture.
end
when: "paper"
says: I have the paper.
end
when: "stop me"
pace: 1000ms
says: ${words}
end
when: "And now"
expect: body "word1 word2"
expect: "cut off"
says: I know how far I came.
end
says: Well.
`;

/** A PDF of one page. */
function pdf() {
  const text = 'BT /F1 24 Tf 72 720 Td (A paper) Tj ET';
  const parts = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const places = parts.map((part, n) => {
    const at = file.length;
    file += `${n + 1} 0 obj\n${part}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const start = file.length;
  file += `xref\n0 ${parts.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  return `${file}trailer\n<< /Size ${parts.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
}

const house = await House.start({ script, files: { 'notes.md': '# Notes\n' } });
const browser = await Browser.start();
const context = await browser.person(house.url);
const page = await context.newPage();
await setUp(house, page);
const note = () => readFileSync(join(house.work, 'notes.md'), 'utf8');

await test('s11_a_change_is_asked_shown_approved_and_undone', async () => {
  await page.goto('/');
  await say(page, 'Please greet in the note.');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  holds((await dialog.innerText()).includes('Hello there.'), 'the dialog shows the diff');
  same(note(), '# Notes\n', 'the file before anybody agreed');
  await dialog.getByRole('button', { name: 'Allow once' }).click();
  await page.getByText('The note greets now.').waitFor();
  same(note(), '# Notes\n\nHello there.\n', 'the file afterwards');
  await page.getByRole('link', { name: /Undo/ }).click();
  await page.getByRole('heading', { name: 'Changes to undo' }).waitFor();
  await page.getByRole('button', { name: 'Restore these files' }).click();
  await until('the file is as it was', () => note() === '# Notes\n');
});

await test('s11_what_is_denied_does_not_happen', async () => {
  await page.goto('/');
  await say(page, 'Please greet in the note, once more.');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await dialog.getByLabel(/Reason/).fill('not now');
  await dialog.getByRole('button', { name: 'Deny' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText('The note greets now.').waitFor();
  same(note(), '# Notes\n', 'the file');
});

await test('s3_text_streams_and_a_reload_in_the_middle_shows_the_same', async () => {
  // In a chat that is open: what is said is seen from its first word on.
  await page.goto('/');
  await say(page, 'Hello.');
  await rested(page);
  await say(page, 'Please stream.');
  await page.getByText(/word5\b/).waitFor();
  holds(!(await page.locator('main').innerText()).includes('word120'), 'it is still being written');
  await page.reload();
  await page.getByText(/word120\b/).waitFor();
  await rested(page);
  const text = (await conversation(page)).join('\n');
  same(text.match(/word1\b/g)?.length, 1, 'how often the first word stands there');
  same(text.match(/word120\b/g)?.length, 1, 'how often the last word stands there');
  const live = await conversation(page);
  await page.reload();
  same(await conversation(page), live, 'the page as it grew and as it is made anew');
});

await test('s3_two_tabs_and_another_browser_see_the_same', async () => {
  await page.goto('/');
  await say(page, 'Please stream for two.');
  const second = await context.newPage();
  await second.goto(page.url());
  const others = await browser.person(house.url);
  const third = await others.newPage();
  await signIn(third, 'admin');
  await third.goto(page.url());
  for (const tab of [page, second, third]) {
    await tab.getByText(/word120\b/).waitFor();
    await rested(tab);
  }
  await until('all show the same', async () => {
    const all = await Promise.all([page, second, third].map(conversation));
    return all.every((one) => JSON.stringify(one) === JSON.stringify(all[0]));
  });
  await second.close();
  await others.close();
});

await test('s3_ten_seconds_without_a_line_lose_nothing', async () => {
  const wire = await Wire.to(house.bind);
  const far = await browser.person(wire.url);
  const there = await far.newPage();
  await signIn(there, 'admin');
  await there.goto('/');
  await say(there, 'Please stream over a bad line.');
  await there.getByText(/word5\b/).waitFor();
  wire.down();
  await there.getByText(/connection|offline|trying again/i).first().waitFor();
  await new Promise((done) => setTimeout(done, 10000));
  wire.up();
  await there.getByText(/word120\b/).waitFor();
  await rested(there);
  const after = await conversation(there);
  await there.reload();
  same(after, await conversation(there), 'the page that lost its line and the page made anew');
  await far.close();
  wire.close();
});

await test('s11_a_picture_and_a_paper_go_along', async () => {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  const picture = join(house.folder, 'dot.png');
  writeFileSync(picture, png);
  await page.goto('/');
  await page.getByLabel('Attach files').setInputFiles(picture);
  await page.getByText('dot.png').first().waitFor();
  await say(page, 'What is in the picture?');
  await page.getByText('I see a picture.').waitFor();
  const shown = page.getByRole('list', { name: 'Conversation' }).locator('img').first();
  await until('the picture is shown', () => shown.evaluate((img) => img.complete && img.naturalWidth > 0));
  const paper = join(house.folder, 'paper.pdf');
  writeFileSync(paper, pdf());
  await page.getByLabel('Attach files').setInputFiles(paper);
  await page.getByText('paper.pdf').first().waitFor();
  await say(page, 'And the paper?');
  await page.getByText('I have the paper.').waitFor();
  holds((await conversation(page)).join('\n').includes('paper.pdf'), 'the paper is named');
});

await test('s11_a_run_is_stopped', async () => {
  await page.goto('/');
  await say(page, 'Please stop me.');
  await page.getByText(/word2\b/).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await rested(page);
  const stopped = async () => (await conversation(page)).join('\n');
  // What was said stays, is marked as only a beginning, and reads the same when the page is made anew.
  holds(/word2\b/.test(await stopped()), 'the words that came stay');
  holds((await stopped()).includes('Cut off here: the run was ended.'), 'it is marked as cut off');
  const before = await conversation(page);
  await page.reload();
  same(await conversation(page), before, 'the page made anew');
  // The model knows what it had said, and that it was no more.
  await say(page, 'And now?');
  await page.getByText('I know how far I came.').waitFor();
});

const box = () => page.getByRole('textbox', { name: 'Message' });
const queued = () => page.locator('#queue > li:visible');

/** A run that is on, with two messages that wait for it. */
async function twoWait() {
  await page.goto('/');
  await say(page, 'Please stop me again.');
  await page.getByText(/word1\b/).waitFor();
  for (const words of ['and then the docs', 'and the tests']) {
    await say(page, words);
    await page.locator('#queue').getByText(words).waitFor();
    await until('the box is empty', async () => (await box().inputValue()) === '');
  }
}

await test('l12_what_waits_comes_back_when_a_run_is_stopped', async () => {
  await twoWait();
  await box().pressSequentially('half a th');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await rested(page);
  const back = 'and then the docs\nand the tests\nhalf a th';
  await until('the words are back', async () => (await box().inputValue()) === back);
  same(await box().evaluate((box) => box.selectionStart), back.length, 'the cursor stays with what was typed');
  await until('nothing waits in sight', async () => (await queued().count()) === 0);
  // A page that is made anew has them once, as a draft.
  await page.reload();
  await page.locator('html.scripted').waitFor({ state: 'attached' });
  await new Promise((done) => setTimeout(done, 1200));
  same(await box().inputValue(), back, 'the draft');
  await box().fill('');
});

await test('l12_what_waits_comes_back_when_a_run_is_ended_elsewhere', async () => {
  await twoWait();
  const chat = new URL(page.url()).pathname;
  const others = await browser.person(house.url);
  const there = await others.newPage();
  await signIn(there, 'admin');
  await there.goto(chat);
  await there.getByRole('button', { name: 'Stop', exact: true }).click();
  await rested(there);
  await until('the words are back', async () => (await box().inputValue()) === 'and then the docs\nand the tests');
  // Whoever did not say them reads that they were not sent, and keeps their own box.
  same(await there.getByRole('textbox', { name: 'Message' }).inputValue(), '', 'the box of the other one');
  await there.locator('#queue').getByText('not sent').first().waitFor();
  await others.close();
  await box().fill('');
});

await test('l12_what_is_taken_back_by_hand_comes_back', async () => {
  await twoWait();
  await page.locator('#queue > li').first().getByRole('button', { name: 'Take back' }).click();
  await until('the words are back', async () => (await box().inputValue()) === 'and then the docs');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await rested(page);
  await until('all is back', async () => (await box().inputValue()).includes('and the tests'));
  await box().fill('');
});

await test('s4_the_kill_switch_stops_everything_and_lets_go_again', async () => {
  await page.goto('/');
  await say(page, 'Please stop me by the switch.');
  await page.getByText(/word2\b/).waitFor();
  await page.getByRole('button', { name: /Stop all/ }).click();
  await page.getByText(/stopped/i).first().waitFor();
  await page.goto('/pause');
  await page.getByRole('button', { name: 'Release' }).first().click();
  await page.getByRole('button', { name: 'Stop', exact: true }).first().waitFor();
  await page.goto('/');
  await say(page, 'Hello again.');
  await page.getByText('Well.').waitFor();
});

await test('d9_a_page_that_is_open_says_when_the_server_cannot_work', async () => {
  // What it hears of the first look comes late, after what is the case by then.
  let answer;
  const wait = new Promise((done) => { answer = done; });
  const asked = page.waitForRequest('**/frame');
  await page.route('**/frame', async (route) => { await wait; await route.continue(); }, { times: 1 });
  await page.goto('/chats');
  await asked;
  const bar = page.locator('#amiss');
  const look = () => page.evaluate(() => document.dispatchEvent(new Event('weir:counts')));
  await page.route('**/frame', (route) => route.fulfill({ status: 503, body: '{}' }));
  await look();
  await bar.getByText('It resumes by itself').waitFor();
  const late = page.waitForResponse((response) => response.url().endsWith('/frame') && response.status() === 200);
  answer();
  await late;
  await new Promise((done) => setTimeout(done, 300));
  holds(await bar.isVisible(), 'it is said as long as it is so');
  await page.unroute('**/frame');
  await look();
  await bar.waitFor({ state: 'hidden' });
});

await test('s11_the_keyboard_alone_is_enough', async () => {
  await page.goto('/');
  await page.keyboard.type('Please greet by keyboard.');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await until('focus is in the dialog', () => dialog.evaluate((dialog) => dialog.contains(document.activeElement)));
  // Nothing that allows has the focus by itself: it is gone to.
  const allow = dialog.getByRole('button', { name: 'Allow once' });
  await until('it takes an answer', () => allow.isEnabled());
  for (let n = 0; n < 10 && !(await allow.evaluate((button) => button === document.activeElement)); n++) {
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await page.getByText('The note greets now.').waitFor();
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_chat');
