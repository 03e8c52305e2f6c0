// What the browser tests share: a house of its own with the real program, a real Chromium, and
// checks that count. Not here: what is tested.

import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, writeFileSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequire } from 'node:module';

// Packages lie in a cache folder, not beside these files.
const require = createRequire(join(process.env.WEIR_BROWSER_CACHE, 'package.json'));
export const needed = (name) => require(name);
export const cached = (path) => join(process.env.WEIR_BROWSER_CACHE, 'node_modules', path);
const { chromium } = needed('playwright-core');

export const PASSWORD = 'correct horse battery staple';

/** How Chromium is started: no sandbox of its own (tests run as root), nothing asked of the network. */
export const CHROMIUM = {
  executablePath: process.env.WEIR_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--disable-dev-shm-usage'],
};

let passed = 0;
let failed = 0;
const only = process.env.WEIR_BROWSER_ONLY;
const shots = process.env.WEIR_BROWSER_SHOTS;
/** By how many milliseconds every script comes late: people act before it is there. */
const SLOW = Number(process.env.WEIR_BROWSER_SLOW ?? 0);

/** A folder whose scripts and styles stand in the place of the program's: tried without building it. */
const ASSETS = process.env.WEIR_BROWSER_ASSETS;

/** One test: what it throws is its failure. */
export async function test(name, body) {
  if (only && !name.includes(only)) return;
  const began = Date.now();
  try {
    await body();
    passed += 1;
    console.log(`ok    ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${String(error?.stack ?? error).split('\n').slice(0, 25).join('\n')}`);
  }
}

/** The last line of a file of tests, for whoever counts; ends the process. */
export function closing(name) {
  console.log(`${name}: ${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

export function same(got, wanted, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

export function holds(condition, what) {
  if (!condition) throw new Error(`it does not hold that ${what}`);
}

/** How long anything may take: the machine may have other work, and nobody waits for it otherwise. */
export const PATIENCE = 60000;

/** Waits until `look` gives something true, at most `ms`. */
export async function until(what, look, ms = PATIENCE) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`after ${ms} ms it is not so that ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** A house: folders of its own, the scripted model, `weir serve`. */
export class House {
  static async start({ script, config = '', files = {}, env = {}, bind = '127.0.0.1:0', hasModel = true } = {}) {
    const house = new House();
    house.folder = mkdtempSync(join(tmpdir(), 'weir-browser-'));
    for (const part of ['home', 'config/weir', 'state/weir', 'work']) {
      mkdirSync(join(house.folder, part), { recursive: true });
    }
    house.work = join(house.folder, 'work');
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(house.work, name, '..'), { recursive: true });
      writeFileSync(join(house.work, name), text);
    }
    const scriptFile = join(house.folder, 'model.script');
    writeFileSync(scriptFile, script ?? 'says: Done.\n');
    const model = hasModel ? `model = "script:${scriptFile}"\n` : '';
    writeFileSync(join(house.folder, 'config/weir/config.toml'), model + config);
    house.env = {
      PATH: process.env.PATH, HOME: join(house.folder, 'home'), USER: 'tester',
      XDG_CONFIG_HOME: join(house.folder, 'config'), XDG_STATE_HOME: join(house.folder, 'state'),
      XDG_DATA_HOME: join(house.folder, 'data'), ...env,
    };
    await house.run(bind);
    return house;
  }

  /** Starts the program, and waits until it listens. */
  async run(bind) {
    const program = process.env.WEIR_BIN;
    this.said = '';
    this.child = spawn(program, ['serve', '-C', this.work, '--bind', bind], { env: this.env });
    const hear = (bytes) => { this.said += bytes; };
    this.child.stdout.on('data', hear);
    this.child.stderr.on('data', hear);
    let ended = null;
    this.child.on('exit', (code) => { ended = code ?? 'a signal'; });
    const address = await until('the server listens', () => {
      if (ended !== null) throw new Error(`weir serve ended with ${ended}:\n${this.said}`);
      return this.said.match(/listening on (http:\/\/[^\s]+)/)?.[1];
    });
    this.url = address.replace(/\/$/, '');
    this.bind = this.url.replace(/^http:\/\//, '');
  }

  async code() {
    return until('a setup code is printed', () => this.said.match(/setup code: (\S+)/)?.[1]);
  }

  async kill() {
    const gone = new Promise((done) => this.child.once('exit', done));
    this.child.kill('SIGKILL');
    await gone;
  }

  async stop() {
    const gone = new Promise((done) => this.child.once('exit', done));
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGTERM');
      const late = setTimeout(() => this.child.kill('SIGKILL'), 10000);
      await gone;
      clearTimeout(late);
    }
    // What it started may still write there while it ends.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

/** Makes the first account through the page, as its owner does. */
export async function setUp(house, page) {
  await page.goto('/setup');
  await page.getByLabel('Setup code').fill(await house.code());
  await page.getByLabel('New password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Confirm new password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: /What can I help with|Welcome to Weir/ }).waitFor();
}

/** Signs in through the page. */
export async function signIn(page, name, password = PASSWORD) {
  await page.goto('/signin');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL((url) => url.pathname !== '/signin');
}

/**
 * Says something in the chat that is open, or begins one. Before its script is there, Enter is a new line, and
 * while the message before is on its way, it sends none.
 */
export async function say(page, words) {
  await page.locator('html.scripted').waitFor({ state: 'attached' });
  await page.getByRole('textbox', { name: 'Message' }).fill(words);
  await page.locator('#send:enabled').waitFor({ state: 'attached' });
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/chats\/./);
}

/**
 * A tab whose time stands still, in a browser with the cookies of `page`: it passes by `tab.clock.runFor()`,
 * however slow the machine is. Whoever uses it closes its context.
 */
export async function timeless({ browser, house, page }, more = {}) {
  const context = await browser.person(house.url, { ...more, storageState: await page.context().storageState() });
  const tab = await context.newPage();
  const now = Date.now();
  await tab.clock.install({ time: now });
  await tab.clock.pauseAt(now + PATIENCE);
  return tab;
}

/** Waits until the run of the chat that is open is over, and the page says so. */
export async function rested(page) {
  await page.locator('#status[data-running="false"]').waitFor({ state: 'attached' });
  const last = page.getByRole('list', { name: 'Conversation' }).locator('> li').last();
  await until('the page tells how the run ended', async () => (await last.getAttribute('data-status')) !== null);
}

/** The conversation as text, without what changes from look to look. */
export async function conversation(page) {
  const items = page.getByRole('list', { name: 'Conversation' }).locator('> li');
  const texts = await items.allInnerTexts();
  return texts.map((text) => text.replace(/\d+:\d\d( [AP]M)?/g, 'TIME').trim());
}

/** By how many pixels a page must be scrolled sideways; not above 0: it need not. */
export const tooWide = (tab) => tab.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);

/** What is wrong with how the page looks that is open, once it is loaded: too wide, or what axe finds. */
export async function lookFaults(tab, path) {
  await tab.waitForLoadState('load');
  const faults = [];
  const wide = await tooWide(tab);
  if (wide > 0) faults.push(`${path}: ${wide} px too wide`);
  await tab.evaluate(needed('axe-core').source);
  const { violations } = await tab.evaluate(() => axe.run({ resultTypes: ['violations'] }));
  for (const one of violations) faults.push(`${path}: ${one.id}: ${one.help}: ${one.nodes[0].html.slice(0, 200)}`);
  return faults;
}

/**
 * A test for each theme, wide and as narrow as a telephone, in a browser with the cookies of `page`. `body`
 * is given a tab and the end of a picture's name, `dark-360`, and gives back faults.
 */
export async function testLooks(name, { browser, house, page, narrowHeight = 860 }, body) {
  for (const theme of ['light', 'dark']) {
    for (const [width, height] of [[1280, 860], [360, narrowHeight]]) {
      await test(`${name}_${theme}_${width}`, async () => {
        const context = await browser.person(house.url, {
          viewport: { width, height }, colorScheme: theme, storageState: await page.context().storageState(),
        });
        const faults = await body(await context.newPage(), `${theme}-${width}`);
        await context.close();
        same(faults, [], 'what axe found, and what is too wide');
      });
    }
  }
}

/** Keeps a picture of the page, where somebody wants pictures. */
export async function keepShot(tab, name, more = {}) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await tab.screenshot({ path: join(shots, `${name}.png`), ...more });
}

/** A line in between that can be cut: TCP, nothing is understood. */
export class Wire {
  static async to(bind) {
    const wire = new Wire();
    const [host, port] = bind.split(':');
    wire.pairs = new Set();
    wire.cut = false;
    wire.server = createServer((near) => {
      if (wire.cut) { near.destroy(); return; }
      const far = connect(Number(port), host);
      const pair = [near, far];
      wire.pairs.add(pair);
      const end = () => { near.destroy(); far.destroy(); wire.pairs.delete(pair); };
      for (const socket of pair) { socket.on('error', end); socket.on('close', end); }
      near.pipe(far);
      far.pipe(near);
    });
    await new Promise((done) => wire.server.listen(0, '127.0.0.1', done));
    wire.url = `http://127.0.0.1:${wire.server.address().port}`;
    return wire;
  }

  down() {
    this.cut = true;
    for (const [near, far] of this.pairs) { near.destroy(); far.destroy(); }
  }

  up() { this.cut = false; }

  close() { this.down(); this.server.close(); }
}

/** A Chromium; every page of it notes what must not happen: script errors, requests elsewhere. */
export class Browser {
  static async start(options = {}, more = []) {
    const browser = new Browser();
    const args = [...(CHROMIUM.args ?? []), ...more];
    browser.chromium = await chromium.launch({ ...CHROMIUM, args, headless: true });
    browser.wrongs = [];
    browser.options = options;
    return browser;
  }

  /** A person's own browser: cookies of their own. */
  async person(url, more = {}) {
    const context = await this.chromium.newContext({ baseURL: url, ...this.options, ...more });
    context.setDefaultTimeout(PATIENCE);
    context.on('page', (page) => this.watch(page, url));
    if (ASSETS) {
      await context.route(/\/assets\/[^/]+\/.+\.(js|css)$/, (route) => {
        const name = new URL(route.request().url()).pathname.split('/').slice(3).join('/');
        const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
        return route.fulfill({ contentType: type, body: name.split('+').map((one) => readFileSync(join(ASSETS, one), 'utf8')).join('\n') });
      });
    }
    if (SLOW) {
      await context.route(/\.js(\?|$)/, async (route) => {
        await new Promise((done) => setTimeout(done, SLOW));
        await route.continue().catch(() => {});
      });
    }
    return context;
  }

  watch(page, url) {
    const hosts = new Set([new URL(url).host]);
    page.on('pageerror', (error) => this.wrongs.push(`script error on ${page.url()}: ${error}`));
    page.on('console', (line) => {
      const text = line.text();
      // A cut line, and an answer other than 200, are what some tests are about.
      if (line.type() === 'error' && !/Failed to load resource|WebSocket connection|net::ERR/.test(text)) {
        this.wrongs.push(`console on ${page.url()}: ${text}`);
      }
    });
    page.on('request', (request) => {
      const to = new URL(request.url());
      if (!['data:', 'blob:'].includes(to.protocol) && !hosts.has(to.host)) {
        this.wrongs.push(`a request to ${request.url()} from ${page.url()}`);
      }
    });
  }

  /** Nothing went wrong beside what tests looked at. */
  clean() {
    const wrongs = this.wrongs.splice(0);
    if (wrongs.length > 0) throw new Error(wrongs.slice(0, 10).join('\n'));
  }

  async close() { await this.chromium.close(); }
}
