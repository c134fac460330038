// scratch
import { it } from 'vitest';
import { useStage } from '../support/stage.ts';
import { connectRaw } from '../support/raw-client.ts';
import { ScriptPeer } from '../support/script-peer.ts';
import { H2Client } from '../support/client.ts';
import { setTimeout as sleep } from 'node:timers/promises';
const stage = useStage();
const SERVES = { v1: ['pods', 'secrets'], 'apps/v1': ['deployments'] };
const H = 'HTTP/1.1 200 OK\r\n';
it('explore', async () => {
  const peer: any = new ScriptPeer('a', SERVES, stage.pki.peer); await peer.start();
  const proxy = await stage.proxy([peer.address]);
  for (const b of ['HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nab', 'HTTP/1.1 304 X\r\nContent-Length: 2\r\n\r\n', 'HTTP/1.1 304 X\r\n\r\n', 'HTTP/1.1 204 X\r\nContent-Length: 2\r\n\r\n', H+'Transfer-Encoding: chunked\r\nTrailer: x-t\r\n\r\n2\r\nab\r\n0\r\nX-T: 1\r\nX-T: 2\r\n\r\n', 'HTTP/1.1 200 \xe9a\r\nContent-Length: 2\r\n\r\nab', 'HTTP/1.1 404 Go Away\r\nContent-Length: 2\r\n\r\nab']) {
    peer.script = (q: any) => { if (q.target.includes('secrets')) q.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine'); else q.socket.write(b, 'latin1'); };
    const c = await connectRaw(proxy.port, { ca: proxy.ca, servername: 'localhost' });
    c.write('GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n');
    void c.received;
    await sleep(200);
    console.log(JSON.stringify(b), '\n', JSON.stringify(c.received.toString('latin1')));
    c.write('GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n');
    await sleep(200);
    console.log('   then', JSON.stringify(c.received.toString('latin1').slice(-70)), c.socket.destroyed, c.socket.readableEnded);
    const s = new H2Client(proxy).open('/api/v1/pods');
    s.on('trailers', (t) => console.log('h2 trailers', { ...t }));
    s.resume();
    await sleep(100);
  }
  await peer.stop();
}, 300000);
