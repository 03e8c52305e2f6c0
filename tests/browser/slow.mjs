// A slow or breaking line while something is said: nothing that was written is lost, and nothing is said
// twice. Somebody types on, attaches, presses twice, reloads, takes back, is signed out meanwhile. Not here:
// what streams back (`chat`), and keys that come too fast for other parts of the page (`hasty`).

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Browser, House, closing, conversation, holds, rested, same, signIn, setUp, test, until } from './lib.mjs';

const house = await House.start({ script: 'says: Well.\n' });
const browser = await Browser.start();
const context = await browser.person(house.url);
let page = await context.newPage();
await setUp(house, page);
const paper = join(house.folder, 'paper.txt');
writeFileSync(paper, 'one line\n');

const box = () => page.getByRole('textbox', { name: 'Message' });
const chosen = () => page.locator('#chosen li');
const outgoing = () => page.locator('.outgoing');
const scripted = () => page.locator('html.scripted').waitFor({ state: 'attached' });
const chats = () => page.evaluate(async () =>
  (await (await fetch('/api/v1/sessions?limit=100')).json()).items.length);
/** How often these words stand in the conversation. */
const count = async (words) => (await conversation(page)).join('\n').split(words).length - 1;
/** What a person said in the chat that is open. */
const saidHere = async () => (await page.locator('#log > li.person .words').allInnerTexts()).map((text) => text.trim());

/** Whether this browser keeps so many files of the message in the box of a new chat: until then a reload loses them. */
const keepsFiles = (count) => until(`${count} files are kept`, () => page.evaluate(async (count) => {
  const key = Object.keys(sessionStorage).find((key) => /^weir-draft-.*new$/.test(key));
  // Opened before the page made it, it would be made without its parts.
  const isMade = (await indexedDB.databases()).some(({ name }) => name === 'weir');
  if (!key || !isMade) return false;
  const answer = (request) => new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
  const database = await answer(indexedDB.open('weir'));
  const { name } = JSON.parse(sessionStorage.getItem(key));
  const kept = await answer(database.transaction('files').objectStore('files').get(name));
  database.close();
  return kept?.files.length === count;
}, count));

/** A page for a new chat with nothing in its box, as a tab of its own. */
async function fresh() {
  await page.close();
  page = await context.newPage();
  await page.goto('/');
  await scripted();
  await box().fill('');
}

/**
 * Holds what is sent: `let go()`. `arrives`: the server has it at once, its answer is held; `how`: what then
 * becomes of the answer.
 */
async function hold({ arrives = false } = {}) {
  let free;
  const held = new Promise((done) => { free = done; });
  const handled = [];
  const is = (url) => /^\/chats(\/[^/]+\/say)?$/.test(url.pathname);
  const handle = async (route) => {
    const answer = arrives ? await route.fetch() : null;
    const how = await held;
    if (how === 'lost') return route.abort('connectionreset');
    return answer ? route.fulfill({ response: answer }) : route.continue();
  };
  await page.route(is, (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    // A page that is gone takes no answer.
    handled.push(handle(route).catch(() => {}));
    return handled.at(-1);
  });
  return {
    count: () => handled.length,
    async end(how) {
      free(how);
      await Promise.all(handled);
      await page.unroute(is);
    },
  };
}

/** Says it, while it is held. */
async function sayHeld(words) {
  await box().fill(words);
  await box().press('Enter');
  await until('the box is free', async () => (await box().inputValue()) === '');
}

await test('s11_what_is_typed_while_a_first_message_is_sent_stands_in_the_box_of_its_chat', async () => {
  await fresh();
  const before = await chats();
  const line = await hold();
  await sayHeld('The first words');
  await outgoing().getByText('The first words').waitFor();
  await box().pressSequentially('A second thought');
  await page.getByLabel('Attach files').setInputFiles(paper);
  await chosen().getByText('paper.txt').waitFor();
  // One after the other: the second is not sent while the first is on its way.
  await box().press('Enter');
  // The page of the chat is slow too: what is typed until it is there counts.
  let show;
  const shown = new Promise((done) => { show = done; });
  await page.route(/\/chats\/[^/]+$/, async (route) => {
    if (route.request().resourceType() === 'document') await shown;
    await route.continue().catch(() => {});
  });
  const asked = page.waitForRequest((request) => request.isNavigationRequest());
  await line.end();
  await asked;
  // What looks for elements would wait for the page.
  await page.keyboard.type(' and its end');
  show();
  await page.waitForURL(/\/chats\/./);
  await page.unroute(/\/chats\/[^/]+$/);
  await scripted();
  await until('the words are there', async () => (await box().inputValue()) === 'A second thought and its end');
  await chosen().getByText('paper.txt').waitFor();
  await rested(page);
  same(await saidHere(), ['The first words'], 'what was said');
  await box().press('Enter');
  await until('both are said', async () => (await saidHere()).length === 2);
  await page.locator('#log').getByText('paper.txt').first().waitFor();
  same(await saidHere(), ['The first words', 'A second thought and its end'], 'what was said');
  same(await chats(), before + 1, 'chats');
  await rested(page);
  await page.locator('#say[aria-busy="false"]').waitFor();
  await page.reload();
  await scripted();
  same([await box().inputValue(), await chosen().count()], ['', 0], 'what is left in the box');
});

await test('s11_what_cannot_be_sent_comes_back_before_what_was_typed_since', async () => {
  await fresh();
  const before = await chats();
  await page.getByLabel('Attach files').setInputFiles(paper);
  const line = await hold();
  await sayHeld('These words');
  same(await chosen().count(), 0, 'files in the box');
  await box().pressSequentially('and these');
  await box().press('Home');
  await line.end('lost');
  await until('the words are back', async () => (await box().inputValue()) === 'These words\nand these');
  same(await box().evaluate((box) => box.selectionStart), 'These words\n'.length, 'the cursor stays with what was typed');
  await chosen().getByText('paper.txt').waitFor();
  await until('it can be sent', () => page.getByRole('button', { name: 'Send', exact: true }).isEnabled());
  same(await chats(), before, 'chats');
  await box().press('Enter');
  await page.waitForURL(/\/chats\/./);
  await rested(page);
  same(await saidHere(), ['These words\nand these'], 'what was said');
  same(await page.locator('#trouble').isVisible(), false, 'trouble in sight');
});

await test('s11_a_first_message_whose_answer_was_lost_begins_one_chat', async () => {
  await fresh();
  const before = await chats();
  const line = await hold({ arrives: true });
  await sayHeld('Only one chat');
  await until('it arrived', async () => (await chats()) === before + 1);
  await line.end('lost');
  await until('the words are back', async () => (await box().inputValue()) === 'Only one chat');
  await box().press('Enter');
  await page.waitForURL(/\/chats\/./);
  await rested(page);
  same(await saidHere(), ['Only one chat'], 'what was said');
  same(await chats(), before + 1, 'chats');
  await page.goto('/');
  await scripted();
  same(await box().inputValue(), '', 'the box of the next chat');
});

await test('s11_words_that_are_added_after_a_lost_answer_are_not_swallowed', async () => {
  await fresh();
  const before = await chats();
  const line = await hold({ arrives: true });
  await sayHeld('Said already');
  await until('it arrived', async () => (await chats()) === before + 1);
  await line.end('lost');
  await until('the words are back', async () => (await box().inputValue()) === 'Said already');
  await box().press('End');
  await box().pressSequentially(', and more');
  await box().press('Enter');
  await page.waitForURL(/\/chats\/./);
  await rested(page);
  same(await saidHere(), ['Said already'], 'what was said');
  await until('the rest is in the box', async () => (await box().inputValue()) === ', and more');
  same(await chats(), before + 1, 'chats');
});

await test('s11_a_reload_while_a_message_is_sent_keeps_words_and_files_and_says_them_once', async () => {
  for (const arrives of [false, true]) {
    await fresh();
    const before = await chats();
    await page.getByLabel('Attach files').setInputFiles(paper);
    await chosen().getByText('paper.txt').waitFor();
    await keepsFiles(1);
    const line = await hold({ arrives });
    await sayHeld('Over a reload');
    await box().pressSequentially('and after');
    if (arrives) await until('it arrived', async () => (await chats()) === before + 1);
    else await until('it is on its way', () => line.count() === 1);
    await page.reload();
    await line.end('gone');
    await scripted();
    await until('the words are back', async () => (await box().inputValue()) === 'Over a reload\nand after');
    await chosen().getByText('paper.txt').waitFor();
    await box().press('Enter');
    await page.waitForURL(/\/chats\/./);
    await rested(page);
    same(await saidHere(), [arrives ? 'Over a reload' : 'Over a reload\nand after'], `what was said (${arrives})`);
    holds(await count('paper.txt') > 0, 'the file went along');
    await until('the rest is in the box', async () => (await box().inputValue()) === (arrives ? 'and after' : ''));
    same(await chosen().count(), 0, 'files that are left');
    same(await chats(), before + 1, `chats (${arrives})`);
    await box().fill('');
  }
});

await test('s11_a_chat_that_shows_a_message_takes_it_out_of_the_box_again', async () => {
  await fresh();
  await box().fill('Begin');
  await box().press('Enter');
  await page.waitForURL(/\/chats\/./);
  await scripted();
  await rested(page);
  // The answer never comes, the message does; then the line breaks.
  const line = await hold({ arrives: true });
  await sayHeld('It is there');
  await until('it is said', async () => (await saidHere()).includes('It is there'));
  await box().pressSequentially('next');
  await line.end('lost');
  await until('it can be sent', () => page.getByRole('button', { name: 'Send', exact: true }).isEnabled());
  same(await box().inputValue(), 'next', 'the box');
  // The other way round: it comes back first, and the chat shows it later.
  await box().fill('');
  const other = await hold({ arrives: true });
  await sayHeld('It is there too');
  await other.end('lost');
  await until('it is said', async () => (await saidHere()).includes('It is there too'));
  await until('the box has it no more', async () => (await box().inputValue()) === '');
  await rested(page);
  same(await count('It is there too'), 1, 'how often it was said');
});

await test('s11_enter_pressed_twice_and_a_second_click_say_it_once', async () => {
  await fresh();
  const before = await chats();
  const line = await hold();
  await box().fill('Only once');
  await Promise.all([box().press('Enter'), box().press('Enter')]);
  await until('it is on its way', () => line.count() === 1);
  await page.getByRole('button', { name: 'Send', exact: true }).click({ force: true });
  await line.end();
  await page.waitForURL(/\/chats\/./);
  await rested(page);
  same([await saidHere(), await chats(), line.count()], [['Only once'], before + 1, 1], 'what came of it');
  // By the button, keys go on into the box.
  await scripted();
  await box().fill('By the button');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await until('both are said', async () => (await saidHere()).length === 2);
  await rested(page);
  await page.keyboard.type('typed on');
  same(await box().inputValue(), 'typed on', 'the box');
  same(await saidHere(), ['Only once', 'By the button'], 'what was said');
  await box().fill('');
});

await test('s11_what_is_on_its_way_is_taken_back', async () => {
  await fresh();
  const before = await chats();
  const line = await hold();
  await sayHeld('Better not');
  await outgoing().getByRole('button', { name: 'Take back' }).click();
  await until('the words are back', async () => (await box().inputValue()) === 'Better not');
  same(await box().evaluate((box) => box === document.activeElement), true, 'the box has the focus');
  await line.end('gone');
  same([await chats(), await outgoing().count()], [before, 0], 'chats, and what is on its way');
  await box().fill('');
});

await test('s11_whoever_composes_a_letter_is_not_disturbed_and_sends_nothing', async () => {
  await fresh();
  const line = await hold();
  await sayHeld('Went away');
  const cdp = await context.newCDPSession(page);
  await cdp.send('Input.imeSetComposition', { text: 'に', selectionStart: 1, selectionEnd: 1 });
  await line.end('lost');
  same(await box().inputValue(), 'に', 'the box while somebody composes');
  await cdp.send('Input.insertText', { text: '日' });
  await until('the words are back', async () => (await box().inputValue()) === 'Went away\n日');
  // The key that ends a composition is told with 229, in Safari after its end.
  const before = await chats();
  await box().evaluate((box) => box.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true })));
  same([await box().inputValue(), await chats()], ['Went away\n日', before], 'what a composing Enter did');
  await box().fill('');
});

await test('s11_words_are_kept_for_whoever_was_signed_out_meanwhile', async () => {
  await fresh();
  await box().fill('Begin');
  await box().press('Enter');
  await page.waitForURL(/\/chats\/./);
  await scripted();
  await rested(page);
  const chat = new URL(page.url()).pathname;
  const other = await context.newPage();
  await other.goto('/account');
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.waitForURL(/signin/);
  await other.close();
  await box().fill('Nobody is signed in');
  await box().press('Enter');
  await page.locator('#trouble').getByText('signed out').waitFor();
  await until('the words are back', async () => (await box().inputValue()) === 'Nobody is signed in');
  await page.locator('#lost').getByText('You are signed out.').waitFor();
  await page.locator('#lost').getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL(/signin/);
  await signIn(page, 'admin');
  await page.goto(chat);
  await scripted();
  await until('the words are there', async () => (await box().inputValue()) === 'Nobody is signed in');
  await box().press('Enter');
  await until('it is said', async () => (await saidHere()).length === 2);
  await rested(page);
});

await test('s11_what_is_typed_before_the_script_is_there_does_not_replace_a_draft', async () => {
  await fresh();
  await box().fill('A draft');
  let run;
  const loaded = new Promise((done) => { run = done; });
  await page.route(/composer\.js/, async (route) => {
    await loaded;
    await route.fallback().catch(() => {});
  });
  await page.goto('/', { waitUntil: 'commit' });
  await box().fill('typed early');
  run();
  await scripted();
  same(await box().inputValue(), 'A draft\ntyped early', 'the box');
  await page.unroute(/composer\.js/);
  await box().fill('');
});

await test('s11_enter_before_a_draft_is_whole_sends_it_with_its_files', async () => {
  await fresh();
  await box().fill('With a paper');
  await page.getByLabel('Attach files').setInputFiles(paper);
  await keepsFiles(1);
  // The words are there at once, the files a moment later.
  await page.addInitScript(() => addEventListener('DOMContentLoaded', () => {
    if (location.pathname !== '/') return;
    const key = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true });
    document.getElementById('text').dispatchEvent(key);
  }));
  await page.reload({ waitUntil: 'commit' });
  await page.waitForURL(/\/chats\/./);
  await rested(page);
  same(await saidHere(), ['With a paper'], 'what was said');
  holds(await count('paper.txt') > 0, 'the file went along');
});

await test('s11_files_of_a_draft_that_come_late_are_there_and_a_reload_meanwhile_loses_none', async () => {
  await fresh();
  await box().fill('With a paper');
  await page.getByLabel('Attach files').setInputFiles(paper);
  await keepsFiles(1);
  // A busy disk: the database opens so many milliseconds late.
  await page.addInitScript(() => {
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = function openLate(...wanted) {
      const asked = {};
      setTimeout(() => {
        const real = open.apply(this, wanted);
        for (const name of ['onsuccess', 'onerror', 'onupgradeneeded']) {
          real[name] = (event) => {
            [asked.result, asked.error] = [real.result, real.error];
            asked[name]?.(event);
          };
        }
      }, Number(sessionStorage.getItem('late') ?? 0));
      return asked;
    };
  });
  const late = (ms) => page.evaluate((ms) => sessionStorage.setItem('late', String(ms)), ms);
  const reload = async (ms) => {
    await late(ms);
    await page.reload();
    await scripted();
    await until('the words are there', async () => (await box().inputValue()) === 'With a paper');
  };
  await reload(4000);
  await chosen().getByText('paper.txt').waitFor();
  await late(0);
  await keepsFiles(1);
  await reload(600_000);
  await reload(0);
  await chosen().getByText('paper.txt').waitFor();
  same([await box().inputValue(), await chosen().count()], ['With a paper', 1], 'the draft');
  await page.getByRole('button', { name: 'Remove paper.txt' }).click();
  await box().fill('');
});

await test('s11_a_draft_of_one_person_is_not_shown_to_another_of_this_browser', async () => {
  await fresh();
  await box().fill('For me alone');
  const person = await page.evaluate(() => document.body.dataset.person);
  holds(person, 'the page says whose it is');
  const keys = await page.evaluate(() => Object.keys(localStorage).filter((key) => /^weir-draft-.*new$/.test(key)));
  same(keys, [`weir-draft-${person}-new`], 'where drafts are kept');
  await box().fill('');
});

await test('s11_two_tabs_with_the_same_draft_say_two_messages', async () => {
  await fresh();
  await box().fill('A draft of both');
  const other = await context.newPage();
  await other.goto('/');
  const there = other.getByRole('textbox', { name: 'Message' });
  await until('the other tab has it', async () => (await there.inputValue()) === 'A draft of both');
  await there.press('Enter');
  await other.waitForURL(/\/chats\/./);
  await other.close();
  await box().fill('A draft of both, changed here');
  await box().press('Enter');
  await page.waitForURL(/\/chats\/./);
  await rested(page);
  same(await saidHere(), ['A draft of both, changed here'], 'what was said');
});

await test('s11_what_is_pasted_is_whole', async () => {
  await fresh();
  const paste = (parts) => box().evaluate((box, parts) => {
    const data = new DataTransfer();
    for (const [type, text] of Object.entries(parts.text)) data.setData(type, text);
    if (parts.picture) data.items.add(new File(['x'], 'cells.png', { type: 'image/png' }));
    const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
    return box.dispatchEvent(event);
  }, parts);
  // A table program adds a picture of the cells: the browser pastes the words.
  same(await paste({ text: { 'text/plain': 'a\tb', 'text/html': '<table></table>' }, picture: true }), true, 'cells are left to the browser');
  same(await chosen().count(), 0, 'files after cells');
  same(await paste({ text: {}, picture: true }), false, 'a picture is taken');
  await chosen().getByText('cells.png').waitFor();
  // More than the box takes would be cut off in silence.
  same(await paste({ text: { 'text/plain': 'x'.repeat(1_000_001) } }), false, 'a long text is taken');
  await chosen().getByText('pasted.txt').waitFor();
  same(await box().inputValue(), '', 'the box');
  await keepsFiles(2);
  await page.reload();
  await scripted();
  await until('what was attached is still there', async () => (await chosen().count()) === 2);
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_slow');
