// scratch
import { expect, it } from 'vitest';
import { connect as h2connect, constants } from 'node:http2';
import { useStage } from '../support/stage.ts';
import { startChild, type ChildProxy } from '../support/child-proxy.ts';
import { connectRaw } from '../support/raw-client.ts';
import { h1 } from '../support/client.ts';
import { setTimeout as sleep } from 'node:timers/promises';
const stage = useStage();
const SERVES = { v1: ['pods', 'secrets'], 'apps/v1': ['deployments'] };
async function setUp(flags: string[] = []) {
  const peer = await stage.peer({ name: 'a', serves: SERVES });
  const proxy = await startChild(stage.pki, [peer], flags);
  return { peer, proxy };
}
const UP = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
async function check(name: string, proxy: ChildProxy) {
  const ok = await Promise.race([h1(proxy, '/api/v1/pods').then((a) => a.status), sleep(3000).then(() => 'hang')]).catch((e) => String(e));
  console.log(name, ok, proxy.process.exitCode, ok !== 200 ? proxy.output().split('\n').slice(-14).join('\n') : '');
}
it.each([
  ['connect rst', 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['upgrade refused rst', 'GET /a\\b HTTP/1.1\r\n'+UP],
  ['upgrade unknown rst', 'GET /apis/nope/v1/x HTTP/1.1\r\n'+UP],
  ['upgrade rst', 'GET /api/v1/pods/p/exec HTTP/1.1\r\n'+UP],
])('%s', async (_, bytes) => {
  const { proxy } = await setUp();
  for (const ms of [0, 1, 3, 10, 100]) {
    for (let i = 0; i < 5; i++) {
    const c = await connectRaw(proxy.port, { ca: proxy.ca, servername: 'localhost' });
    c.write(bytes);
    await sleep(ms);
    c.reset();
    }
  }
  await sleep(1500);
  await check(_, proxy);
  proxy.process.kill('SIGKILL');
}, 30000);
it('h2 resets', async () => {
  const { proxy, peer } = await setUp();
  peer.behaviour = (q, r) => { setTimeout(() => { r.writeHead(200); r.write('x'); setTimeout(() => r.end('y'), 5); }, 5); };
  for (const code of [0, 8, 7, 2]) for (const path of ['/api/v1/pods', '/apis', '/readyz', '/apis/nope/v1/x', '/a\\b', '/api/v1/pods?watch=1']) for (const method of ['GET', 'POST']) {
    const s = h2connect(`https://127.0.0.1:${proxy.port}`, { ca: proxy.ca, servername: 'localhost' });
    s.on('error', () => 0);
    for (const ms of [0, 1, 2, 4, 6, 9, 12, 900, 1100]) {
      if (ms > 100 && path !== '/apis/nope/v1/x') continue;
      const st = s.request({ ':method': method, ':path': path }, { endStream: method === 'GET' });
      st.on('error', () => 0);
      if (method === 'POST') st.write('abc');
      setTimeout(() => st.close(code), ms);
    }
    await sleep(path === '/apis/nope/v1/x' ? 1300 : 40);
    s.destroy();
    if (proxy.process.exitCode !== null) { console.log('died', code, path, method); break; }
  }
  await check('h2 resets', proxy);
  proxy.process.kill('SIGKILL');
}, 60000);
