// First setup, signing in and out, people who see nothing of each other (S1, S2).

import { Browser, House, PASSWORD, closing, conversation, holds, rested, same, say, setUp, signIn, test } from './lib.mjs';

const script = 'says: Your words are kept.\n';
const house = await House.start({ script, files: { 'notes.md': '# Notes\n' } });
const browser = await Browser.start();
const context = await browser.person(house.url);
const page = await context.newPage();
let chat = '';

await test('s1_the_first_visitor_needs_the_code', async () => {
  await page.goto('/');
  same(new URL(page.url()).pathname, '/setup', 'where a new server leads');
  await page.getByLabel('Setup code').fill('AAAA-AAAA');
  await page.getByLabel('New password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Confirm new password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('alert').waitFor();
  await setUp(house, page);
  const stranger = await browser.person(house.url);
  const other = await stranger.newPage();
  await other.goto('/setup');
  holds(!(await other.getByLabel('Setup code').isVisible()), 'setup is over after the first account');
  await stranger.close();
});

await test('s2_a_wrong_password_is_told_and_the_right_one_lets_in', async () => {
  const context = await browser.person(house.url);
  const page = await context.newPage();
  await page.goto('/signin');
  await page.getByLabel('Name').fill('admin');
  await page.getByLabel('Password', { exact: true }).fill('wrong horse battery staple');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('alert').waitFor();
  await signIn(page, 'admin');
  const [cookie] = (await context.cookies()).filter((cookie) => cookie.httpOnly);
  holds(cookie, 'the sign-in is a cookie that scripts cannot read');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/signin/);
  await page.goto('/chats');
  holds(page.url().includes('/signin'), 'whoever signed out sees nothing');
  await context.addCookies([cookie]);
  await page.goto('/chats');
  holds(page.url().includes('/signin'), 'the old cookie is worth nothing');
  await context.close();
});

await test('s2_a_person_sees_nothing_of_anothers', async () => {
  await page.goto('/');
  await say(page, 'A word that only the admin knows: heliotrope.');
  await page.getByText('Your words are kept.').waitFor();
  chat = new URL(page.url()).pathname;
  await page.goto('/users');
  await page.getByRole('link', { name: /new person|add|invite/i }).or(page.getByLabel('Name')).first().waitFor();
  const answer = await page.evaluate(async (password) => {
    const answer = await fetch('/api/v1/users', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf },
      body: JSON.stringify({ name: 'ann', password, role: 'user' }),
    });
    return answer.status;
  }, PASSWORD);
  same(answer, 201, 'the status of a new person');
  const anns = await browser.person(house.url);
  const ann = await anns.newPage();
  await signIn(ann, 'ann');
  for (const path of ['/', '/chats', '/approvals', '/files', '/memory', '/brain', '/usage', '/audit']) {
    await ann.goto(path);
    const text = await ann.locator('body').innerText();
    holds(!text.includes('heliotrope') && !text.includes('notes.md'), `${path} shows nothing of the admin's`);
  }
  same((await ann.goto(chat)).status(), 404, "the admin's chat for somebody else");
  same((await ann.goto('/users')).status(), 403, 'the page of people for somebody who is no admin');
  await anns.close();
});

await test('s7_a_chat_is_there_after_the_server_was_killed', async () => {
  await page.goto(chat);
  await rested(page);
  const before = await conversation(page);
  await house.kill();
  await house.run(house.bind);
  await page.goto(chat);
  same(await conversation(page), before, 'the conversation');
});

await test('s12_nothing_went_wrong_in_the_browser', async () => browser.clean());

await browser.close();
await house.stop();
closing('browser_setup');
