// No approval that nobody gave (G4): every key and every way of pressing by mistake, while a question
// stands in the chat, in the inbox, without scripts and on a telephone.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Browser, House, closing, holds, rested, same, say, setUp, test, timeless, tooWide, until,
} from './lib.mjs';

const script = `
when: "greet"
calls: write_file {"path": "notes.md", "content": "changed"}

says: It is over.
end
when: "look at both"
calls: read_file {"path": "left.md"}
calls: read_file {"path": "right.md"}

says: It is over.
end
says: Well.
`;

const UNTOUCHED = '# Notes\n';
const config = '[permissions]\nask = ["Read(left.md)", "Read(right.md)"]\n';
const files = { 'notes.md': UNTOUCHED, 'left.md': 'one\n', 'right.md': 'two\n' };
const house = await House.start({ script, config, files });
const browser = await Browser.start();
const context = await browser.person(house.url);
const page = await context.newPage();
await setUp(house, page);
const note = () => readFileSync(join(house.work, 'notes.md'), 'utf8');
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** A new chat in which a question stands. */
async function asked(on = page) {
  await on.goto('/');
  await say(on, 'Please greet.');
  const ask = on.locator('[data-ask]');
  await ask.waitFor();
  return ask;
}

/** The question takes answers now. */
const ready = (ask) => until('it takes an answer', () => ask.getByRole('button', { name: 'Deny' }).isEnabled());

async function denied(on = page) {
  await on.locator('[data-ask]').waitFor({ state: 'detached' });
  await on.getByText('It is over.').waitFor();
  same(note(), UNTOUCHED, 'the file');
}

async function refuse(ask, on = page) {
  await ready(ask);
  await ask.getByRole('button', { name: 'Deny' }).click();
  await denied(on);
}

await test('g4_enter_in_the_reason_denies', async () => {
  const ask = await asked();
  await ready(ask);
  await ask.getByLabel(/Reason/).fill('No! Never touch this file.');
  await page.keyboard.press('Enter');
  await denied();
});

await test('g4_nothing_that_allows_has_the_focus', async () => {
  const ask = await asked();
  await ready(ask);
  same(await page.evaluate(() => document.activeElement.tagName), 'H2', 'what has the focus');
  for (const key of ['Enter', 'Space', 'y', 'a', 'Enter']) await page.keyboard.press(key);
  await pause(300);
  same(await ask.count(), 1, 'questions');
  same(note(), UNTOUCHED, 'the file');
  await refuse(ask);
});

await test('g4_who_types_on_answers_nothing_and_loses_no_word', async () => {
  await page.goto('/');
  await say(page, 'Hello.');
  await rested(page);
  const box = page.getByRole('textbox', { name: 'Message' });
  const ask = page.locator('[data-ask]');
  let words = 'and then I go on';
  await box.pressSequentially(words, { delay: 70 });
  // Asked for in another tab, the question comes between two letters.
  await page.evaluate(async () => {
    const { session } = document.getElementById('chat').dataset;
    const answer = await fetch(`/api/v1/sessions/${session}/input`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
      body: JSON.stringify({ content: [{ type: 'text', text: 'Please greet.' }] }),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  });
  const type = async (letters) => {
    words += letters;
    await page.keyboard.type(letters, { delay: 70 });
  };
  await until('the question is there', async () => {
    await type(' y');
    return (await ask.count()) > 0;
  });
  await type(' typing for a while, as people do');
  same(await box.inputValue(), words, 'the box');
  same(note(), UNTOUCHED, 'the file');
  await refuse(ask);
  await box.fill('');
});

await test('g4_a_question_takes_no_answer_in_its_first_half_second', async () => {
  const tab = await timeless({ browser, house, page });
  const ask = await asked(tab);
  const allow = ask.getByRole('button', { name: 'Allow once' });
  holds(await allow.isDisabled(), 'it can be pressed at once');
  const box = await allow.boundingBox();
  await tab.mouse.dblclick(box.x + 5, box.y + 5);
  await tab.clock.runFor(450);
  await tab.mouse.dblclick(box.x + 5, box.y + 5);
  for (let n = 0; n < 12; n++) {
    await tab.keyboard.press('Space');
    await tab.clock.runFor(60);
  }
  holds(await allow.isDisabled(), 'keys in between do not count');
  same(note(), UNTOUCHED, 'the file');
  await tab.clock.runFor(500);
  await refuse(ask, tab);
  await tab.context().close();
});

await test('g4_a_held_key_answers_nothing', async () => {
  const ask = await asked();
  for (const key of ['Enter', 'Space']) {
    for (let n = 0; n < 20; n++) await page.keyboard.down(key);
    await page.keyboard.up(key);
  }
  await pause(100);
  same(note(), UNTOUCHED, 'the file');
  await refuse(ask);
});

await test('g4_after_escape_the_question_stays_with_its_buttons', async () => {
  const ask = await asked();
  await page.locator('#asks dialog:modal').waitFor();
  await page.keyboard.press('Escape');
  await until('it is no dialog any more', async () => (await page.locator('#asks dialog:modal').count()) === 0);
  await until('the card stands in the page', () => ask.isVisible());
  holds(await ask.getByRole('button', { name: 'Allow once' }).isVisible(), 'its buttons are gone');
  await page.keyboard.press('Escape');
  holds(await ask.isVisible(), 'the card is gone after a second Escape');
  await refuse(ask);
});

await test('g4_after_escape_it_can_still_be_allowed_by_a_click', async () => {
  const ask = await asked();
  await page.locator('#asks dialog:modal').waitFor();
  await page.keyboard.press('Escape');
  await ready(ask);
  await ask.getByRole('button', { name: 'Allow once' }).click();
  await page.getByText('It is over.').waitFor();
  same(note(), 'changed', 'the file');
  await rested(page);
  await page.getByRole('link', { name: /Undo/ }).click();
  await page.getByRole('button', { name: 'Restore these files' }).click();
  await until('the file is as it was', () => note() === UNTOUCHED);
});

await test('g4_of_two_that_were_put_off_a_second_click_does_not_answer_the_next', async () => {
  const tab = await timeless({ browser, house, page });
  await tab.goto('/');
  await say(tab, 'Please look at both.');
  const cards = tab.locator('#asks [data-ask]');
  await until('both are asked', async () => (await cards.count()) === 2);
  for (let n = 1; n <= 2; n += 1) {
    // It comes forward when no key was pressed for a moment.
    await until('a question comes forward', async () => {
      await tab.clock.runFor(100);
      return (await tab.locator('#asks dialog:modal').count()) === 1;
    });
    await tab.keyboard.press('Escape');
    await until('it is put off', async () => (await tab.locator('#asks dialog[data-later]').count()) === n);
  }
  await tab.clock.runFor(600);
  await ready(cards.first());
  await ready(cards.last());
  // The line is slow: the first goes when the buttons of the other can be pressed again.
  let answer, sent = 0;
  const wait = new Promise((done) => { answer = done; });
  const held = tab.waitForRequest(/\/decide$/);
  await tab.route(/\/decide$/, async (route) => {
    sent += 1;
    await wait;
    await route.continue();
  });
  await cards.first().getByRole('button', { name: 'Deny' }).click();
  await held;
  await tab.clock.runFor(1000);
  await ready(cards.last());
  answer();
  await until('one is left', async () => (await cards.count()) === 1);
  const allow = cards.first().getByRole('button', { name: 'Allow once' });
  holds(await allow.isDisabled(), 'the next can be pressed at once');
  await allow.scrollIntoViewIfNeeded();
  const box = await allow.boundingBox();
  await tab.mouse.click(box.x + 5, box.y + 5);
  await tab.clock.runFor(450);
  await tab.mouse.click(box.x + 5, box.y + 5);
  same([sent, await cards.count()], [1, 1], 'answers, and questions');
  await tab.clock.runFor(600);
  await refuse(cards.first(), tab);
  await tab.context().close();
});

await test('g4_tab_leads_to_every_answer_and_presses_none', async () => {
  const ask = await asked();
  await ready(ask);
  const seen = [];
  for (let n = 0; n < 12; n++) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => document.activeElement.innerText || document.activeElement.name));
  }
  for (const name of ['Allow once', 'Deny', 'reason']) holds(seen.includes(name), `${name} is not reached: ${seen}`);
  same(note(), UNTOUCHED, 'the file');
  await refuse(ask);
});

await test('g4_in_the_inbox_enter_in_the_reason_denies', async () => {
  await asked();
  await page.goto('/approvals');
  const card = page.locator('article.ask');
  await ready(card);
  await card.getByLabel(/Reason/).fill('no');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing needs your approval').waitFor();
  same(note(), UNTOUCHED, 'the file');
});

await test('g4_in_the_inbox_a_second_click_does_not_answer_the_next', async () => {
  await asked();
  await asked();
  const tab = await timeless({ browser, house, page });
  await tab.goto('/approvals');
  const cards = tab.locator('article.ask');
  same(await cards.count(), 2, 'questions');
  await tab.clock.runFor(500);
  await ready(cards.first());
  // The line is slow: the answer arrives when its buttons can be pressed again.
  let answer;
  const wait = new Promise((done) => { answer = done; });
  const held = tab.waitForRequest(/\/decide$/);
  await tab.route(/\/decide$/, async (route) => {
    await wait;
    await route.continue();
  });
  const deny = cards.first().getByRole('button', { name: 'Deny' });
  await deny.scrollIntoViewIfNeeded();
  const box = await deny.boundingBox();
  await tab.mouse.click(box.x + 5, box.y + 5);
  await held;
  await tab.clock.runFor(1000);
  await ready(cards.last());
  answer();
  await until('one is left', async () => (await cards.count()) === 1);
  holds(await cards.first().getByRole('button', { name: 'Allow once' }).isDisabled(), 'the next can be pressed at once');
  await tab.mouse.click(box.x + 5, box.y + 5);
  await tab.keyboard.press('Enter');
  same(await cards.count(), 1, 'questions');
  await tab.clock.runFor(500);
  await ready(cards.first());
  await cards.first().getByRole('button', { name: 'Deny' }).click();
  await tab.getByText('Nothing needs your approval').waitFor();
  same(note(), UNTOUCHED, 'the file');
  await tab.context().close();
});

await test('g4_without_scripts_enter_in_the_reason_denies', async () => {
  for (const inbox of [false, true]) {
    await asked();
    const plain = await browser.person(house.url, {
      javaScriptEnabled: false,
      storageState: await context.storageState(),
    });
    const bare = await plain.newPage();
    await bare.goto(inbox ? '/approvals' : page.url());
    await bare.getByLabel(/Reason/).fill('no');
    await bare.keyboard.press('Enter');
    await bare.waitForLoadState();
    await denied();
    await plain.close();
  }
});

await test('g4_on_a_telephone_nothing_is_allowed_by_itself', async () => {
  const small = await timeless({ browser, house, page }, {
    viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true,
  });
  await asked();
  await small.goto(page.url());
  const ask = small.locator('[data-ask]');
  await ask.waitFor();
  const box = await ask.getByRole('button', { name: 'Allow once' }).boundingBox();
  await small.touchscreen.tap(box.x + 5, box.y + 5);
  await small.clock.runFor(500);
  await ready(ask);
  same(note(), UNTOUCHED, 'the file');
  await ask.getByLabel(/Reason/).tap();
  await small.keyboard.type('not this');
  await small.keyboard.press('Enter');
  await denied(small);
  await small.context().close();
});

await test('g4_the_inbox_on_a_telephone_allows_nothing_by_itself', async () => {
  await asked();
  await asked();
  const small = await timeless({ browser, house, page }, {
    viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true,
  });
  await small.goto('/approvals');
  const cards = small.locator('article.ask');
  same(await cards.count(), 2, 'questions');
  const first = cards.first();
  const wide = await tooWide(small);
  holds(wide <= 0, `it is ${wide} px too wide`);
  for (const name of ['Allow once', 'Deny']) {
    const button = first.getByRole('button', { name });
    const { x, width, height } = await button.boundingBox();
    holds(x >= 0 && x + width <= 360, `${name} stands outside of the page`);
    holds(height >= 40, `${name} is ${height} px high: too low for a finger`);
  }
  // A tap in the first half second, and Enter in the reason, allow nothing.
  await small.reload();
  await first.getByRole('button', { name: 'Allow once' }).scrollIntoViewIfNeeded();
  const box = await first.getByRole('button', { name: 'Allow once' }).boundingBox();
  await small.touchscreen.tap(box.x + 5, box.y + 5);
  await small.clock.runFor(500);
  await ready(first);
  same(await cards.count(), 2, 'questions');
  same(note(), UNTOUCHED, 'the file');
  await first.getByLabel(/Reason/).tap();
  await small.keyboard.type('not this');
  await small.keyboard.press('Enter');
  await until('one is left', async () => (await cards.count()) === 1);
  await small.clock.runFor(500);
  await ready(cards.first());
  await cards.first().getByRole('button', { name: 'Deny' }).tap();
  await small.getByText('Nothing needs your approval').waitFor();
  same(note(), UNTOUCHED, 'the file');
  await small.context().close();
});

await test('g4_a_screen_reader_is_told_what_is_asked_and_by_which_buttons', async () => {
  const ask = await asked();
  const dialog = page.getByRole('dialog', { name: 'Allow this?' });
  holds(await dialog.isVisible(), 'the dialog has no name');
  const names = await dialog.getByRole('button').allInnerTexts();
  for (const name of ['Allow once', 'Deny']) holds(names.includes(name), `no button ${name}: ${names}`);
  await refuse(ask);
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_approvals');
