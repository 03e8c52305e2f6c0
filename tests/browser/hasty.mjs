// A person who presses every key, twice and too fast, while the line is slow: what is pressed twice is done
// once, what is typed is what counts, and nobody is told nothing. Not here: saying something (`slow`), and
// decisions (`approvals`, `deciding`).

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Browser, House, closing, rested, same, say, setUp, signIn, test, until } from './lib.mjs';

const script = `when: "greet"
calls: write_file {"path": "notes/greet.md", "content": "Hello\\n"}

says: It is over.
end
says: Well.
`;
const house = await House.start({ script, files: { 'notes/plan.md': '# Plan\n' } });
const browser = await Browser.start();
const context = await browser.person(house.url, { viewport: { width: 1280, height: 860 } });
await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: house.url });
const page = await context.newPage();
await setUp(house, page);
const box = () => page.getByRole('textbox', { name: 'Message' });
const scripted = () => page.locator('html.scripted').waitFor({ state: 'attached' });
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
const sessions = () => page.evaluate(async () => (await (await fetch('/api/v1/sessions?limit=100')).json()).items);

/** Lets what `is` finds wait until `go` is called; it is counted also afterwards. */
async function held(is, on = page) {
  let free;
  const wait = new Promise((done) => { free = done; });
  const count = { asked: 0 };
  await on.route(is, async (route) => {
    count.asked += 1;
    await wait;
    await route.fallback().catch(() => {});
  });
  return { count, go: free };
}

await page.goto('/');
await say(page, 'About herons.');
await rested(page);
const chat = new URL(page.url()).pathname;

await test('s11_try_again_pressed_twice_asks_once', async () => {
  await page.goto(chat);
  await scripted();
  const before = (await sessions()).length;
  const line = await held(/\/again$/);
  const { x, y } = await page.getByRole('button', { name: 'Try again' }).boundingBox();
  // What looks for elements would wait for the answer.
  await page.mouse.click(x + 5, y + 5);
  await until('it is on its way', () => line.count.asked === 1);
  await page.mouse.click(x + 5, y + 5);
  await new Promise((done) => setTimeout(done, 300));
  line.go();
  await page.waitForURL((url) => url.pathname.startsWith('/chats/') && url.pathname !== chat);
  await rested(page);
  same([line.count.asked, (await sessions()).length], [1, before + 1], 'requests, and chats');
});

await test('s10_ctrl_k_goes_where_the_typed_words_lead_however_fast', async () => {
  await page.goto('/files');
  await page.locator('body').press('Control+k');
  const field = page.getByRole('combobox', { name: 'Go to a chat or page' });
  await page.getByRole('option').first().waitFor();
  // No pause between the last letter and Enter.
  await field.evaluate((field) => {
    field.value = 'usage';
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  });
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
});

await test('s10_ctrl_k_does_not_go_where_an_answer_for_earlier_words_leads', async () => {
  await page.goto('/files');
  await page.evaluate(() => {
    const real = window.fetch;
    window.fetch = (address, ...more) => {
      if (window.answerFirst || !String(address).startsWith('/api/v1/sessions?')) return real(address, ...more);
      return new Promise((done) => { window.answerFirst = done; });
    };
  });
  await page.locator('body').press('Control+k');
  const field = page.getByRole('combobox', { name: 'Go to a chat or page' });
  await until('it looks', () => page.evaluate(() => Boolean(window.answerFirst)));
  // What was asked for before a word stood there comes between the last letter and Enter.
  await field.evaluate(async (field) => {
    field.value = 'usage';
    field.dispatchEvent(new Event('input', { bubbles: true }));
    window.answerFirst(new Response(JSON.stringify({ items: [{ id: 'earlier', title: 'Earlier' }] })));
    await new Promise((done) => setTimeout(done, 30));
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  });
  await page.waitForURL((url) => url.pathname !== '/files');
  same(new URL(page.url()).pathname, '/usage', 'where it went');
});

await test('s7_the_chats_at_the_side_are_those_of_the_words_that_were_typed_last', async () => {
  const list = page.locator('#side-list');
  const field = page.getByRole('searchbox', { name: 'Search chats' });
  // What is typed before the script is there counts too.
  const script = await held(/\/side\.js$/);
  await page.goto('/files', { waitUntil: 'commit' });
  await field.fill('no such chat');
  script.go();
  await list.getByText('No chat found').waitFor();
  // What was asked for before comes later, and is of no use.
  const all = await held((url) => url.pathname === '/chat-list' && !url.searchParams.get('q'));
  await page.goto('/files');
  await until('all chats are asked for', () => all.count.asked === 1);
  await field.fill('no such chat');
  await list.getByText('No chat found').waitFor();
  const answered = page.waitForResponse(/\/chat-list\?q=(&|$)/);
  all.go();
  await answered;
  await new Promise((done) => setTimeout(done, 300));
  same(await list.innerText(), 'No chat found', 'the list');
});

await test('s10_a_key_that_ends_a_composition_goes_nowhere', async () => {
  await page.goto('/files');
  await page.locator('body').press('Control+k');
  const field = page.getByRole('combobox', { name: 'Go to a chat or page' });
  await page.getByRole('option').first().waitFor();
  await field.evaluate((field) => field.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true })));
  await new Promise((done) => setTimeout(done, 300));
  same(new URL(page.url()).pathname, '/files', 'where it went');
});

await test('s11_suggestions_that_come_late_take_no_words_away', async () => {
  await page.goto('/');
  await scripted();
  // They come when the sentence goes on already.
  const line = await held(/\/complete\?/);
  await box().pressSequentially('see @no');
  await until('they are asked for', () => line.count.asked > 0);
  await box().pressSequentially(' and more');
  line.go();
  await box().press('Shift+Enter');
  await box().pressSequentially('then');
  await new Promise((done) => setTimeout(done, 400));
  same(await box().inputValue(), 'see @no and more\nthen', 'the box');
  // The cursor went elsewhere while they stand there: Enter is for the text.
  await box().fill('');
  await box().pressSequentially('see @no');
  const offer = page.getByRole('option').first();
  await offer.waitFor();
  await box().evaluate((box) => box.setSelectionRange(0, 0));
  await box().press('Tab');
  same(await box().inputValue(), 'see @no', 'the box');
  await box().fill('');
});

await test('s11_a_suggestion_that_is_taken_can_be_taken_back', async () => {
  await page.goto('/');
  await scripted();
  await box().pressSequentially('see @pl');
  await page.getByRole('option').first().waitFor();
  await box().press('Tab');
  await until('it is taken', async () => (await box().inputValue()).includes('plan.md'));
  for (let n = 0; n < 3 && (await box().inputValue()) !== 'see @pl'; n += 1) await box().press('Control+z');
  same(await box().inputValue(), 'see @pl', 'the box after it was taken back');
  await box().fill('');
});

await test('s11_escape_closes_settings_and_leaves_whoever_writes_in_the_box', async () => {
  await page.goto(chat);
  await scripted();
  await page.locator('#setup > summary').click();
  await box().pressSequentially('a wo');
  await box().press('Escape');
  same(await page.locator('#setup').evaluate((setup) => setup.open), false, 'the settings are open');
  await page.keyboard.type('rd');
  same(await box().inputValue(), 'a word', 'the box');
  await box().fill('');
});

await test('s11_two_choices_on_a_slow_line_both_hold', async () => {
  await page.goto(chat);
  await scripted();
  const line = await held(/\/configure$/);
  await page.getByLabel('Permission', { exact: true }).selectOption('plan');
  await until('the first is on its way', () => line.count.asked === 1);
  await page.getByLabel('Thinking', { exact: true }).selectOption('low');
  await new Promise((done) => setTimeout(done, 200));
  same(line.count.asked, 1, 'what is sent before the first has arrived');
  line.go();
  await page.locator('#status[data-permission="plan"][data-thinking="low"]').waitFor({ state: 'attached' });
  same(await page.getByLabel('Thinking', { exact: true }).inputValue(), 'low', 'what is shown');
});

await test('s7_a_choice_stays_in_sight_until_the_chat_tells_and_the_next_takes_back_none', async () => {
  const tab = await context.newPage();
  let isLate = false, tells;
  const told = new Promise((done) => { tells = done; });
  await tab.routeWebSocket(/\/api\/v1\/ws/, (socket) => {
    socket.connectToServer().onMessage(async (message) => {
      if (isLate) await told;
      socket.send(message);
    });
  });
  await tab.goto(chat);
  await tab.locator('html.scripted').waitFor({ state: 'attached' });
  const permission = tab.getByLabel('Permission', { exact: true });
  isLate = true;
  const line = await held(/\/configure$/, tab);
  await permission.selectOption('ask');
  await until('the choice is on its way', () => line.count.asked === 1);
  // What has the focus is left alone in any case.
  await tab.getByRole('textbox', { name: 'Message' }).focus();
  line.go();
  await tab.locator('#configure[aria-busy="false"]').waitFor({ state: 'attached' });
  same(await permission.inputValue(), 'ask', 'what is shown before the chat tells');
  // Somebody else chooses what this page does not show yet.
  const status = await tab.evaluate(async () => {
    const answer = await fetch(`/api/v1/sessions/${document.getElementById('chat').dataset.session}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
      body: JSON.stringify({ permission: 'auto-edit' }),
    });
    return answer.status;
  });
  same(status, 200, 'the answer to the other choice');
  await tab.getByLabel('Thinking', { exact: true }).selectOption('high');
  await until('the next choice has arrived', async () => {
    const isFree = await tab.locator('#configure[aria-busy="false"]').count();
    return line.count.asked === 2 && isFree === 1;
  });
  tells();
  await tab.locator('#status[data-permission="auto-edit"][data-thinking="high"]').waitFor({ state: 'attached' });
  await until('it shows what holds', async () => (await permission.inputValue()) === 'auto-edit');
  await tab.close();
});

await test('s7_what_cannot_be_loaded_says_so', async () => {
  await page.goto('/');
  const long = await page.evaluate(async () => {
    const post = async (path, body) => (await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
      body: JSON.stringify(body),
    })).json();
    const { id } = await post('/api/v1/sessions', {});
    for (let n = 0; n < 36; n += 1) {
      await post(`/api/v1/sessions/${id}/input`, { content: [{ type: 'text', text: `Message number ${n}.` }] });
      for (;;) {
        const { status } = await (await fetch(`/api/v1/sessions/${id}`)).json();
        if (status !== 'running') break;
        await new Promise((done) => setTimeout(done, 5));
      }
    }
    return id;
  });
  await page.goto(`/chats/${long}`);
  await scripted();
  await page.route(/\/entries\?/, (route) => route.abort('connectionreset'));
  await page.locator('#older').click();
  await page.locator('#trouble').getByText('cannot be reached').waitFor();
  await page.unroute(/\/entries\?/);
  await page.locator('#older').click();
  await page.locator('#log').getByText('Message number 0.', { exact: true }).waitFor();
});

await test('s10_upload_pressed_twice_uploads_once', async () => {
  await page.goto('/files');
  const file = join(house.folder, 'twice.txt');
  writeFileSync(file, 'once\n');
  await page.locator('#upload').evaluate((form) => { form.closest('details').open = true; });
  await page.locator('#file').setInputFiles(file);
  const line = await held(/\/api\/v1\/files\/content/);
  const button = page.locator('#upload button[type=submit]');
  await button.click();
  await until('it is on its way', () => line.count.asked === 1);
  await button.click();
  await new Promise((done) => setTimeout(done, 200));
  same(line.count.asked, 1, 'uploads that are on');
  const loaded = page.waitForEvent('load');
  line.go();
  await loaded;
  await page.getByRole('link', { name: 'twice.txt' }).first().waitFor();
  same(await page.getByRole('link', { name: /^twice.*txt$/ }).count() <= 1, true, 'it is there once');
});

await test('s11_a_folder_that_is_dropped_is_said_to_be_none_and_a_file_beside_the_box_is_taken', async () => {
  await page.goto('/');
  await scripted();
  const file = join(house.folder, 'beside.txt');
  writeFileSync(file, 'dropped\n');
  const cdp = await context.newCDPSession(page);
  const data = { items: [], files: [join(house.work, 'notes'), file], dragOperationsMask: 1 };
  // At the edge of the window, where the page has nothing.
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await cdp.send('Input.dispatchDragEvent', { type, x: 1270, y: 500, data });
  }
  await page.locator('#chosen').getByText('beside.txt').waitFor();
  await page.locator('#trouble').getByText('A folder cannot be attached').waitFor();
  same([await page.locator('#chosen li').count(), new URL(page.url()).pathname], [1, '/'], 'files, and where the page is');
  await page.getByRole('button', { name: 'Remove beside.txt' }).click();
});

await test('s11_an_answer_that_does_not_arrive_is_said_in_the_dialog_and_keeps_its_words', async () => {
  await page.goto('/');
  await say(page, 'Please greet.');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.route(/\/decide$/, (route) => route.abort('connectionreset'));
  await dialog.getByLabel(/Reason/).fill('not today');
  const deny = dialog.getByRole('button', { name: 'Deny' });
  await until('it takes an answer', () => deny.isEnabled());
  await deny.click();
  const alert = dialog.getByRole('alert');
  await alert.getByText('cannot be reached').waitFor();
  await alert.getByRole('button', { name: 'Close' }).click();
  await alert.waitFor({ state: 'hidden' });
  await page.unroute(/\/decide$/);
  same(await dialog.getByLabel(/Reason/).inputValue(), 'not today', 'the reason');
  await until('it takes an answer', () => deny.isEnabled());
  await deny.click();
  await page.getByText('It is over.').waitFor();
  // What goes wrong later is still said, though the dialog is gone with its box.
  await page.route(/\/say$/, (route) => route.abort('connectionreset'));
  await box().fill('More');
  await box().press('Enter');
  await page.getByRole('alert').getByText('cannot be reached').waitFor();
  // Also what went wrong while another dialog was open, when that is closed.
  await page.locator('body').press('Control+k');
  // Its script is fetched when it is asked for the first time.
  await page.getByRole('dialog').waitFor();
  await page.evaluate(() => document.getElementById('send').form.requestSubmit());
  await page.getByRole('dialog').getByRole('alert').getByText('cannot be reached').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByText('cannot be reached').waitFor();
  same(await page.locator('#trouble').count(), 1, 'boxes');
  await page.unroute(/\/say$/);
  await box().fill('');
});

await test('s11_an_answer_in_the_inbox_that_is_on_its_way_is_given_once', async () => {
  await page.goto('/');
  await say(page, 'Please greet.');
  await page.getByRole('dialog').waitFor();
  await page.goto('/approvals');
  const line = await held(/\/decide$/);
  const allow = page.locator('article.ask').getByRole('button', { name: 'Allow once' });
  await until('it takes an answer', () => allow.isEnabled());
  await allow.click();
  await until('the answer is on its way', () => line.count.asked === 1);
  await until('it can be pressed again', () => allow.isEnabled());
  await allow.click();
  await new Promise((done) => setTimeout(done, 300));
  same(line.count.asked, 1, 'answers');
  line.go();
  await page.getByText('Nothing needs your approval').waitFor();
});

await test('s11_nothing_of_a_sign_in_page_is_copied_as_an_answer', async () => {
  await page.goto(chat);
  await scripted();
  await page.evaluate(() => navigator.clipboard.writeText('before'));
  const other = await context.newPage();
  await other.goto('/account');
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.waitForURL(/signin/);
  await other.close();
  await page.getByRole('button', { name: /Copy this answer/ }).click();
  await page.locator('#trouble').getByText('signed out').waitFor();
  same(await clipboard(), 'before', 'the clipboard');
  await signIn(page, 'admin');
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_hasty');
