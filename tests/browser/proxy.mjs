// Behind nginx and Caddy, with the configurations of docs/behind-a-proxy.md: people set up the server, sign
// in over TLS, and text streams over a socket.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Browser, House, closing, holds, rested, say, setUp, test, until } from './lib.mjs';

const page = readFileSync(join(dirname(fileURLToPath(import.meta.url)), '../../docs/behind-a-proxy.md'), 'utf8');
const HOST = 'weir.example.org';

/** The block of the page in this language. */
const block = (language) => page.match(new RegExp('```' + language + '\n([^`]*)```'))[1];

function freePort() {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Puts something in the place of what stands in the page, and holds that it stands there. */
function with_(text, pairs) {
  for (const [from, to] of pairs) {
    holds(text.includes(from), `the page does not say ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

const folder = mkdtempSync(join(tmpdir(), 'weir-proxy-'));
const [certificate, key] = [join(folder, 'chain.pem'), join(folder, 'key.pem')];
execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${HOST}`,
  '-addext', `subjectAltName=DNS:${HOST}`, '-keyout', key, '-out', certificate], { stdio: 'ignore' });

const proxies = {
  nginx: (port, behind) => {
    const server = with_(block('nginx'), [
      ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
      ['/etc/letsencrypt/live/weir.example.org/fullchain.pem', certificate],
      ['/etc/letsencrypt/live/weir.example.org/privkey.pem', key],
      ['127.0.0.1:7717', behind],
    ]);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n');
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, `daemon off;\nerror_log stderr;\npid ${join(folder, 'pid')};\nevents {}\n`
      + `http {\naccess_log off;\n${temporary}\n${server}\n}\n`);
    return spawn('nginx', ['-c', file, '-e', 'stderr'], { stdio: 'ignore' });
  },
  caddy: (port, behind) => {
    const site = with_(block('caddyfile'), [
      [`${HOST} {`, `${HOST}:${port} {\n    tls ${certificate} ${key}`],
      ['127.0.0.1:7717', behind],
    ]);
    const file = join(folder, 'Caddyfile');
    writeFileSync(file, `{\n    admin off\n    auto_https disable_redirects\n}\n${site}`);
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    return spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { stdio: 'ignore', env });
  },
};

for (const [name, start] of Object.entries(proxies)) {
  if (spawnSync('which', [name]).status !== 0) {
    if (process.env.CI === 'true') await test(`s9_behind_${name}`, async () => { throw new Error(`${name} is missing`); });
    else console.log(`SKIPPED s9_behind_${name}: ${name} is not on PATH`);
    continue;
  }
  await test(`s9_behind_${name}`, async () => {
    const [port, inner] = [await freePort(), await freePort()];
    const url = `https://${HOST}:${port}`;
    const settings = with_(block('toml'), [
      ['https://weir.example.org', url],
      ['127.0.0.1:7717', `127.0.0.1:${inner}`],
    ]);
    const house = await House.start({ script: 'says: Through the gate.\n', config: settings, bind: `127.0.0.1:${inner}` });
    const proxy = start(port, `127.0.0.1:${inner}`);
    const browser = await Browser.start({ ignoreHTTPSErrors: true }, [`--host-resolver-rules=MAP ${HOST} 127.0.0.1`]);
    try {
      await until(`${name} listens`, () => spawnSync('curl', ['-sk', '-o', '/dev/null', `https://127.0.0.1:${port}/`]).status !== 7);
      const context = await browser.person(url);
      const tab = await context.newPage();
      const sockets = [];
      tab.on('websocket', (socket) => {
        const seen = { heard: false };
        sockets.push(seen);
        socket.on('framereceived', () => { seen.heard = true; });
      });
      await setUp(house, tab);
      await say(tab, 'hello');
      await tab.getByText('Through the gate.').waitFor();
      await rested(tab);
      await until('the page hears over a socket', () => sockets.some((socket) => socket.heard));
      const cookies = await context.cookies();
      holds(cookies.some((cookie) => cookie.httpOnly && cookie.secure), 'the sign-in is a cookie for TLS only');
      browser.clean();
    } finally {
      proxy.kill();
      await browser.close();
      await house.stop();
    }
  });
}

rmSync(folder, { recursive: true, force: true });
closing('browser_proxy');
