// What is decided on pages (R10): proposals, facts, recipes, servers, plugins, rules, trust, an answer for the
// session within bounds and its lease. Each is read first, decided by a deliberate yes to exactly that, by mouse
// and by keyboard; nothing is decided by mistake (Enter, Escape, two clicks, going back, a page of earlier). Not
// here: approvals in the chat itself (`approvals`), and that only admins change rules (`weir-server`).
//   WEIR_BROWSER_SHOTS=FOLDER  keeps pictures

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Browser, House, closing, holds, keepShot, lookFaults, rested, same, say, setUp, test, testLooks, until,
} from './lib.mjs';

/** The agent proposes a skill, which waits. */
const proposes = (when, name, body) => `when: "${when}"
calls: find_tool {"query": "manage_skill"}

calls: manage_skill ${JSON.stringify({ action: 'create', name, description: `Use it for ${name}.`, body })}

says: It waits for your word.
end
`;
/** It wants something remembered, which waits. */
const remembers = (when, text) => `when: "${when}"
calls: mark_for_memory ${JSON.stringify({ text, kind: 'preference' })}

says: It waits for your word.
end
`;
const script = [
  proposes('Propose tides', 'tides', 'Read the table, then say when the water is high.'),
  proposes('Propose harbour', 'harbour', 'Look at the lamps.'),
  proposes('Propose otherwise', 'harbour', 'Switch every lamp off.'),
  proposes('Propose gulls', 'gulls', 'Count them twice, at least an hour apart.'),
  remembers('Note the tabs', 'The person prefers tabs over spaces.'),
  remembers('Note the tea', 'The person drinks tea in the morning.'),
  remembers('Note the walk', 'The person goes for a walk at noon.'),
  remembers('Note the boat', 'The person owns a small boat.'),
  ...[['a line', 'a line'], ['another', 'another line'], ['a third', 'a third line']].map(([when, line]) => `when: "append ${when}"
calls: append_to_file {"path": "log.md", "content": "${line}\\n"}

says: It is written.
end
`),
  'says: Well.\n',
].join('');

/** A small MCP server over its standard input. `more`: another tool. */
const birds = (more = '') => `while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case $line in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"birds","version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"count_herons","description":"Counts the herons of a harbour.","inputSchema":{"type":"object","properties":{"harbour":{"type":"string"}}}}${more}]}' ;;
  *'"tools/call"'*) r='{"content":[{"type":"text","text":"three"}]}' ;;
  *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$r"
done
`;
const GULLS = ',{"name":"count_gulls","description":"Counts gulls.","inputSchema":{"type":"object"}}';
const plugin = (command) => `id = "demo"
name = "Demo"
version = "1"
description = "Counts lines."
[commands.count]
run = "${command}"
`;
const SETTINGS = '[mcp_servers.birds]\ncommand = "sh"\nargs = ["birds.sh"]\n';

const house = await House.start({ script, config: SETTINGS, files: { 'birds.sh': birds(), 'log.md': '' } });
const browser = await Browser.start();
const context = await browser.person(house.url, { viewport: { width: 1280, height: 860 } });
// When the page is read, its scripts have run: whether every button of a decision was held back then.
await context.addInitScript(() => {
  document.addEventListener('DOMContentLoaded', () => {
    const buttons = [...document.querySelectorAll('[data-ask] button[type=submit]')];
    window.heldBack = buttons.length > 0 && buttons.every((button) => button.disabled);
  });
});
const page = await context.newPage();
await setUp(house, page);

const main = page.locator('#main');
const alert = () => main.getByRole('alert');
const noted = (words) => main.getByRole('status').filter({ hasText: words }).waitFor();
const button = (name) => main.getByRole('button', { name, exact: true });
const settings = () => readFileSync(join(house.folder, 'config/weir/config.toml'), 'utf8');

/** A call of the API from the page, as its scripts make them; `null`: there is no such thing. */
async function api(method, path, body) {
  const [status, answer] = await page.evaluate(async ([method, path, body]) => {
    const answer = await fetch(path, {
      method,
      headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
      body: body && JSON.stringify(body),
    });
    return [answer.status, await answer.text()];
  }, [method, path, body]);
  if (status === 404) return null;
  if (status >= 400) throw new Error(`${method} ${path}: ${status} ${answer}`);
  return answer ? JSON.parse(answer) : null;
}

const item = (shelf, name) => api('GET', `/api/v1/library/${shelf}/${name}`);
/** What is remembered, in its words. */
const facts = async (status = 'kept') => (await api('GET', `/api/v1/memory?status=${status}`)).items.map(({ text }) => text).sort();

/** Lets the agent do something in a chat of its own, to its end. */
async function agent(words) {
  const tab = await context.newPage();
  await tab.goto('/');
  await say(tab, words);
  await tab.getByText('It waits for your word.').first().waitFor();
  await rested(tab);
  await tab.close();
}

/** The buttons of the page take a decision now, and took none when it came. */
async function ready(one) {
  let isHeldBack = null;
  await until('the page is read', async () => {
    // A page that is left meanwhile says nothing.
    isHeldBack = await page.evaluate(() => window.heldBack ?? null).catch(() => null);
    return isHeldBack !== null;
  });
  same(isHeldBack, true, 'buttons that are held back at first');
  await until('it takes a decision', () => one.isEnabled());
}

/** What has the focus: a button or summary by its words, a field by its id. */
const focused = () => page.evaluate(() => {
  const one = document.activeElement;
  return one.matches('button, summary, a') ? one.innerText.trim() : one.id;
});

/** Goes on by Tab until this has the focus, from the content of the page on. */
async function tabTo(wanted, { isFromStart = true } = {}) {
  if (isFromStart) await main.focus();
  for (let n = 0; n < 60; n += 1) {
    await page.keyboard.press('Tab');
    if ((await focused()) === wanted) return;
  }
  throw new Error(`Tab does not lead to ${wanted}`);
}

await test('r10_a_proposed_skill_is_read_and_accepted_once_whatever_is_clicked_twice', async () => {
  await agent('Propose tides.');
  await page.goto('/library/skills');
  holds((await page.getByRole('row').filter({ hasText: 'tides' }).innerText()).includes('waiting for you'), 'the list says that it waits');
  await page.getByRole('link', { name: 'tides', exact: true }).click();
  const waiting = page.getByRole('region', { name: /^Waiting for your approval/ });
  const text = await waiting.innerText();
  for (const words of ['Read the table', 'Based on words from']) holds(text.includes(words), `it shows ${words}: ${text}`);
  await ready(button('Accept'));
  // No key decides while no button has the focus.
  await main.focus();
  for (const key of ['Enter', 'Escape', 'y', 'Space']) await page.keyboard.press(key);
  same((await item('skills', 'tides')).text, '', 'what is used of it before it is accepted');
  await button('Accept').dblclick();
  // The second click changes nothing; where it was sent too, the page says so.
  await page.waitForURL(/(note|problem)=/);
  await until('it is accepted', async () => (await item('skills', 'tides'))?.text.includes('Read the table'));
  await page.goBack();
  same(await page.getByRole('button', { name: /^Accept/ }).count(), 0, 'ways to accept it once more');
  const now = await item('skills', 'tides');
  same([now.waiting, now.line.state], [null, 'used'], 'how it stands');
});

await test('r10_a_skill_that_changed_meanwhile_is_not_accepted_and_that_is_said', async () => {
  await agent('Propose harbour.');
  await page.goto('/library/skills/harbour');
  await page.getByText('Look at the lamps.').first().waitFor();
  await agent('Propose otherwise.');
  await button('Accept').click();
  await alert().filter({ hasText: 'it changed meanwhile, so nothing was changed' }).waitFor();
  same((await item('skills', 'harbour')).text, '', 'what is used of it');
  holds((await main.innerText()).includes('Switch every lamp off.'), 'the page shows what it is now');
});

await test('r10_a_skill_is_accepted_in_own_words_by_keyboard_alone', async () => {
  const own = '---\nname: harbour\ndescription: Use it at the harbour.\n---\n\nLook at the lamps, and touch none.';
  await page.goto('/library/skills/harbour');
  await ready(button('Accept'));
  await tabTo('Edit before accepting');
  await page.keyboard.press('Enter');
  await tabTo('own-words', { isFromStart: false });
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(own);
  // Enter breaks the line, Escape does nothing.
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  holds((await page.locator('#own-words').inputValue()).includes('touch none.\n'), 'Enter breaks the line');
  same((await item('skills', 'harbour')).text, '', 'what is used of it');
  await tabTo('Accept in these words', { isFromStart: false });
  await page.keyboard.press('Escape');
  same((await item('skills', 'harbour')).text, '', 'what is used of it after Escape on the button');
  await page.keyboard.press('Enter');
  await noted('harbour is accepted in your words');
  const now = await item('skills', 'harbour');
  holds(now.text.includes('touch none.') && !now.text.includes('Switch every lamp off'), `the words are the person's: ${now.text}`);
  holds(now.facts.some(([name]) => name === 'Edited'), 'it is kept that they were edited');
});

await test('r10_words_that_are_refused_are_given_back', async () => {
  await agent('Propose gulls.');
  await page.goto('/library/skills/gulls');
  await page.locator('summary', { hasText: 'Edit before accepting' }).click();
  await page.getByLabel('In your words').fill('These words are no skill.');
  await button('Accept in these words').click();
  await alert().filter({ hasText: 'no valid skill' }).waitFor();
  same(await page.getByLabel('In your words').inputValue(), 'These words are no skill.', 'what was typed');
  same((await item('skills', 'gulls')).text, '', 'what is used of it');
});

await test('r10_a_recipe_is_rejected_and_a_second_click_does_not_bring_it_back', async () => {
  await page.goto('/library/recipes/find-todos');
  await ready(button('Reject'));
  same((await item('recipes', 'find-todos')).deeds, ['reject'], 'what can be done');
  await button('Reject').dblclick();
  await page.waitForURL(/(note|problem)=/);
  await until('it is rejected', async () => (await item('recipes', 'find-todos')).deeds.includes('accept'));
  // What stands in the place of the button now takes no click that was on its way.
  await ready(button('Accept'));
  holds((await item('recipes', 'find-todos')).deeds.includes('accept'), 'it stays rejected');
  await button('Accept').click();
  await noted('find-todos counts again');
});

await test('r10_a_fact_is_kept_and_a_second_click_keeps_no_other', async () => {
  await agent('Note the tabs.');
  await agent('Note the tea.');
  await page.goto('/memory');
  const inbox = page.getByRole('region', { name: 'Waiting for you' });
  const tabs = inbox.locator('.stack > div').filter({ hasText: 'tabs' });
  const save = tabs.getByRole('button', { name: 'Save', exact: true });
  await ready(save);
  await save.dblclick();
  await page.waitForURL(/(note|problem)=/);
  await until('it is kept', async () => (await facts()).length > 0);
  await inbox.getByText('The person drinks tea').first().waitFor();
  same(await facts(), ['The person prefers tabs over spaces.'], 'what is kept');
  same(await facts('proposed'), ['The person drinks tea in the morning.'], 'what waits');
});

await test('r10_a_fact_is_kept_in_own_words_and_enter_keeps_none', async () => {
  await page.goto('/memory');
  const inbox = page.getByRole('region', { name: 'Waiting for you' });
  await ready(inbox.getByRole('button', { name: 'Save', exact: true }));
  await inbox.locator('summary', { hasText: 'Edit before saving' }).click();
  const field = inbox.getByLabel('In your words');
  await field.fill('The person drinks green tea.');
  await field.press('Enter');
  await field.press('Escape');
  await field.press('Backspace');
  same(await facts('proposed'), ['The person drinks tea in the morning.'], 'what waits');
  await inbox.getByRole('button', { name: 'Save in these words' }).click();
  await noted('Saved.');
  same(await facts(), ['The person drinks green tea.', 'The person prefers tabs over spaces.'], 'what is kept');
});

await test('r10_a_fact_is_forgotten_and_a_second_click_forgets_no_other', async () => {
  await page.goto('/memory');
  const row = page.getByRole('row').filter({ hasText: 'green tea' });
  const forget = row.getByRole('button', { name: 'Forget' });
  await ready(forget);
  await forget.dblclick();
  await page.waitForURL(/(note|problem)=/);
  await until('it is forgotten', async () => (await facts()).length < 2);
  await page.getByText('prefers tabs').first().waitFor();
  same(await facts(), ['The person prefers tabs over spaces.'], 'what is kept');
});

await test('r10_a_fact_that_was_decided_about_elsewhere_is_not_decided_about_again', async () => {
  await agent('Note the walk.');
  await page.goto('/memory');
  const before = page.getByRole('region', { name: 'Waiting for you' });
  await before.getByText('goes for a walk').first().waitFor();
  const other = await context.newPage();
  await other.goto('/memory');
  await other.getByRole('button', { name: 'Reject' }).click();
  await other.getByText('Rejected. It will not be proposed again.').waitFor();
  await other.close();
  await before.getByRole('button', { name: 'Save', exact: true }).click();
  await alert().filter({ hasText: 'nothing was changed' }).waitFor();
  same(await facts(), ['The person prefers tabs over spaces.'], 'what is kept');
});

await test('r10_an_mcp_server_is_approved_as_it_is_now_and_not_as_it_was', async () => {
  const state = async () => (await item('servers', 'birds')).line.state;
  await page.goto('/library/servers/birds');
  await button('Start and inspect').click();
  await page.getByText('count_herons').first().waitFor();
  const text = await page.getByRole('region', { name: /^Waiting for your approval/ }).innerText();
  holds(text.includes('Counts the herons of a harbour.'), `it shows what a model would read: ${text}`);
  await ready(button('Approve'));
  await keepShot(page, 'browser-mcp-approval', { fullPage: true });
  // It offers something else by the time of the yes.
  writeFileSync(join(house.work, 'birds.sh'), birds(GULLS));
  await button('Approve').click();
  await alert().filter({ hasText: 'it changed meanwhile, so nothing was changed' }).waitFor();
  same(await state(), 'not approved yet', 'how it stands');
  await button('Start and inspect').click();
  await page.getByText('count_gulls').first().waitFor();
  await ready(button('Approve'));
  await tabTo('Approve');
  await page.keyboard.press('Escape');
  same(await state(), 'not approved yet', 'how it stands after Escape');
  await page.keyboard.press('Enter');
  await noted('birds is approved: 2 tools.');
  holds((await state()).startsWith('approved'), 'it is approved');
});

await test('r10_a_plugin_is_enabled_as_it_was_read_by_keyboard', async () => {
  const file = join(house.folder, 'config/weir/plugins/demo/plugin.toml');
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, plugin('wc -l notes'));
  const state = async () => (await item('plugins', 'demo')).line.state;
  await page.goto('/library/plugins/demo');
  holds((await main.innerText()).includes('wc -l notes'), 'it shows what it runs');
  await ready(button('Enable'));
  writeFileSync(file, plugin('wc -c notes'));
  await tabTo('Enable');
  await page.keyboard.press('Enter');
  await alert().filter({ hasText: 'it changed meanwhile, so nothing was changed' }).waitFor();
  same(await state(), 'disabled', 'how it stands');
  holds((await main.innerText()).includes('wc -c notes'), 'it shows what it would run now');
  await ready(button('Enable'));
  await tabTo('Enable');
  await page.keyboard.press('Escape');
  same(await state(), 'disabled', 'how it stands after Escape');
  await page.keyboard.press('Enter');
  await noted('demo is on.');
  same(await state(), 'enabled', 'how it stands');
});

await test('r10_a_rule_is_looked_at_first_and_added_once', async () => {
  const rule = 'Shell(cargo test:*)';
  await page.goto('/settings/rules');
  await page.locator('#rule-set').selectOption('allow');
  await page.locator('#rule-text').fill(rule);
  // Enter in the field leads to a look.
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Is this what you want?' }).waitFor();
  await ready(button('Do exactly this'));
  await page.keyboard.press('Escape');
  await main.focus();
  await page.keyboard.press('Enter');
  holds(!settings().includes('cargo test'), 'a look adds nothing');
  await page.getByRole('link', { name: 'Leave it' }).click();
  await page.getByRole('heading', { name: 'Permission rules' }).waitFor();
  holds(!settings().includes('cargo test'), 'what was left was not added');
  // The second of two clicks does not agree to what it only opens.
  await page.locator('#rule-set').selectOption('allow');
  await page.locator('#rule-text').fill(rule);
  await button('Look at it…').first().dblclick();
  await page.getByRole('heading', { name: 'Is this what you want?' }).waitFor();
  await ready(button('Do exactly this'));
  holds(!settings().includes('cargo test'), 'two clicks on the look add nothing');
  const text = await main.innerText();
  holds(text.includes(`Add: allow ${rule}`) && text.includes('without a question'), `it is shown what it does: ${text}`);
  await keepShot(page, 'browser-rule');
  await button('Do exactly this').click();
  await noted(`allow ${rule} is added.`);
  same(settings().split('cargo test').length - 1, 1, 'times that it stands in the settings');
});

await test('r10_a_rule_is_removed_as_it_was_shown', async () => {
  const rule = 'Shell(cargo test:*)';
  await page.goto('/settings/rules');
  const remove = page.getByRole('row').filter({ hasText: rule }).getByRole('button', { name: 'Remove…' });
  await remove.first().click();
  await page.getByText(`Remove: allow ${rule}`).waitFor();
  // The same words are denied too by now: that is not what was shown.
  const { hash } = await api('POST', '/api/v1/rules/look', { deed: 'deny', what: rule });
  await api('POST', '/api/v1/rules', { deed: 'deny', what: rule, hash });
  await button('Do exactly this').click();
  await alert().filter({ hasText: 'nothing was changed' }).waitFor();
  same(settings().split('cargo test').length - 1, 2, 'rules that stand there');
  await remove.first().click();
  await page.getByText(`Remove: deny ${rule}`).waitFor();
  await ready(button('Do exactly this'));
  await tabTo('Do exactly this');
  await page.keyboard.press('Enter');
  await noted(`${rule} is removed.`);
  holds(!settings().includes('cargo test'), 'both are gone');
});

await test('r10_a_folder_is_trusted_for_the_files_that_were_shown', async () => {
  const folder = join(house.folder, 'project');
  const file = join(folder, '.weir/config.toml');
  const offer = (rule) => {
    mkdirSync(join(folder, '.weir'), { recursive: true });
    writeFileSync(file, `[permissions]\nallow = ["${rule}"]\n`);
  };
  const trusted = async () => (await api('GET', '/api/v1/rules')).trusted.length;
  offer('Shell(echo:*)');
  const look = async (rule) => {
    await page.locator('#trust-folder').fill(folder);
    await page.keyboard.press('Enter');
    await page.getByText(rule).waitFor();
    await ready(button('Do exactly this'));
  };
  await page.goto('/settings/rules');
  await look('Shell(echo:*)');
  await keepShot(page, 'browser-trust');
  offer('Shell(rm:*)');
  await button('Do exactly this').click();
  await alert().filter({ hasText: 'nothing was changed' }).waitFor();
  same(await trusted(), 0, 'folders that are trusted');
  await look('Shell(rm:*)');
  await button('Do exactly this').click();
  await noted('is trusted, as it is now.');
  same(await trusted(), 1, 'folders that are trusted');
  await ready(button('Trust no longer'));
  await button('Trust no longer').click();
  await noted('is trusted no longer.');
  same(await trusted(), 0, 'folders that are trusted');
});

await test('r10_another_session_is_answered_within_bounds_and_its_lease_is_revoked', async () => {
  const log = () => readFileSync(join(house.work, 'log.md'), 'utf8');
  await page.goto('/');
  await say(page, 'Please append a line.');
  await page.locator('[data-ask]').waitFor();
  const chat = new URL(page.url()).pathname;
  // From another page than that of the session.
  await page.goto('/approvals');
  const card = page.locator('article.ask');
  holds((await card.innerText()).includes('log.md'), 'it shows what is asked');
  await ready(card.getByRole('button', { name: 'Deny' }));
  await tabTo('For this session, within bounds');
  await page.keyboard.press('Enter');
  await keepShot(page, 'browser-bounds', { fullPage: true });
  await tabTo('5 further calls', { isFromStart: false });
  await page.keyboard.press('Escape');
  same(log(), '', 'the file after Escape');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing needs your approval').waitFor();
  await until('the line is written', () => log() === 'a line\n');
  // The next one passes, and takes one of five.
  await page.goto(chat);
  await rested(page);
  await say(page, 'Please append another line.');
  await until('a second line is written', () => log() === 'a line\nanother line\n');
  await page.goto(`${chat}/leases`);
  const row = page.getByRole('row').filter({ hasText: 'Edit(' });
  holds((await row.innerText()).includes('4 calls left'), `what is left of it: ${await row.innerText()}`);
  await ready(row.getByRole('button', { name: 'Revoke' }));
  await keepShot(page, 'browser-leases');
  await row.getByRole('button', { name: 'Revoke' }).dblclick();
  await page.getByText('There are no leases.').waitFor();
  // Such calls ask again. What stands last in the chat is that it was revoked, not how the run ended.
  await page.goto(chat);
  await page.locator('#status[data-running="false"]').waitFor({ state: 'attached' });
  await say(page, 'Please append a third line.');
  const ask = page.locator('[data-ask]');
  await ask.waitFor();
  await until('it takes an answer', () => ask.getByRole('button', { name: 'Deny' }).isEnabled());
  await ask.getByRole('button', { name: 'Deny' }).click();
  await ask.waitFor({ state: 'detached' });
  await rested(page);
  same(log(), 'a line\nanother line\n', 'the file');
});

await agent('Note the boat.');
await page.goto('/approvals');
await testLooks('r10_what_is_decided_on_looks_right', { browser, house, page, narrowHeight: 740 }, async (tab, look) => {
  const faults = [];
  for (const [name, path] of [['proposal', '/library/skills/gulls'], ['fact', '/memory']]) {
    await tab.goto(path);
    for (const summary of await tab.locator('#main summary').all()) await summary.click();
    const held = tab.locator('[data-ask] button[type=submit]:disabled');
    await until('its buttons take a decision', async () => (await held.count()) === 0);
    faults.push(...await lookFaults(tab, path));
    await keepShot(tab, `browser-${name}-${look}`, { fullPage: true });
  }
  return faults;
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_deciding');
