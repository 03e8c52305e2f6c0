// One question about several steps of a program (U8): what it shows of each step, what opens it, which keys
// answer it and which do not, and that an answer is for all of its steps and for nothing later. With the
// picture of it. Mail is taken by a small server here. Not here: what holds for every question (`approvals`).
//   WEIR_BROWSER_SHOTS=FOLDER  keeps a picture

import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import {
  Browser, House, closing, holds, keepShot, lookFaults, rested, same, say, setUp, test, testLooks, timeless, tooWide,
  until,
} from './lib.mjs';

/** What a program does that is written at once, as the model calls it. */
const program = (code) => `calls: find_tool {"query": "run_program"}

calls: call_tool ${JSON.stringify({ tool: 'run_program', arguments: { code } })}
`;
const TELL = `const mail = to => email({ action: 'send', to: [to], subject: 'Friday', text: 'We meet at ten.\\nBring the plan.' });
const all = await Promise.allSettled([mail('ada@x.example'), write_file({ path: 'told.md', content: 'ada, bob\\n' }), mail('bob@x.example')]);
return all.map(one => one.status + ' ' + (one.reason?.message ?? '')).join();`;
const LONG = `const name = 'a-name-that-has-no-blank-in-it-'.repeat(5);
await Promise.all([write_file({ path: name.slice(0, 120) + '.md', content: 'word '.repeat(200) }),
  email({ action: 'send', to: ['quite-a-long-name-of-somebody-who-works-in-the-harbour@x.example'], subject: name, text: name })]);
return 'long';`;
const script = `
when: "by post"
${program(TELL.replace("email({ action: 'send', to: [to], subject: 'Friday', text", 'mcp__post__send({ to, text'))}
says: It is over.
end
when: "Tell ada"
${program(TELL)}
says: It is over.
end
when: "Twice"
${program(TELL)}
calls: email {"action": "send", "to": ["ada@x.example"], "subject": "Friday", "text": "We meet at ten.\\nBring the plan."}

says: It is over.
end
when: "Make it long"
${program(LONG)}
says: It is over.
end
says: Well.
`;
const ASKED = 'Tell ada@x.example and Bob that we meet on Friday at ten, and note whom you told.';
/** The lines that it shows for that. */
const LINES = [
  '1. email → ada@x.example (you wrote it): Send a mail to ada@x.example: Friday',
  '2. write_file: Create told.md',
  '3. email → bob@x.example (the agent chose it): Send a mail to bob@x.example: Friday',
];

/** A server that says it sent what it was given. */
const POST = `while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case $line in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}}}]}' ;;
  *'"tools/call"'*) r='{"content":[{"type":"text","text":"sent"}]}' ;;
  *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$r"
done
`;
const SETTINGS = `[permissions]
ask = ["Mail(*@x.example)"]
[mcp_servers.post]
command = "sh"
args = ["post.sh"]
hosts = ["post.example"]
[mcp_servers.post.tools.send]
sends = { to = ["to"], content = ["text"] }
`;

/** Takes every mail: whom each was for. */
const sent = [];
const postOffice = createServer((socket) => {
  let inside = false;
  socket.on('error', () => {});
  socket.write('220 here\r\n');
  createInterface({ input: socket }).on('line', (line) => {
    if (inside && line !== '.') return;
    if (inside) { inside = false; socket.write('250 taken\r\n'); return; }
    const word = line.toUpperCase();
    if (word.startsWith('RCPT TO:')) sent.push(line.slice(8).replace(/[<> ]/g, ''));
    if (word === 'DATA') { inside = true; socket.write('354 go on\r\n'); return; }
    if (word === 'QUIT') { socket.end('221 bye\r\n'); return; }
    socket.write(word.startsWith('EHLO') ? '250-here\r\n250 AUTH PLAIN\r\n' : word.startsWith('AUTH') ? '235 welcome\r\n' : '250 fine\r\n');
  });
});
await new Promise((done) => postOffice.listen(0, '127.0.0.1', done));

// Mail to whom a person listed passes, and to anybody else it is a question of its own: what is listed and to
// be asked about all the same can stand beside others.
const house = await House.start({ script, config: SETTINGS, files: { 'post.sh': POST } });
execFileSync(process.env.WEIR_BIN, ['mcp-servers', 'approve', 'post', '--yes'], { cwd: house.work, env: house.env });
const browser = await Browser.start();
const context = await browser.person(house.url, { viewport: { width: 1280, height: 860 } });
const page = await context.newPage();
await setUp(house, page);
await page.evaluate(async (port) => {
  const put = async (path, body) => {
    const headers = { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf };
    const answer = await fetch(path, { method: 'PUT', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  await put('/api/v1/settings/lists/recipients', { value: '@x.example' });
  const here = { host: '127.0.0.1', security: 'none' };
  await put('/api/v1/mail/work', {
    name: 'work', address: 'me@home.example', user: 'me', password: 'x', imap: { ...here, port: 1 },
    smtp: { ...here, port }, folder: 'INBOX', enabled: false, tool: true, rules: [],
  });
}, postOffice.address().port);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const made = () => readdirSync(house.work).filter((name) => name.endsWith('.md'));
const focused = () => page.evaluate(() => document.activeElement.innerText || document.activeElement.name || '');

/** A new chat in which the question stands, and takes answers. */
async function asked(words = ASKED, { isReady = true, on = page } = {}) {
  sent.length = 0;
  for (const name of made()) rmSync(`${house.work}/${name}`);
  await on.goto('/');
  await say(on, words);
  const ask = on.locator('[data-ask]');
  await ask.waitFor();
  if (isReady) await ready(ask);
  return ask;
}

const ready = (ask) => until('it takes an answer', () => ask.getByRole('button', { name: 'Deny' }).isEnabled());

/** Facts of one kind in the journal of the chat that is open. */
async function facts(kind, on = page) {
  const id = new URL(on.url()).pathname.split('/').pop();
  const text = await on.evaluate(async (id) => (await fetch(`/api/v1/sessions/${id}/export?format=jsonl`)).text(), id);
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((fact) => fact.kind === kind);
}

/** Nothing was answered, sent or written. */
async function untouched(ask, on = page) {
  await pause(300);
  same([await ask.count(), await facts('approval.resolved', on), sent, made()], [1, [], [], []], 'questions, answers, mails, files');
}

async function deny(ask, on = page) {
  await ready(ask);
  await ask.getByRole('button', { name: 'Deny' }).click();
  await on.getByText('It is over.').waitFor();
}

await test('u08_every_step_has_a_line_with_whom_it_reaches_and_where_that_comes_from', async () => {
  const ask = await asked();
  same(await ask.locator('summary').allInnerTexts(), LINES, 'the lines');
  const text = await ask.innerText();
  holds(text.includes('3 steps, allowed or refused together'), `it says that one answer is for all: ${text}`);
  holds(text.includes('A yes is for all of these and for nothing else'), `it says what a yes is: ${text}`);
  same(await ask.getByRole('button').allInnerTexts(), ['Allow once', 'Deny'], 'the answers');
  holds(!text.includes('For this session') && !text.includes('Always in this project'), `it offers what lasts: ${text}`);
  await untouched(ask);
  await deny(ask);
});

await test('u08_a_line_is_opened_by_the_keyboard_and_shows_the_whole_step', async () => {
  const ask = await asked();
  same(await ask.locator('details[open]').count(), 0, 'lines that are open by themselves');
  const lines = ask.locator('details');
  for (const [at, key, words] of [[0, 'Enter', 'Bring the plan.'], [1, 'Space', 'ada, bob'], [2, 'Enter', 'bob@x.example']]) {
    for (let n = 0; n < 20 && (await focused()) !== LINES[at]; n += 1) await page.keyboard.press('Tab');
    same(await focused(), LINES[at], 'what Tab leads to');
    await page.keyboard.press(key);
    await until(`${key} opens line ${at + 1}`, async () => (await lines.nth(at).getAttribute('open')) !== null);
    const text = await lines.nth(at).innerText();
    holds(text.includes(words) && text.includes('Why you are asked'), `line ${at + 1} shows all of it: ${text}`);
  }
  await page.keyboard.press('Enter');
  await until('a second Enter closes it', async () => (await lines.nth(2).getAttribute('open')) === null);
  await untouched(ask);
  await deny(ask);
});

await test('u08_enter_decides_nothing_while_no_button_has_the_focus', async () => {
  const ask = await asked();
  same(await page.evaluate(() => document.activeElement.tagName), 'H2', 'what has the focus');
  for (const key of ['Enter', 'Enter', 'Space', 'y', 'a', '1', 'Control+Enter']) await page.keyboard.press(key);
  await untouched(ask);
  // Put off by Escape, it stands in the page: no key answers it from there.
  await page.keyboard.press('Escape');
  await until('it is no dialog any more', async () => (await page.locator('#asks dialog:modal').count()) === 0);
  await page.evaluate(() => document.activeElement.blur());
  for (const key of ['Enter', 'Space', 'y', 'Escape', 'Enter']) await page.keyboard.press(key);
  await untouched(ask);
  await deny(ask);
});

await test('u08_keys_that_come_before_it_can_be_read_answer_nothing', async () => {
  const tab = await timeless({ browser, house, page });
  const ask = await asked(ASKED, { isReady: false, on: tab });
  for (let n = 0; n < 18; n += 1) {
    await tab.keyboard.press(['Enter', 'Space', 'y'][n % 3]);
    await tab.clock.runFor(40);
  }
  const box = await ask.getByRole('button', { name: 'Allow once' }).boundingBox();
  await tab.mouse.dblclick(box.x + 5, box.y + 5);
  holds(await ask.getByRole('button', { name: 'Allow once' }).isDisabled(), 'it takes a yes at once');
  await untouched(ask, tab);
  await tab.clock.runFor(500);
  await deny(ask, tab);
  await tab.context().close();
});

await test('u08_enter_in_the_reason_denies_all_and_the_program_hears_why', async () => {
  const ask = await asked();
  await ask.getByLabel(/Reason/).fill('not this week');
  await page.keyboard.press('Enter');
  await page.getByText('It is over.').waitFor();
  same([sent, made()], [[], []], 'mails and files');
  const answers = await facts('approval.resolved');
  same(answers.map(({ decision, reason }) => [decision, reason]), [['deny', 'not this week']], 'the answers');
  await rested(page);
  const program = (await facts('call.finished')).find(({ tool }) => tool === 'run_program');
  same(program.summary.replace(/by \w+/g, 'by NAME').split(','), Array(3).fill('rejected Denied by NAME: not this week'), 'what it hears');
});

await test('u08_a_no_is_a_no_to_every_step', async () => {
  const ask = await asked();
  await deny(ask);
  await rested(page);
  same([sent, made()], [[], []], 'mails and files');
  same((await facts('approval.requested')).length, 1, 'questions');
});

await test('u08_allowed_once_every_step_is_done_once_and_the_same_again_asks_again', async () => {
  const ask = await asked('Twice: tell ada@x.example and Bob that we meet on Friday at ten.');
  await ask.getByRole('button', { name: 'Allow once' }).click();
  const again = page.locator('[data-ask]').filter({ hasText: 'Send a mail to ada@x.example' }).filter({ hasNotText: 'steps' });
  await again.waitFor();
  // Steps that are written to go on at once may end in any order.
  same([[...sent].sort(), made()], [['ada@x.example', 'bob@x.example'], ['told.md']], 'mails and files');
  await deny(again);
  await rested(page);
  same([...sent].sort(), ['ada@x.example', 'bob@x.example'], 'mails');
  same((await facts('approval.resolved')).map(({ decision }) => decision), ['once', 'deny'], 'the answers');
});

await test('u08_a_second_click_answers_no_later_question', async () => {
  const tab = await timeless({ browser, house, page });
  const words = 'Twice: tell ada@x.example and Bob that we meet on Friday at ten.';
  const ask = await asked(words, { isReady: false, on: tab });
  await tab.clock.runFor(500);
  await ready(ask);
  const box = await ask.getByRole('button', { name: 'Allow once' }).boundingBox();
  const clicks = async (count) => {
    for (let n = 0; n < count; n += 1) {
      await tab.mouse.click(box.x + 5, box.y + 5);
      await tab.clock.runFor(60);
    }
  };
  // Before the later question is there, and while it stands in the place of the first.
  await clicks(2);
  await tab.locator('[data-ask]').filter({ hasNotText: 'steps' }).waitFor();
  await clicks(6);
  same((await facts('approval.resolved', tab)).length, 1, 'answers');
  await tab.clock.runFor(500);
  await deny(tab.locator('[data-ask]'), tab);
  await tab.context().close();
});

await test('u08_in_the_inbox_and_without_scripts_it_has_the_same_lines', async () => {
  await asked();
  const chat = page.url();
  await page.goto('/approvals');
  const card = page.locator('article.ask');
  same(await card.locator('summary').allInnerTexts(), LINES, 'the lines in the inbox');
  const plain = await browser.person(house.url, { javaScriptEnabled: false, storageState: await context.storageState() });
  const bare = await plain.newPage();
  await page.goto(chat);
  await bare.goto(chat);
  same(await bare.locator('[data-ask] summary').allInnerTexts(), LINES, 'the lines without scripts');
  await bare.getByLabel(/Reason/).fill('no');
  await bare.keyboard.press('Enter');
  await page.getByText('It is over.').waitFor();
  await plain.close();
  same([sent, made()], [[], []], 'mails and files');
});

/** Texts of the question that stand outside of the page, or are cut off. */
const cutOff = (ask) => ask.evaluate((dialog) => {
  const found = [];
  for (const one of dialog.querySelectorAll('h2, p, summary, button, input, label, dt, dd, code, pre, span')) {
    const { left, right, width } = one.getBoundingClientRect();
    const own = getComputedStyle(one);
    const isCut = one.scrollWidth > one.clientWidth + 1 && own.overflowX === 'hidden' || own.textOverflow === 'ellipsis';
    const scrolls = one.closest('pre, .diff, table, [tabindex="0"]');
    if (width > 0 && !scrolls && (left < 0 || right > innerWidth)) found.push(`outside: ${one.tagName} ${one.innerText}`);
    if (width > 0 && isCut) found.push(`cut: ${one.tagName} ${one.innerText}`);
  }
  return found;
});

await test('u08_on_a_telephone_nothing_of_it_is_cut_off', async () => {
  for (const words of [ASKED, 'Make it long.']) {
    await asked(words);
    const hand = await browser.person(house.url, {
      viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, storageState: await context.storageState(),
    });
    const small = await hand.newPage();
    await small.goto(page.url());
    const ask = small.locator('[data-ask]');
    await ready(ask);
    for (const isOpen of [false, true]) {
      if (isOpen) for (const line of await ask.locator('summary').all()) await line.tap();
      const wanted = isOpen ? await ask.locator('details').count() : 0;
      // A tap becomes a click a moment later.
      await until(`${wanted} lines are open`, async () => (await ask.locator('details[open]').count()) === wanted);
      same([await tooWide(small) <= 0, await cutOff(ask)], [true, []], `what is cut off, open: ${isOpen}`);
    }
    for (const name of ['Allow once', 'Deny']) {
      const button = ask.getByRole('button', { name });
      await button.scrollIntoViewIfNeeded();
      const { x, y, width, height } = await button.boundingBox();
      holds(x >= 0 && x + width <= 360 && y >= 0 && y + height <= 740, `${name} can be brought into sight`);
      holds(height >= 40, `${name} is high enough for a finger: ${height} px`);
    }
    for (const line of await ask.locator('summary').all()) {
      const { height } = await line.boundingBox();
      holds(height >= 24, `a line is high enough for a finger: ${height} px`);
    }
    await hand.close();
    await deny(page.locator('[data-ask]'));
  }
});

// By post: the reasons name no file of this machine.
await asked(`${ASKED} Write by post.`);
const chat = new URL(page.url()).pathname;
await testLooks('u08_it_looks_right', { browser, house, page, narrowHeight: 740 }, async (tab, look) => {
  await tab.goto(chat);
  const ask = tab.locator('[data-ask]');
  await ready(ask);
  const faults = await lookFaults(tab, chat);
  await keepShot(tab, `one-question-${look}`);
  for (const line of await ask.locator('summary').all()) await line.click();
  return [...faults, ...await lookFaults(tab, `${chat}, every line open`)];
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
postOffice.close();
closing('browser_one_question');
