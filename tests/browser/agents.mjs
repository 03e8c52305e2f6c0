// Scheduled agents from creation to a run that nobody started, settings that count, a person whom an
// admin lets in (S2, S5, S6, S8).

import { Browser, House, PASSWORD, closing, holds, same, say, setUp, signIn, test, until } from './lib.mjs';

const house = await House.start({ script: 'says: The digest of today.\n', files: { 'notes.md': '# Notes\n' } });
const browser = await Browser.start();
const context = await browser.person(house.url);
const page = await context.newPage();
await setUp(house, page);

/** How often a word stands as a state in the history that is open. */
const count = async (word) => (await page.locator('main').innerText()).match(new RegExp(`\\b${word}\\b`, 'g'))?.length ?? 0;

await test('s8_an_agent_is_written_run_watched_scheduled_and_paused', async () => {
  await page.goto('/agents');
  await page.getByRole('link', { name: 'New agent' }).click();
  await page.getByLabel('Name', { exact: true }).fill('digest');
  await page.getByLabel('Instructions', { exact: true }).fill('Write the digest.');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(/\/agents\/digest/);
  await page.getByRole('button', { name: /Run now/ }).click();
  await until('the run is over', async () => { await page.goto('/agents/digest'); return (await count('completed')) > 0; });
  // A run that begins while nothing is under way shows by itself, and the page stays.
  await page.evaluate(() => { window.stays = true; });
  const other = await context.newPage();
  await other.goto('/agents/digest');
  await other.getByRole('button', { name: /Run now/ }).click();
  await page.bringToFront();
  await until('the second run shows', async () => (await count('completed')) > 1);
  same(await page.evaluate(() => window.stays), true, 'the page is the same');
  await other.close();
  await page.locator('main table').last().getByRole('link').first().click();
  await page.getByText('The digest of today.').waitFor();
  await page.goto('/agents/digest/edit');
  await page.getByLabel('Run', { exact: true }).selectOption('custom');
  await page.getByLabel('Cron expression').fill('*/2 * * * * *');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(/\/agents\/digest(\?|$)/);
  await until('two runs that nobody started are over', async () => { await page.goto('/agents/digest'); return (await count('completed')) > 3; });
  await page.getByRole('button', { name: /Pause/ }).click();
  await page.getByText('paused').first().waitFor();
});

await test('s8_what_is_wrong_is_said_and_nothing_typed_is_lost', async () => {
  await page.goto('/agent-new');
  await page.getByLabel('Name', { exact: true }).fill('broken');
  await page.getByLabel('Instructions', { exact: true }).fill('A long text that I do not want to type again.');
  await page.getByLabel('Run', { exact: true }).selectOption('custom');
  await page.getByLabel('Cron expression').fill('every now and then');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').waitFor();
  same(await page.getByLabel('Instructions', { exact: true }).inputValue(), 'A long text that I do not want to type again.', 'what was typed');
});

await test('s6_a_setting_counts_in_the_next_chat', async () => {
  await page.goto('/settings?section=general');
  await page.getByLabel('Permission', { exact: false }).first().selectOption('plan');
  await page.getByRole('button', { name: /save/i }).first().click();
  await page.waitForURL(/saved=/);
  await page.goto('/settings?section=general');
  holds((await page.locator('main').innerText()).includes('set in the browser'), 'the origin is told');
  await page.goto('/');
  await say(page, 'Which mode is this?');
  await page.getByText('The digest of today.').waitFor();
  await page.locator('#status[data-permission="plan"]').waitFor({ state: 'attached' });
});

await test('s2_an_admin_lets_somebody_in_by_the_page', async () => {
  await page.goto('/users');
  await page.getByLabel('Name', { exact: true }).fill('ann');
  await page.getByLabel('First password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  const anns = await browser.person(house.url);
  const ann = await anns.newPage();
  await signIn(ann, 'ann');
  await ann.goto('/agents');
  holds(!(await ann.locator('main').innerText()).includes('digest'), "the admin's agents are not hers");
  same((await ann.goto('/agents/digest')).status(), 404, "the admin's agent for somebody else");
  await anns.close();
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_agents');
